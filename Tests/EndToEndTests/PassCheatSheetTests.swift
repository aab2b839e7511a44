import SystemPackage
import TestKit
import Testing

/// docs/pass.md, held against the pass that is installed.
@Suite struct PassCheatSheetTests {
    /// The first cells of the table, as words.
    private static func rows() throws -> [Set<String>] {
        let top = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let page = try #require(SystemFile.text(top.pushing("docs/pass.md").string))
        return page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            let cell = line.replacing("\\|", with: " ").split(separator: "|")[0]
            return Set(cell.matches(of: /[a-z-]+/).map { String($0.output) })
        }
    }

    /// Holds:
    /// - Every verb of the installed pass, and every option of it in a row with its verb, stands in the cheat sheet.
    @Test func nothingOfPassIsMissing() throws {
        let script = try #require(SystemFile.text("/usr/bin/pass"))
        let rows = try Self.rows()
        var verbs: [String: [String]] = [:]
        for found in script.matches(of: /\n\t([a-z|-]+)\) shift;\t+(cmd_[a-z_]+)/) {
            let words = found.output.1.split(separator: "|").map(String.init)
            verbs[String(found.output.2), default: []] += words
            for word in words { #expect(rows.contains { $0.contains(word) }, "\(word)") }
        }
        #expect(verbs.count == 12, "\(verbs)")
        var options = 0
        for function in script.split(separator: "\ncmd_").dropFirst() {
            let name = "cmd_" + function.prefix { $0 != "(" }
            guard let found = function.firstMatch(of: #/\$GETOPT -o ([a-z:]+) -l ([a-z:,-]+) /#) else {
                continue
            }
            let short = found.output.1.filter { $0 != ":" }.map { "-\($0)" }
            let long = found.output.2.filter { $0 != ":" }.split(separator: ",").map { "--\($0)" }
            for option in short + long {
                let isThere = rows.contains { row in
                    row.contains(option) && (verbs[name] ?? []).contains { row.contains($0) }
                }
                #expect(isThere, "\(name) \(option)")
                options += 1
            }
        }
        #expect(options == 28)
    }

    /// Holds:
    /// - What looks into a store finds the same as pass.
    /// - An edit, and other recipients for a folder and none of its own any more, leave the store as pass does.
    @Test(.slow) func theOtherVerbsDoTheSame() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            let stores = try ["ours", "theirs"].map { try home.makeStore($0, recipients: [ann]) }
            let (ours, theirs) = (stores[0], stores[1])
            for store in stores {
                try store.insert("web/site", "first\nSecond line\n")
                try store.insert("mail", "no newline")
            }
            try home.addStores([ours])
            func passdir(_ words: String...) throws -> [UInt8] { try home.succeed(["passdir"] + words) }
            func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
            for name in ["web/site", "mail"] {
                #expect(try passdir("show", name) == theirs.pass(["show", name]))
            }
            let plain = ["sed", "s/\u{1B}\\[[0-9;]*[mK]//g"]
            // A tree in one, lines in the other: the same names.
            for (words, names) in [
                (["ls"], ["mail", "site"]), (["ls", "web"], ["site"]), (["show", "web"], ["site"]),
                (["find", "SIT"], ["site"]), (["find", "nothing", "mai"], ["mail"]),
            ] {
                let (found, wanted) = (
                    text(try home.succeed(["passdir"] + words)),
                    text(try home.succeed(plain, input: theirs.pass(words)))
                )
                for name in ["mail", "site"] {
                    #expect(wanted.contains("\(name)\n") == names.contains(name), "\(words): \(wanted)")
                    #expect(found.contains("\(name)\n") == names.contains(name), "\(words): \(found)")
                }
            }
            for words in [["-i", "second"], ["^no"], ["-v", "x"]] {
                func lines(_ bytes: [UInt8]) throws -> Set<Substring> {
                    Set(text(try home.succeed(plain, input: bytes)).split(separator: "\n"))
                }
                let found = try lines(home.succeed(["passdir", "grep"] + words))
                let wanted = try lines(theirs.pass(["grep"] + words))
                #expect(
                    wanted.allSatisfy { line in found.contains { $0.hasSuffix(line) } }, "\(found) \(wanted)")
                #expect(found.count == wanted.count)
            }
            let log = ["log", "--format=%s"]
            #expect(try text(theirs.pass(["git"] + log)) == text(home.succeed(["git"] + log, in: ours.path)))

            try theirs.pass(["init", "--path=web", ann.fingerprint, bob.fingerprint])
            _ = try passdir("recipients", "set", "ours/web", ann.fingerprint, bob.fingerprint, "--yes")
            try expectSame(home, ours, theirs)
            try theirs.pass(["init", "-p", "web", ""])
            _ = try passdir("recipients", "unset", "ours/web", "--yes")
            try expectSame(home, ours, theirs)

            try home.write(
                "#!/bin/sh\nprintf 'edited\\n' >> \"$1\"\n", to: "editor", mode: .ownerReadWriteExecute)
            let editor = ["EDITOR": home.path("editor").string, "PASSWORD_STORE_DIR": theirs.path.string]
            try home.mount()
            try home.succeed(["passdir", "edit", "ours/web/site"], extra: editor)
            try home.unmount()
            try home.succeed(
                ["pass", "edit", "web/site"], extra: editor)
            #expect(try theirs.show("web/site") == ours.show("web/site"))
            #expect(text(try ours.show("web/site")).hasSuffix("line\nedited\n"))
            try expectSame(home, ours, theirs)
        }
    }

    private func expectSame(_ home: TestHome, _ ours: TestStore, _ theirs: TestStore) throws {
        for script in ["find . -name .git -prune -o -print | sort", "cat .gpg-id web/.gpg-id 2>&1"] {
            let done = try [ours, theirs].map { try home.run(["sh", "-c", script], in: $0.path).output }
            #expect(done[0] == done[1], "\(script)")
        }
        for name in ["web/site", "mail"] {
            #expect(try ours.recipientKeyIDs(of: name) == theirs.recipientKeyIDs(of: name), "\(name)")
        }
        #expect(try ours.git("status", "--porcelain").isEmpty)
    }
}
