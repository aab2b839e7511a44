import Glibc
import SystemPackage
import TestKit
import Testing

/// What docs/pass.md says of each verb of pass: the same words leave the same store.
@Suite struct PassSideBySideTests {
    private struct Step {
        var words: [String]
        var input = ""

        init(_ words: String..., input: String = "") {
            self.words = words
            self.input = input
        }
    }

    /// Holds:
    /// - The same files, texts, empty folders and commits as by pass, after each of its verbs.
    @Test(.slow) func eachVerbLeavesTheStoreAsPassDoes() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let theirs = try home.makeStore("theirs", recipients: [key])
            let ours = try home.makeStore("ours", recipients: [key])
            try home.addStores([ours])
            let steps = [
                Step("insert", "-m", "mail/imap", input: "secret\nuser: me\n"),
                Step("insert", "--echo", "web/site", input: "pw\n"),
                Step("insert", "web/typed", input: "twice\ntwice\n"),
                Step("add", "--multiline", "--force", "mail/imap", input: "new, no newline"),
                Step("insert", "-mf", "with space/ünïcode", input: "x\n"),
                Step("cp", "mail/imap", "copies/imap"),
                Step("copy", "-f", "web/site", "copies/imap"),
                Step("mv", "web/site", "web/place"),
                Step("rename", "--force", "web/place", "web/typed"),
                Step("cp", "copies", "dup"),
                Step("mv", "dup", "moved/deep"),
                Step("mv", "mail/imap", "moved/deep/other"),
                Step("rm", "-f", "web/typed"),
                Step("insert", "-m", "moved", input: "beside a folder\n"),
                Step("delete", "--force", "moved"),
                Step("remove", "-rf", "moved"),
            ]
            for step in steps {
                let input = Array(step.input.utf8)
                try theirs.pass(step.words, input: input)
                let done = try home.run(["passdir"] + step.words, input: input)
                #expect(done.exitCode == 0 && done.output.isEmpty, "\(step.words): \(done)")
                try expectSame(ours, theirs, step.words)
            }
            #expect(try ours.git("status", "--porcelain").isEmpty)
        }
    }

    /// Holds:
    /// - A generated password has pass's length and characters, by its variables, too; `--in-place` keeps the other lines.
    @Test func generatedPasswordsAreAsThoseOfPass() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.addStores([store])
            func generated(_ words: String..., extra: [String: String] = [:]) throws -> String {
                let done = try home.run(["passdir", "generate"] + words, extra: extra)
                #expect(done.exitCode == 0, "\(words): \(done)")
                let saved = try store.show(words.first { !$0.hasPrefix("-") } ?? "")
                #expect(done.standardOutput.elementsEqual(saved.prefix(done.standardOutput.count)))
                return done.output.trimmingNewline
            }
            #expect(try generated("a").count == 25)
            #expect(try generated("b", "40").count == 40)
            #expect(try generated("c", extra: ["PASSWORD_STORE_GENERATED_LENGTH": "7"]).count == 7)
            let plain = try generated("-n", "d", "200")
            #expect(plain.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
            let few = try generated("e", "50", extra: ["PASSWORD_STORE_CHARACTER_SET": "xyz"])
            #expect(few.allSatisfy { "xyz".contains($0) })
            let digits = try generated(
                "-n", "f", "50", extra: ["PASSWORD_STORE_CHARACTER_SET_NO_SYMBOLS": "[:digit:]"])
            #expect(digits.allSatisfy { $0.isNumber })
            try store.insert("g", "old\nuser: me\n\nnote")
            let new = try generated("--in-place", "g", "9")
            #expect(try store.show("g") == Array("\(new)\nuser: me\n\nnote".utf8))
            #expect(try home.passdir("generate", "g").exitCode == 1)
            #expect(try store.show("g").starts(with: new.utf8))
            #expect(try generated("-f", "g", "12").count == 12)
            #expect(
                try store.git("log", "--format=%s", "-n", "4").split(separator: "\n") == [
                    "Add generated password for g.", "Replace generated password for g.",
                    "Add given password for g to store.", "Add generated password for f.",
                ])
        }
    }

    private func expectSame(_ ours: TestStore, _ theirs: TestStore, _ words: [String]) throws {
        let find = ["find", ".", "-name", ".git", "-prune", "-o", "-print"]
        func names(_ store: TestStore) throws -> [String] {
            String(decoding: try store.home.succeed(find, in: store.path), as: UTF8.self)
                .split(separator: "\n").map(String.init).sorted()
        }
        let (all, wanted) = (try names(ours), try names(theirs))
        #expect(all == wanted, "\(words)")
        for name in all where name.hasSuffix(".gpg") {
            let secret = String(name.dropFirst(2).dropLast(4))
            let texts = (try ours.show(secret), try theirs.show(secret))
            #expect(texts.0 == texts.1, "\(words): \(secret)")
        }
        let logs = (try ours.git("log", "--format=%s"), try theirs.git("log", "--format=%s"))
        #expect(logs.0 == logs.1, "\(words)")
    }
}

extension String {
    fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
