import Glibc
import SystemPackage
import TestKit
import Testing

/// What `passdir store add` says of keys, and asks about them.
@Suite struct AddedStoreTests {
    /// Bob's store, with his and Ann's keys in its `.public-keys`, and somebody who has only Ann's keys, or none of them.
    private static func makeStore(_ fixture: Fixture, with names: String...) throws -> TestStore {
        let store = try fixture.home.makeStore("team", recipients: [fixture.ann, fixture.bob], remote: true)
        try store.insert("a", "one")
        try fixture.home.succeed(["mkdir", store.path.appending(".public-keys").string])
        for name in names {
            try fixture.home.succeed([
                "gpg", "--batch", "--output", store.path.appending(".public-keys").string + "/" + name,
                "--export", name,
            ])
        }
        try store.git("add", "-A")
        try store.git("commit", "-q", "--allow-empty", "-m", "keys")
        try store.git("push", "-q")
        return store
    }

    /// Ann has never seen Bob's key.
    private static func forgetBob(_ fixture: Fixture) throws -> [String: String] {
        try fixture.gpg(as: fixture.ann, ["--yes", "--delete-keys", fixture.bob.fingerprint])
        return ["GNUPGHOME": fixture.homeFolder(of: fixture.ann).string]
    }

    @Test(.slow, arguments: ["--path", "--url"])
    func keysThatAStoreBringsAreImportedOnlyWhenTheUserSaysSo(_ way: String) throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try Self.makeStore(fixture, with: "bob@example.org")
            let ann = try Self.forgetBob(fixture)
            let place = way == "--url" ? home.path("team.git") : store.path
            func add(_ words: String..., answers: [String] = []) throws -> ProgramResult {
                try home.onTerminal(
                    ["passdir", "store", "add", "team", way, place.string] + words,
                    answers.map { TerminalStep(at: "[y/N] ", type: $0 + "\n") }, extra: ann)
            }
            func hasBob() throws -> Bool {
                try home.run(["gpg", "--list-keys", fixture.bob.fingerprint], extra: ann).exitCode == 0
            }
            let remove = ["passdir", "store", "remove", "team", "--yes"]
            let offer = "passdir keys import team"
            let missing = "warning: no key here matches the .gpg-id line \(fixture.bob.fingerprint)"

            // Nobody can be asked, or nobody is to be: nothing is imported.
            let unasked = try home.run(["passdir", "store", "add", "team", way, place.string], extra: ann)
            #expect(unasked.exitCode == 0 && unasked.errors.contains(missing), "\(unasked.errors)")
            #expect(unasked.errors.contains(offer) && unasked.errors.contains("keys in .public-keys"))
            try home.succeed(remove)
            let quiet = try add("--yes")
            #expect(quiet.exitCode == 0 && !quiet.output.contains("[y/N]"), "\(quiet.output)")
            #expect(try !hasBob())
            try home.succeed(remove)

            let no = try add(answers: ["n"])
            #expect(no.exitCode == 0 && no.output.contains("nothing was imported"), "\(no.output)")
            #expect(try !hasBob())
            try home.succeed(remove)

            let yes = try add(answers: ["y"])
            #expect(yes.exitCode == 0 && yes.output.contains("1 key imported"), "\(yes.output)")
            #expect(
                yes.output.contains(
                    "\(fixture.bob.fingerprint)  bob <bob@example.org>  (new, named in .gpg-id)"))
            #expect(try hasBob())

            // Everything is there, and so is what is agreed to: a secret can be saved.
            try home.mount(extra: ann)
            try home.succeed(["sh", "-c", "echo two > '\(home.mountPoint)/team/b'"])
            try home.unmount()
            try home.succeed(remove)
            let again = try add()
            #expect(again.exitCode == 0 && !again.output.contains("warning"), "\(again.output)")
        }
    }

    /// What others put there steers no terminal, and is no secret key.
    @Test func whatAStoreBringsIsLookedAtFirst() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            try home.succeed([
                "gpg", "--batch", "--passphrase", "", "--quick-gen-key",
                "Mal\u{202E}lo\u{1B}[31mry <mal@example.org>", "future-default", "default", "never",
            ])
            let store = try Self.makeStore(fixture, with: "mal@example.org")
            let ann = try Self.forgetBob(fixture)
            let words = ["passdir", "store", "add", "team", "--path", store.path.string]
            let shown = try home.onTerminal(words, [TerminalStep(at: "[y/N] ", type: "n\n")], extra: ann)
            #expect(shown.output.contains("<mal@example.org>  (new)"), "\(shown.output)")
            #expect(!shown.output.contains("\u{1B}") && !shown.output.contains("\u{202E}"))
            try home.succeed(["passdir", "store", "remove", "team", "--yes"])

            try home.succeed([
                "sh", "-c",
                "gpg --batch --export-secret-keys mal@example.org > '\(store.path)/.public-keys/bob'",
            ])
            let secret = try home.onTerminal(words, [], at: "[y/N] ", extra: ann)
            #expect(
                secret.exitCode == 0 && secret.output.contains("contains a secret key"), "\(secret.output)")
            #expect(!secret.output.contains("[y/N]"))
        }
    }

    @Test(.slow) func aStoreThatNoKeyOfMineReadsIsWarnedOf() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let cyd = ["GNUPGHOME": fixture.homeFolder(of: fixture.cyd).string]
            let store = try Self.makeStore(fixture)
            func warning() throws -> String {
                let result = try home.run(
                    ["passdir", "store", "add", "team", "--path", store.path.string], extra: cyd)
                #expect(result.exitCode == 0)
                try home.succeed(["passdir", "store", "remove", "team", "--yes"])
                return result.errors
            }
            #expect(
                try warning()
                    == "passdir: warning: none of your keys decrypts its secrets: ask someone who has the store to add your key\n"
            )
            try home.succeed(["rm", store.path.appending("a.gpg").string])
            #expect(
                try warning()
                    == "passdir: warning: its .gpg-id names none of your secret keys, so you could not read what is saved: ask someone who has the store to add your key\n"
            )
            try home.write("cyd@example.org\n", to: "team/.gpg-id")
            #expect(try warning().isEmpty)
            let old = try home.makeExpiredKey("old@example.org")
            try home.write(old.fingerprint + "\n", to: "team/.gpg-id")
            let words = ["passdir", "store", "add", "team", "--path", store.path.string]
            let expired = try home.run(words).errors
            #expect(
                expired.contains(" expired on ")
                    && expired.contains("--quick-set-expire \(old.fingerprint) 1y")
                    && expired.contains("renews it"), "\(expired)")
        }
    }

    @Test(.slow) func keysAreTakenFromAnotherStore() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let folder = fixture.homeFolder(of: fixture.bob)
            let one = try home.makeStore("one", recipients: [fixture.bob])
            try home.succeed([
                "passdir", "store", "add", "one", "--path", one.path.string, "--keyring", folder.string,
            ])
            try home.succeed(["passdir", "store", "set", "one", "key", fixture.bob.fingerprint])
            let two = try Self.makeStore(fixture)
            try home.succeed(["passdir", "store", "add", "two", "--path", two.path.string, "--key-of", "one"])
            try home.succeed(
                [
                    "passdir", "store", "add", "three", "--url", home.path("team.git").string, "--key-of",
                    "one",
                ])
            // A store that is made is for that key.
            try home.succeed(
                [
                    "passdir", "store", "add", "four", "--init", "--path", home.path("four").string,
                    "--key-of", "one",
                ])
            #expect(try home.text(of: "four/.gpg-id") == fixture.bob.fingerprint + "\n")
            for name in ["two", "three", "four"] {
                let shown = try home.passdir("store", "show", name).output
                #expect(shown.contains("\nkey                \(fixture.bob.fingerprint)\n"), "\(shown)")
                #expect(shown.contains("\nkeyring            \(folder)\n"), "\(shown)")
            }
            let both = try home.passdir(
                "store", "add", "five", "--path", "x", "--key-of", "one", "--keyring", folder.string)
            #expect(both.exitCode == 64 && both.errors.contains("cannot be used together"), "\(both.errors)")
            let unknown = try home.passdir(
                "store", "add", "five", "--path", two.path.string, "--key-of", "no")
            #expect(unknown.exitCode == 1 && unknown.errors.contains("no store \"no\""), "\(unknown.errors)")
        }
    }
}
