import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Plain files go to git, and come from it, as git itself takes and writes them: line ends, encodings, filters of the
/// user's configuration. Ciphertexts never change.
@Suite(.serialized) struct AttributesTests {
    struct Row: CustomStringConvertible, Sendable {
        var attributes: String
        var settings: [String] = []
        var before: String?
        var text: String
        var isInfo = false
        var description: String { "\(attributes) \(settings) \(text.debugDescription)" }
    }

    static let rows = [
        Row(attributes: "", settings: ["core.autocrlf=true"], text: "a\r\nb\r\n"),
        Row(attributes: "", settings: ["core.autocrlf=true"], text: "a\nb\n"),
        Row(attributes: "", settings: ["core.autocrlf=input"], text: "a\r\nb\r\n"),
        Row(attributes: "", settings: ["core.autocrlf=true", "core.safecrlf=false"], text: "a\r\nb\n"),
        Row(attributes: "", settings: ["core.autocrlf=true"], before: "a\r\n", text: "b\r\n"),
        Row(attributes: "* text=auto", text: "a\r\nb\r\n"),
        Row(attributes: "* text=auto", settings: ["core.eol=crlf"], text: "a\r\n"),
        Row(attributes: "* text=auto eol=crlf", text: "a\nb\n"),
        Row(attributes: "*.txt text eol=crlf", text: "a\r\nb\r\n"),
        Row(attributes: "*.txt text eol=lf", text: "a\r\nb\r\n"),
        Row(attributes: "*.txt text", before: "a\r\n", text: "b\r\n"),
        Row(attributes: "*.txt -text", settings: ["core.autocrlf=true"], text: "a\r\n"),
        Row(attributes: "*.txt binary", settings: ["core.autocrlf=true"], text: "a\r\n"),
        Row(attributes: "*.txt crlf=input", text: "a\r\n"),
        Row(attributes: "* text=auto", text: "a\0\r\n"),
        Row(attributes: "*.txt ident", text: "$Id: 0123 $\n"),
        Row(attributes: "*.txt text eol=crlf", text: "a\r\n", isInfo: true),
        Row(attributes: "*.txt text working-tree-encoding=ISO-8859-1", text: "a\n"),
        Row(
            attributes: "*.txt filter=up",
            settings: ["filter.up.clean=tr a-z A-Z", "filter.up.smudge=tr A-Z a-z"], text: "abc\n"),
        Row(
            attributes: "*.txt filter=up text eol=crlf",
            settings: ["filter.up.clean=tr a-z A-Z", "filter.up.smudge=tr A-Z a-z"], text: "abc\r\n"),
        Row(attributes: "*.txt filter=nobody", text: "abc\n"),
    ]

    /// Puts one row's rules in place of the one before.
    private func prepare(_ row: Row, _ machine: Machine) throws {
        let keep =
            "[ -e .git/config.first ] || cp .git/config .git/config.first; cp .git/config.first .git/config"
        try machine.home.succeed(["sh", "-c", keep + "; rm -f .git/info/attributes"], in: machine.path)
        for setting in row.settings {
            let parts = setting.split(separator: "=", maxSplits: 1)
            try machine.git("config", String(parts[0]), String(parts[1]))
        }
        try machine.home.succeed(["mkdir", "-p", ".git/info"], in: machine.path)
        if row.isInfo { try put(row.attributes + "\n", ".git/info/attributes", machine) }
        try put(
            "*.gpg diff=gpg\n" + (row.isInfo ? "" : row.attributes) + "\n", ".gitattributes", machine)
        try machine.git("add", ".gitattributes")
        try machine.git("commit", "-q", "--allow-empty", "-m", "rules")
    }

    private func put(_ text: String, _ name: String, _ machine: Machine) throws {
        let file = try FileDescriptor.open(
            machine.path.pushing(FilePath(name)), .writeOnly, options: [.create, .truncate],
            permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    private func bytes(_ name: String, _ machine: Machine) throws -> [UInt8] {
        try machine.home.bytes(at: machine.path.pushing(FilePath(name)))
    }

    /// The blob that `git add` would store now; nothing is staged.
    private func blobOfGit(_ name: String, _ machine: Machine) throws -> String {
        let command =
            "cp .git/index .git/other; git add \(name); git ls-files --format='%(objectname)' \(name)"
        let output = try machine.home.succeed(
            ["sh", "-c", command], in: machine.path,
            extra: ["GIT_INDEX_FILE": machine.path.pushing(".git/other").string])
        unlink(machine.path.pushing(".git/other").string)
        return String(decoding: output.dropLast(), as: UTF8.self)
    }

    /// What a commit holds is what `git add` would have made.
    @Test(.slow) func commitsWhatGitWould() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for (number, row) in Self.rows.enumerated() {
                let name = "notes\(number).txt"
                if let before = row.before {
                    try prepare(Row(attributes: "", text: ""), machine)
                    try put(before, name, machine)
                    try machine.git("add", name)
                    try machine.git("commit", "-q", "-m", "before")
                }
                try prepare(row, machine)
                try put(row.text, name, machine)
                let wanted = try blobOfGit(name, machine)
                machine.committer.note(.saved(FilePath(name)))
                try await machine.commit()
                let committed = try machine.git("rev-parse", "HEAD:\(name)")
                let text = try machine.git("cat-file", "-p", committed)
                #expect(committed == wanted, "\(row): \(text.debugDescription)")
                #expect(try machine.git("status", "--porcelain", "--", name) == "", "\(row)")
                #expect(try bytes(name, machine) == Array(row.text.utf8), "\(row)")
            }
        }
    }

    /// What a merge puts into the working tree is what `git checkout` would have put there.
    @Test(.slow) func mergesWriteWhatGitWould() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            for (number, row) in Self.rows.enumerated() where row.before == nil {
                let name = "notes\(number).txt"
                try prepare(row, machines[1])
                // What the filter would have made of it on the other machine, too.
                let text = row.attributes.contains("filter=up") ? "A\nB\n" : "a\nb\n"
                #expect(await machines[1].committer.synchronizeNow() == nil)
                try machines[0].git("pull", "-q")
                try put(text, name, machines[0])
                try machines[0].git("add", name)
                try machines[0].git("commit", "-q", "-m", "notes")
                try machines[0].git("push", "-q")
                try machines[1].save("own", "\(number)")
                #expect(await machines[1].committer.synchronizeNow() == nil, "\(row)")
                let written = try bytes(name, machines[1])
                #expect(try machines[1].git("status", "--porcelain", "--", name) == "", "\(row)")
                unlink(machines[1].path.pushing(FilePath(name)).string)
                try machines[1].git("checkout", "--", name)
                #expect(try bytes(name, machines[1]) == written, "\(row)")
            }
        }
    }

    /// Holds:
    /// - Attributes that others push change no ciphertext.
    @Test func ciphertextsStayAsTheyAre() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            for attributes in ["* text eol=crlf", "*.gpg text", "*.gpg filter=up", "* ident"] {
                let settings = [
                    "filter.up.clean=tr a-z A-Z", "filter.up.smudge=tr A-Z a-z", "core.autocrlf=true",
                ]
                for machine in machines {
                    try prepare(
                        Row(attributes: attributes, settings: settings, text: "", isInfo: true), machine)
                }
                let text = String(repeating: "\(attributes)\r\n", count: 400)
                try machines[0].save("a", text)
                for machine in machines {
                    #expect(await machine.committer.synchronizeNow() == nil)
                    #expect(try machine.read("a") == text)
                    #expect(
                        try machine.git("hash-object", "--no-filters", "a.gpg")
                            == machine.git("rev-parse", "HEAD:a.gpg"))
                }
                #expect(await machines[0].committer.synchronizeNow() == nil)
            }
        }
    }

    /// A clone that git has made with `core.autocrlf`: `.gpg-id` has carriage returns on its disk only.
    @Test(.slow, arguments: [false, true]) func aListWithCarriageReturnsIsNoChange(_ rebases: Bool)
        async throws
    {
        try await TestHome.with { home in
            let machines = try home.machines(1) { $0.rebases = rebases }
            try machines[0].save("a", "0\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            try home.succeed([
                "git", "clone", "-q", "-c", "core.autocrlf=true", home.path("m0.git").string,
                home.path("w").string,
            ])
            let windows = try Machine(home, home.path("w"), { $0.rebases = rebases })
            #expect(try bytes(".gpg-id", windows).contains(13))
            await windows.committer.start()
            for round in 1..<3 {
                try machines[0].save("a", "\(round)\n")
                try windows.save("b", "\(round)\n")
                windows.committer.note(.saved(".gpg-id"))
                #expect(await machines[0].committer.synchronizeNow() == nil)
                #expect(await windows.committer.synchronizeNow() == nil)
                #expect(try windows.dirt == "")
                #expect(try windows.read("a") == "\(round)\n")
            }
            #expect(try windows.git("log", "--format=%s", "HEAD~1..", "--", ".gpg-id") == "")
            // Added to through the mount: the others get line feeds.
            try put(
                String(decoding: try bytes(".gpg-id", windows), as: UTF8.self) + "# us\r\n", ".gpg-id",
                windows)
            windows.committer.note(.saved(".gpg-id"))
            #expect(await windows.committer.synchronizeNow() == nil)
            #expect(try !windows.git("cat-file", "-p", "HEAD:.gpg-id").utf8.contains(13))
            #expect(try windows.dirt == "")
        }
    }
}
