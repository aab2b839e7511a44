import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Rules of git that others push, `.gitattributes` and `.gitignore`, stop no exchange and lose nothing.
@Suite(.serialized) struct PushedRulesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var rules: String
        /// The folder of the rule file; the attacker's files lie in it.
        var folder = ""
        /// Whether git itself can say then that nothing is changed, also where it has to read the files for that.
        var gitKnows = true
        var testDescription: String { rules.debugDescription + (folder.isEmpty ? "" : " in \(folder)") }
    }

    static let rows: [Row] =
        [
            "* filter=gone", "* text=auto eol=crlf", "* ident", "* -text -diff merge=binary",
            "[attr]a b\n[attr]b a\n* a b",
        ].map { Row(rules: $0) }
        + [
            "* working-tree-encoding=BOGUS", "* text working-tree-encoding=BOGUS",
            "* working-tree-encoding=UTF-16", "* text working-tree-encoding=UTF-16 eol=crlf",
            "* working-tree-encoding filter=broken", "*.gpg filter=broken merge=broken diff=broken",
            "[attr]binary filter=broken\n* binary", "* filter=up",
        ].map { Row(rules: $0, gitKnows: false) }
        + ["* working-tree-encoding=BOGUS", "* filter=broken"].map {
            Row(rules: $0, folder: "team", gitKnows: false)
        }

    /// Pushes files from elsewhere, where none of the rules hold. nil removes.
    private func push(
        _ files: [String: [UInt8]?], onto base: String = "main", _ home: TestHome
    ) throws {
        var lines = "export GIT_INDEX_FILE=$HOME/push.index; git read-tree \(base)\n"
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            guard let bytes else {
                lines += "git update-index --force-remove '\(name)'\n"
                continue
            }
            let id = String(
                decoding: try home.succeed(
                    ["git", "hash-object", "-w", "--stdin"], input: bytes, in: home.path("m0.git")),
                as: UTF8.self)
            lines += "git update-index --add --cacheinfo 100644,\(id.dropLast()),'\(name)'\n"
        }
        lines += "git update-ref refs/heads/main $(git commit-tree $(git write-tree) -p \(base) -m theirs)"
        try home.succeed(["bash", "-ec", lines], in: home.path("m0.git"))
    }

    private func bytes(_ name: String, _ machine: Machine) throws -> [UInt8] {
        try machine.home.bytes(at: machine.path.pushing(FilePath(name)))
    }

    /// A message of that text as others would push it.
    private func message(_ text: String, _ machine: Machine) throws -> [UInt8] {
        try machine.write("pushed", text)
        defer { unlink(machine.path.pushing("pushed.gpg").string) }
        return try bytes("pushed.gpg", machine)
    }

    private func remote(_ arguments: [String], _ home: TestHome) throws -> String {
        String(decoding: try home.succeed(["git"] + arguments, in: home.path("m0.git")), as: UTF8.self)
    }

    private func check(
        _ machine: Machine, _ row: Row, _ when: String, _ texts: [String: String],
        _ complaint: String?
    ) throws {
        #expect(complaint == nil, "\(row.testDescription), \(when)")
        guard complaint == nil else { throw TestFailure("\(row.testDescription), \(when): \(complaint!)") }
        let head = try machine.git("rev-parse", "HEAD")
        #expect(try remote(["rev-parse", "main"], machine.home) == head + "\n", "\(when)")
        for name in try machine.git("ls-tree", "-r", "--name-only", "HEAD").split(separator: "\n")
        where name.hasSuffix(".gpg") {
            let blob = try machine.git("rev-parse", "HEAD:\(name)")
            #expect(try machine.git("hash-object", "--no-filters", "\(name)") == blob, "\(when): \(name)")
        }
        for (name, text) in texts { #expect(try machine.read(name) == text, "\(when): \(name)") }
        // A list is one that pass can read, and nothing but its line ends is another.
        let list = try machine.home.succeed(["git", "cat-file", "-p", "HEAD:.gpg-id"], in: machine.path)
        #expect(try bytes(".gpg-id", machine).filter { $0 != 13 } == list, "\(when)")
        if row.gitKnows { #expect(try machine.dirt == "", "\(row.testDescription), \(when)") }
    }

    /// Holds:
    /// - Attributes that others push change no ciphertext.
    /// - Of a list of recipients, attributes that others push change the line ends and nothing else.
    /// - Rules for git that others push stop no exchange: what cannot be converted as they say stays as it is.
    @Test(.slow, arguments: tableCases(rows, HistoryChoice.allCases))
    func attributesStopNothing(_ row: Row, _ choice: HistoryChoice) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for setting in ["clean", "smudge"] {
                try machine.git("config", "filter.broken.\(setting)", "false")
                try machine.git("config", "filter.gone.\(setting)", "/nonexistent/program")
            }
            try machine.git("config", "filter.broken.required", "true")
            // Like git-lfs: what others did not store by it is left alone on the way here, and changed on the way back.
            try machine.git("config", "filter.up.clean", "tr a-z A-Z")
            try machine.git("config", "filter.up.smudge", "cat")
            for name in ["a", "b"] { try machine.save(name, "1") }
            #expect(await machine.committer.synchronizeNow() == nil)
            let list = try bytes(".gpg-id", machine)
            let base = try machine.git("rev-parse", "HEAD")
            let inside = row.folder.isEmpty ? "" : row.folder + "/"

            // The rules come, and with them files that they are for.
            try push(
                [
                    inside + ".gitattributes": Array((row.rules + "\n").utf8),
                    inside + "note.txt": Array("$Id$ one\n".utf8),
                    inside + "x.gpg": try message("x1", machine),
                    "a.gpg": try message("2", machine), "deep/.gpg-id": list,
                ], home)
            try machine.save("b", "2")
            var complaint = await machine.committer.synchronizeNow()
            try check(machine, row, "the rules", ["a": "2", "b": "2", inside + "x": "x1"], complaint)

            // They hold now; what they are for changes there, and a secret on both sides.
            for text in ["two", "three"] {
                try push(
                    [
                        inside + "note.txt": Array("$Id$ \(text)\n".utf8),
                        inside + "new-\(text).txt": Array("odd".utf8),
                        inside + ".gitignore": Array("*.\(text)\n".utf8),
                        inside + "x.gpg": try message(text, machine),
                        ".gpg-id": list + Array("# $Id$ \(text)\n".utf8),
                        "deep/.gpg-id": list + Array("# \(text)\n".utf8), "a.gpg": try message(text, machine),
                    ], home)
                try machine.save("b", text)
                complaint = await machine.committer.synchronizeNow()
                try check(machine, row, text, ["a": text, "b": text, inside + "x": text], complaint)
            }

            #expect(try remote(["show", "main:\(inside)note.txt"], home) == "$Id$ three\n")

            // A list and secrets that change here.
            try home.succeed(["sh", "-c", "echo '# us' >> .gpg-id"], in: machine.path)
            machine.committer.note(.saved(".gpg-id"))
            try machine.save(inside + "own", "mine")
            complaint = await machine.committer.synchronizeNow()
            try check(machine, row, "ours", [inside + "own": "mine"], complaint)
            #expect(try remote(["show", "main:.gpg-id"], home).hasSuffix("# us\n"))

            // Either history can be chosen, also under such rules.
            let ours = try machine.git("rev-parse", "HEAD")
            try push(
                [
                    inside + ".gitattributes": Array((row.rules + "\n# \(choice)\n").utf8),
                    inside + "note.txt": Array("forced\n".utf8), "a.gpg": try message("forced", machine),
                ], onto: base, home)
            #expect(await machine.committer.synchronizeNow()?.contains("force-pushed") == true)
            complaint = await machine.committer.synchronizeNow(choosing: choice).complaint
            try check(machine, row, "\(choice)", ["a": choice == .ours ? "three" : "forced"], complaint)
            if choice == .ours { #expect(try machine.git("rev-parse", "HEAD") == ours) }
            try machine.save("b", "last")
            complaint = await machine.committer.synchronizeNow()
            try check(machine, row, "the end", ["b": "last"], complaint)
        }
    }

    // MARK: what git ignores

    /// Rules that others push, by the file that holds them; a secret saved here under them, and whether a file beside it
    /// is ignored, too.
    static let ignored: [(file: String, rules: String, secret: String, hasRoom: Bool)] = [
        (".gitignore", "*.gpg", "new", true),
        (".gitignore", "*", "new", true),
        (".gitignore", "*\n!a.gpg\n!*/", "team/new", true),
        (".gitignore", "team/", "team/new", true),
        (".gitignore", ".gpg-id\n.gitattributes\n.gitignore\n*.gpg", "new", true),
        ("team/.gitignore", "*\n!.gitignore", "team/new", true),
        ("team/.gitignore", "*.gpg\n!x.gpg", "team/deep/new", true),
        (".gitignore", "/new.gpg", "new", false),
        (".gitignore", "*.gpg\n!*.conflict-*", "new", false),
        ("team/.gitignore", "new.gpg", "team/new", false),
    ]

    /// Saves a secret that pushed rules have git ignore, then has others push one of its name.
    private func collide(
        _ row: (file: String, rules: String, secret: String, hasRoom: Bool), _ home: TestHome
    ) async throws -> Machine {
        let machine = try home.machines(1)[0]
        try machine.save("a", "1")
        #expect(await machine.committer.synchronizeNow() == nil)
        try push([row.file: Array((row.rules + "\n").utf8)], home)
        #expect(await machine.committer.synchronizeNow() == nil)
        try machine.save(row.secret, "mine")
        let list = try bytes(".gpg-id", machine)
        let told = await machine.committer.synchronizeNow()
        #expect(told?.contains("because .gitignore matches: \(row.secret)") == true, "\(told ?? "-")")
        try push(
            [
                row.secret + ".gpg": try message("theirs", machine), "a.gpg": try message("2", machine),
                ".gpg-id": list + Array("# them\n".utf8),
            ], home)
        try machine.save("a2/b", "b")
        return machine
    }

    /// Holds:
    /// - A secret that git ignores is neither lost nor committed when others push one of its name: theirs has the name, and it
    ///   is kept beside as a conflict, if git ignores that name, too; else the merge waits and says how it goes on.
    @Test(.slow, arguments: ignored.indices.filter { ignored[$0].hasRoom })
    func anIgnoredSecretGivesWay(_ index: Int) async throws {
        let row = Self.ignored[index]
        try await TestHome.with { home in
            let machine = try await collide(row, home)
            let complaint = await machine.committer.synchronizeNow() ?? "in step"
            let conflict = try #require(machine.committer.conflicts.first, "\(complaint)")
            #expect(
                complaint.contains("saved but not committed, because .gitignore matches: "), "\(complaint)")
            #expect(complaint.contains(conflict.withoutSuffix.string), "\(complaint)")
            #expect(ConflictName.original(of: conflict)?.string == row.secret + ".gpg")
            #expect(try machine.read(conflict.withoutSuffix.string) == "mine")
            #expect(try machine.read(row.secret) == "theirs")
            #expect(try machine.read("a") == "2")
            #expect(try remote(["rev-parse", "main"], home) == machine.git("rev-parse", "HEAD") + "\n")
            #expect(try !remote(["ls-tree", "-r", "--name-only", "main"], home).contains("conflict"))
            #expect(try machine.dirt == "")
            // Settled as every conflict is: what is wanted goes into the secret, the file goes.
            try machine.save(row.secret, "mine and theirs")
            try machine.remove(conflict.withoutSuffix.string)
            // What was ignored from the start and no other has stays told.
            let rest = await machine.committer.synchronizeNow()
            #expect(rest?.contains(row.secret) != true, "\(rest ?? "-")")
            #expect(machine.committer.conflicts.isEmpty)
            #expect(try remote(["rev-parse", "main"], home) == machine.git("rev-parse", "HEAD") + "\n")
            #expect(try machine.git("log", "--format=%s", "-1", "--", row.secret + ".gpg") != "theirs")
        }
    }

    /// Where git would take a conflict's file, nothing is made that would leave this machine: the merge waits, and both
    /// ways out that it names lead out.
    @Test(.slow, arguments: tableCases(ignored.indices.filter { !ignored[$0].hasRoom }, ["move", "add"]))
    func aSecretThatOnlyItsNameKeepsHereWaits(_ index: Int, _ way: String) async throws {
        let row = Self.ignored[index]
        try await TestHome.with { home in
            let machine = try await collide(row, home)
            for _ in 0..<2 {
                let complaint = await machine.committer.synchronizeNow() ?? "in step"
                let file = row.secret + ".gpg"
                #expect(
                    complaint.contains(
                        "\(file) exists here but git ignores it, and the remote has a file by that name: move it away, or run git add -f \(file) in \(machine.path) and commit it"
                    ),
                    "\(complaint)")
            }
            #expect(try machine.read(row.secret) == "mine")
            let other = way == "move" ? "moved" : row.secret
            if way == "move" {
                try machine.rename(row.secret, to: other)
            } else {
                try machine.git("add", "-f", row.secret + ".gpg")
                try machine.git("commit", "-q", "-m", "mine")
            }
            let complaint = await machine.committer.synchronizeNow()
            // What else the rules match is told as before.
            #expect((complaint == nil) == !row.rules.contains("*.gpg"), "\(complaint ?? "-")")
            #expect(complaint?.contains("matches: \(row.secret)") != true, "\(complaint ?? "-")")
            #expect(complaint?.contains(", \(row.secret)") != true, "\(complaint ?? "-")")
            #expect(try machine.read("a") == "2")
            #expect(try machine.read(row.secret) == "theirs")
            let kept = machine.committer.conflicts.first?.withoutSuffix.string ?? other
            #expect(try machine.read(kept) == "mine")
            #expect(try machine.dirt == "")
            #expect(try remote(["rev-parse", "main"], home) == machine.git("rev-parse", "HEAD") + "\n")
        }
    }

    /// A list of recipients is told like a secret, after another start, too, and one of others waits for the user.
    @Test func anIgnoredListIsTold() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1")
            try push([".gitignore": Array(".gpg-id\n".utf8)], home)
            #expect(await machine.committer.synchronizeNow() == nil)
            let list = try bytes(".gpg-id", machine)
            try home.succeed(["sh", "-c", "mkdir team; cp .gpg-id team/.gpg-id"], in: machine.path)
            machine.committer.note(.saved("team/.gpg-id"))
            let told = "saved but not committed, because .gitignore matches: team/.gpg-id."
            #expect(await machine.committer.synchronizeNow() == told)
            await machine.committer.finish(timeout: .seconds(20))
            let again = try Machine(home, machine.path)
            await again.committer.start()
            #expect(await again.committer.synchronizeNow(looking: true) == told)
            try push(["team/.gpg-id": list + Array("# them\n".utf8)], home)
            let complaint = await again.committer.synchronizeNow() ?? "in step"
            #expect(
                complaint.contains("run git add -f team/.gpg-id in \(again.path) and commit it"),
                "\(complaint)")
            try home.succeed(["mv", "team/.gpg-id", home.path("aside").string], in: again.path)
            #expect(await again.committer.synchronizeNow() == nil)
            #expect(try bytes("team/.gpg-id", again) == list + Array("# them\n".utf8))
            await again.committer.finish(timeout: .seconds(20))
        }
    }
}
