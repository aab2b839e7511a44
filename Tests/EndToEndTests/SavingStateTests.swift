import FoundationEssentials
import SystemPackage
import TestKit
import Testing

/// What `status` and `store list` tell of stores that cannot be saved to.
@Suite struct SavingStateTests {
    private struct Store: Decodable {
        var name: String
        var readOnly: Bool
        var canSave: Bool?
    }
    private struct Report: Decodable {
        var stores: [Store]
    }

    /// What both commands say in JSON, once it is the same: after a mount the first may look before all is known.
    private func canSave(_ home: TestHome, _ name: String) throws -> Bool? {
        var told: Bool?
        try home.waitUntil("status and store list agree on \(name)", limit: .seconds(60)) {
            let (one, other) = try reports(home, name)
            told = one?.canSave
            return one?.canSave == other?.canSave && one?.readOnly == other?.readOnly
        }
        return told
    }

    /// What `store list` and `status` say, in this order.
    private func reports(_ home: TestHome, _ name: String) throws -> (Store?, Store?) {
        let listed = try JSONDecoder().decode(
            [Store].self, from: Data(try home.succeed(["passdir", "store", "list", "--json"])))
        let status = try home.run(["passdir", "status", "--json"])
        let told = try JSONDecoder().decode(Report.self, from: Data(status.standardOutput)).stores
        return (listed.first { $0.name == name }, told.first { $0.name == name })
    }

    private func paragraph(_ home: TestHome, _ name: String) throws -> String {
        let text = try home.run(["passdir", "status"]).output
        return text.split(separator: "\n\n").first { $0.hasPrefix(name + "\n") }.map(String.init) ?? ""
    }

    /// Holds:
    /// - `passdir status` and `store list` tell which stores cannot be saved to, and why.
    @Test(.slow) func whatCannotBeSavedToIsTold() throws {
        try TestHome.guarded { home in
            let (own, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-keys", other.fingerprint])
            let stores = try ["good", "read", "bare", "new"].map {
                try home.makeStore($0, recipients: [own], remote: true)
            }
            for store in stores { try store.insert("s", "text\n") }
            try home.addStores(stores)
            try home.succeed(["passdir", "recipients", "show", "new"])
            try home.succeed(["passdir", "mount"])
            try home.unmount()
            try home.succeed(["passdir", "store", "set", "read", "readOnly", "true"])
            try home.succeed(["rm", "bare/.gpg-id"])
            try home.succeed(["sh", "-c", "echo \(other.fingerprint) >> new/.gpg-id"])
            try home.succeed(["git", "commit", "-qam", "more"], in: home.path("new"))

            for isMounted in [false, true] {
                if isMounted {
                    try home.mount()
                    for name in ["good", "read", "bare", "new"] {
                        try home.succeed(["ls", home.visible(name).string])
                    }
                }
                // A mount looks at its stores one after the other, and at who approved their readers last.
                for (name, can) in [("good", true), ("read", false), ("bare", false), ("new", false)] {
                    try home.waitUntil("\(name) is looked at, \(isMounted)", limit: .seconds(60)) {
                        try canSave(home, name) == can
                    }
                }
                #expect(try !paragraph(home, "good").contains("saving"))
                #expect(try paragraph(home, "read").contains("saving   refused, as it is read-only"))
                #expect(try paragraph(home, "bare").contains("saving   fails, as no .gpg-id says for whom"))
                let new = try paragraph(home, "new")
                #expect(new.contains("saving   fails where you have not approved the readers"), "\(new)")
                #expect(!new.contains("state    ready\n"), "\(new)")
                #expect(new.contains("to refuse:  passdir recipients remove new \(other.fingerprint)"))
                let list = try home.passdir("store", "list").output.split(separator: "\n")
                #expect(list.contains { $0.hasPrefix("new ") && $0.contains(" unapproved ") }, "\(list)")
                #expect(list.contains { $0.hasPrefix("bare ") && $0.contains(" no .gpg-id ") }, "\(list)")
                #expect(list.contains { $0.hasPrefix("read ") && $0.contains(" read-only ") }, "\(list)")
            }
            try home.unmount()
        }
    }

    /// One secret has one error, the newest, and one cause is said once.
    @Test(.slow) func aCauseIsToldOnce() throws {
        try TestHome.guarded { home in
            let (own, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            let key = try home.succeed(["gpg", "--export", other.fingerprint])
            try home.succeed([
                "gpg", "--batch", "--yes", "--delete-secret-and-public-key", other.fingerprint,
            ])
            let store = try home.makeStore("work", recipients: [own], remote: true)
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.succeed(["passdir", "recipients", "confirm", "work", "--yes"])
            try home.succeed(["sh", "-c", "echo \(other.fingerprint) >> work/.gpg-id"])
            try store.git("commit", "-qam", "more")
            try home.mount()
            let files = ["zz", "yy", "xx", "ww"].map {
                home.mountPoint.pushing(FilePath("work/\($0)")).string
            }
            try home.write("text\n", to: "text")
            #expect(try home.run(["cp", home.path("text").string, files[0]]).exitCode != 0)
            #expect(try paragraph(home, "work").contains("zz: there is no key for \(other.fingerprint)"))
            // What was opened before the list named somebody new fails as it is saved.
            try home.succeed(["gpg", "--batch", "--import"], input: key)
            let script = """
                echo \(own.fingerprint) >work/.gpg-id
                exec 3>"$0" 4>"$1" 5>"$2" 6>"$3"
                echo \(other.fingerprint) >>work/.gpg-id
                for file in 3 4 5 6; do echo text >&$file; eval "exec $file>&-"; done
                """
            try home.succeed(["sh", "-c", script] + files)
            let told = try paragraph(home, "work")
            #expect(!told.contains("there is no key for"), "\(told)")
            #expect(told.contains("error    ww and 3 others are not saved\n"), "\(told)")
            #expect(told.contains("unsaved  zz: for the same reason (since "), "\(told)")
            #expect(told.ranges(of: "unsaved  ").count == 4, "\(told)")
            let cause = try #require(try home.status().store("work").unsaved.first).error.dropLast()
            #expect(told.ranges(of: cause).count == 1, "\(told)")
            try home.succeed(["passdir", "recipients", "confirm", "work", "--yes"])
            try home.waitUntil("all is saved") { try !paragraph(home, "work").contains("unsaved") }
            try home.unmount()
        }
    }

    /// Nobody refuses a key of their own.
    @Test func noAdviceIsToRefuseAnOwnKey() throws {
        try TestHome.guarded { home in
            let (own, second) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            let store = try home.makeStore("work", recipients: [own], remote: true)
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.mount()
            try home.unmount()
            try home.succeed(["sh", "-c", "echo \(second.fingerprint) >> work/.gpg-id"])
            let told = try paragraph(home, "work")
            #expect(told.contains("to approve:") && !told.contains("to refuse:"), "\(told)")
        }
    }

    @Test func aMissingKeyNamesItsRemedy() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try home.addStores([store])
            let told = try home.passdir("recipients", "add", "work", "nobody@example.org")
            #expect(
                told.exitCode == 1
                    && told.errors.contains(
                        "no key for nobody@example.org in the keyring: passdir keys import FILE --store work imports one"
                    ),
                "\(told)")
        }
    }

    /// Nobody types a text that cannot be saved; what needs no encryption goes on.
    @Test func nothingIsAskedForThatCannotBeSaved() throws {
        try TestHome.guarded { home in
            let own = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [own])
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.write("\(own.fingerprint)\nnobody@example.org\n", to: "work/.gpg-id")
            for words in [["insert", "work/new"], ["insert", "-f", "work/s"], ["generate", "work/new"]] {
                // A question would be ended without an answer.
                let told = try home.onTerminal(["passdir"] + words, [], at: "password")
                #expect(told.exitCode == 1, "\(words): \(told)")
                #expect(
                    told.output.contains("cannot be saved: there is no key for nobody@example.org")
                        && !told.output.contains("Enter password"), "\(words): \(told)")
            }
            try home.succeed(["passdir", "mv", "work/s", "work/t"])
            #expect(try home.passdir("list").output == "work/t\n")
        }
    }

    /// Where nobody else can add a reader, one that the user has added by hand stops nothing, and status says nothing else.
    @Test(.slow) func withoutARemoteNoReaderStopsASave() throws {
        try TestHome.guarded { home in
            let (own, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-keys", other.fingerprint])
            let store = try home.makeStore("work", recipients: [own])
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.succeed(["passdir", "recipients", "show", "work"])
            try home.write("\(own.fingerprint)\n\(other.fingerprint)\n", to: "work/.gpg-id")
            let told = try home.passdir("status").output
            #expect(told.contains("you have not approved it") && !told.contains("saving "), "\(told)")
            try home.succeed(["passdir", "insert", "work/t"], input: Array("text\n".utf8))
            // One that is not here stops it; the store itself may bring it.
            try home.succeed(["mkdir", "work/.public-keys"])
            try home.write(
                "\(own.fingerprint)\n0123456789ABCDEF0123456789ABCDEF01234567\n", to: "work/.gpg-id")
            let stopped = try home.passdir("status").output
            #expect(stopped.contains("saving   fails: there is no key for 0123456789ABCDEF"), "\(stopped)")
            #expect(stopped.contains("passdir keys import work (from its .public-keys)"), "\(stopped)")
            // Also when it is approved.
            try home.succeed(["passdir", "recipients", "confirm", "work", "--yes"])
            let approved = try home.passdir("status").output
            #expect(
                approved.contains("passdir keys import work imports what its .public-keys holds"),
                "\(approved)")
            #expect(try home.passdir("store", "list").output.contains(" cannot save "))
        }
    }
}
