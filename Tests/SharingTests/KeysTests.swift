import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir keys`, and what is found out about recipients that others changed.
@Suite struct KeysTests {
    @Test(.slow) func everyKeyThatIsNamedIsListedWithItsState() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let old = try home.makeExpiredKey("old@example.org")
            let gone = try home.makeRevokedKey("gone@example.org")
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try home.addStores([store])
            try home.succeed(["mkdir", "work/sub"])
            try home.write(
                "bob@example.org\n\(old.fingerprint)\n\(gone.fingerprint)\nnobody@example.org\n",
                to: "work/sub/.gpg-id")
            let json = try home.passdir(
                "keys", "work", "--json", extra: ["GNUPGHOME": home.path("gnupg").string])
            #expect(json.exitCode == 0)
            for words in [
                #""fingerprint":"\#(fixture.ann.fingerprint)""#, #""state":"expired""#, #""state":"revoked""#,
                #""state":"missing""#, #""folders":["work","work/sub"]"#, #""id":"nobody@example.org""#,
                #""userIDs":["ann <ann@example.org>"]"#, #""isOwn":true"#, #""trust":"ultimate""#,
            ] {
                #expect(json.output.contains(words), "\(words) in \(json.output)")
            }
            let text = try home.passdir("keys").output
            #expect(
                text.contains("nobody@example.org  not in the keyring")
                    && text.contains("named in work, work/sub"))
            #expect(try home.passdir("keys", "nosuch").exitCode == 1)
        }
    }

    @Test(.slow) func aKeyThatNoListNamesCanBeRemoved() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let own = try home.makeKey("own@example.org")
            let carol = try home.makeKey("carol@example.org")
            try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-keys", carol.fingerprint])
            try home.addStores([try home.makeStore("work", recipients: [fixture.ann, fixture.bob])])

            #expect(!(try home.passdir("keys").output.contains(carol.fingerprint)))
            let all = try home.passdir("keys", "--all").output
            #expect(all.contains(carol.fingerprint) && all.contains("not named anywhere"), "\(all)")

            func remove(_ words: String...) throws -> ProgramResult {
                try home.run(["passdir", "keys", "remove"] + words)
            }
            let named = try remove(fixture.bob.address, "--yes")
            #expect(named.exitCode == 1 && named.errors.contains("is named in work, so it was not removed"))
            for words in [[own.fingerprint, "--yes"], [own.fingerprint]] {
                let mine = try home.run(["passdir", "keys", "remove"] + words)
                #expect(
                    mine.exitCode == 1 && mine.errors.contains("has a secret part here"), "\(mine.errors)")
            }
            let unasked = try remove(carol.fingerprint)
            #expect(unasked.exitCode == 1 && unasked.errors.contains("--yes"), "\(unasked.errors)")
            let list = ["gpg", "--list-keys", carol.fingerprint]
            #expect(try home.run(list).exitCode == 0)

            // Where a list cannot be read it might name any.
            try home.succeed(["mkdir", "work/sub"])
            try home.write(String(repeating: "x\n", count: 1100), to: "work/sub/.gpg-id")
            #expect(try remove("carol@example.org", "--yes").exitCode == 1)
            try home.succeed(["rm", "-r", "work/sub"])

            #expect(try remove("carol@example.org", "--yes").exitCode == 0)
            #expect(try home.run(list).exitCode != 0)
            #expect(try remove("carol@example.org", "--yes").errors.contains("there is no key"))
        }
    }

    @Test(.slow) func aListThatIsTooLongHidesNoOther() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            try home.addStores([try home.makeStore("work", recipients: [fixture.ann])])
            try home.succeed(["mkdir", "work/sub"])
            try home.write(String(repeating: "x\n", count: 1100), to: "work/sub/.gpg-id")
            for words in [["keys", "work"], ["keys", "list", "work"], ["keys"]] {
                let told = try home.run(["passdir"] + words)
                #expect(
                    told.exitCode == 1 && told.output.contains(fixture.ann.fingerprint), "\(words): \(told)")
                #expect(
                    told.errors
                        == "passdir: sub/.gpg-id of the store \"work\" has 1100 recipients, more than 1024: a secret "
                        + "cannot be encrypted to that many\n", "\(words): \(told)")
            }
        }
    }

    @Test(.slow) func whoseKeyIsNotHereIsSaidWhereKeysAreExported() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            try home.addStores([try home.makeStore("work", recipients: [fixture.ann])])
            try home.succeed(["sh", "-c", "echo nobody@example.org >>work/.gpg-id"])
            let exported = try home.passdir("keys", "export", "work")
            #expect(exported.exitCode == 0)
            #expect(
                exported.errors
                    == "passdir: warning: nobody@example.org is not exported: its key is not in your keyring\n"
            )
            #expect(
                try home.succeed(["ls", "work/.public-keys"]).elementsEqual(
                    "\(fixture.ann.fingerprint)\n".utf8))
        }
    }

    @Test(.slow) func keysGoOutAndInThroughTheStore() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try home.addStores([store])
            #expect(try home.passdir("keys", "export", "work").exitCode == 0)
            #expect(try store.git("log", "-1", "--format=%s") == "Export public keys of the recipients.")
            #expect(try store.git("status", "--porcelain") == "")

            let empty = home.path("empty")
            try home.succeed(["mkdir", "-m", "700", empty.string])
            let elsewhere = ["GNUPGHOME": empty.string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: elsewhere) }
            #expect(
                try home.run(["passdir", "recipients", "show", "work"], extra: elsewhere).output.contains(
                    "there is no key"))
            let shown = try home.run(["passdir", "keys", "import", "work", "--dry-run"], extra: elsewhere)
            #expect(
                shown.output.contains(fixture.bob.fingerprint)
                    && shown.output.contains("new, named in .gpg-id"))
            #expect(
                try home.run(["gpg", "--list-keys", fixture.bob.fingerprint], extra: elsewhere).exitCode != 0)
            // Nobody to ask: nothing is imported.
            #expect(try home.run(["passdir", "keys", "import", "work"], extra: elsewhere).exitCode == 1)
            #expect(
                try home.run(["gpg", "--list-keys", fixture.bob.fingerprint], extra: elsewhere).exitCode != 0)
            let done = try home.run(["passdir", "keys", "import", "work", "--yes"], extra: elsewhere)
            #expect(done.output.hasSuffix("2 keys imported\n"))
            let again = try home.run(["passdir", "keys", "import", "work", "--yes"], extra: elsewhere)
            #expect(again.output.hasSuffix("no keys imported, 2 already known\n"))
            #expect(
                try home.run(["gpg", "--list-keys", fixture.bob.fingerprint], extra: elsewhere).exitCode == 0)
        }
    }

    @Test(.slow, arguments: ["one block", "several blocks", "binary"])
    func aFileWithSeveralKeysImportsAll(_ form: String) throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let all = [fixture.ann, fixture.bob, fixture.cyd].map(\.fingerprint)
            let bytes: [UInt8] =
                switch form {
                case "one block": try home.succeed(["gpg", "--armor", "--export"] + all)
                case "several blocks":
                    try all.flatMap { try home.succeed(["gpg", "--armor", "--export", $0]) }
                default: try home.succeed(["gpg", "--export"] + all)
                }
            let empty = home.path("empty")
            try home.succeed(["mkdir", "-m", "700", empty.string])
            let elsewhere = ["GNUPGHOME": empty.string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: elsewhere) }
            let result = try home.run(
                ["passdir", "keys", "import", "-", "--yes"], input: bytes, extra: elsewhere)
            #expect(result.exitCode == 0, "\(result.errors)")
            for fingerprint in all {
                #expect(result.output.contains(fingerprint))
                #expect(try home.run(["gpg", "--list-keys", fingerprint], extra: elsewhere).exitCode == 0)
            }
            let none = try home.run(
                ["passdir", "keys", "import", "-", "--yes"], input: Array("no key".utf8), extra: elsewhere)
            #expect(none.exitCode == 1)
        }
    }

    @Test(.slow) func driftIsFoundWithoutAKeyAndMended() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            for name in ["a", "b", "sub/c"] { try store.insert(name, name) }
            func check(_ words: String...) throws -> ProgramResult {
                try home.run(["passdir", "recipients", "check", "work"] + words)
            }
            #expect(try check().exitCode == 0)
            // Somebody forgot to encrypt anew; one secret hides its recipients.
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.bob.fingerprint)\n", to: "work/.gpg-id")
            try home.succeed([
                "gpg", "--batch", "--yes", "--quiet", "-R", fixture.ann.fingerprint, "-R",
                fixture.bob.fingerprint, "-o", "work/b.gpg",
                "-e", "work/.gpg-id",
            ])
            let found = try home.run(
                ["passdir", "recipients", "check", "work"],
                extra: ["GNUPGHOME": fixture.homeFolder(of: fixture.cyd).string])
            #expect(found.exitCode == 1)
            #expect(found.output.contains("work/a: not encrypted to bob <bob@example.org>"))
            #expect(found.output.contains("work/b: its recipients are hidden"))
            #expect(found.output.contains("3 secrets, 2 not encrypted to exactly their recipients"))
            #expect(found.output.contains("passdir recipients check work --fix re-encrypts them"))
            try store.git("commit", "--quiet", "-am", "By hand.")
            // Nobody has agreed to Bob: there is nobody here to ask, and nothing is encrypted to him.
            let refused = try check("--fix", "--yes")
            #expect(refused.exitCode == 1 && refused.errors.contains("recipients confirm work"))
            #expect(try store.recipientKeyIDs(of: "a").count == 1)
            try fixture.recipients("confirm", "work", "--yes")
            let fixed = try check("--fix", "--yes")
            #expect(fixed.output.contains("2 secrets re-encrypted"))
            #expect(try store.recipientKeyIDs(of: "sub/c").count == 2)
            #expect(try store.git("status", "--porcelain") == "")
            let after = try check()
            #expect(after.output.contains("3 secrets, 0 not encrypted to exactly their recipients"))
        }
    }

    /// The exit status tells of a key that has expired, or soon will, as the help says.
    @Test(.slow) func aKeyThatExpiresIsFound() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try home.addStores([store])
            try store.insert("a", "a")
            #expect(try home.passdir("recipients", "check", "work").exitCode == 0)
            try home.succeed([
                "gpg", "--batch", "--quick-set-expire", fixture.bob.fingerprint, "10d",
            ])
            try home.succeed(["gpg", "--batch", "--quick-set-expire", fixture.bob.fingerprint, "10d", "*"])
            let soon = try home.passdir("recipients", "check", "work")
            #expect(
                soon.exitCode == 1 && soon.output.contains("keys unusable or expiring soon: 1"), "\(soon)"
            )
            #expect(try home.passdir("recipients", "check", "work", "--days", "5").exitCode == 0)
        }
    }

    /// Secrets that are for just the keys of their list differ from nothing, though one of these has expired.
    @Test(.slow) func anExpiredKeyIsToldOnce() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try home.addStores([store])
            for name in ["a", "b"] { try store.insert(name, name) }
            for keys in [["*"], []] {
                try home.succeed(
                    ["gpg", "--batch", "--quick-set-expire", fixture.bob.fingerprint, "seconds=1"] + keys)
            }
            try home.waitUntil("the key has expired") {
                try home.passdir("keys", "work").output.contains("  expired, ")
            }
            let told = try home.passdir("recipients", "check", "work")
            #expect(told.exitCode == 1 && !told.output.contains("encrypted to bob"), "\(told)")
            #expect(
                told.output.hasSuffix(
                    "2 secrets, 0 not encrypted to exactly their recipients; keys unusable or expiring soon: 1\n"
                ),
                "\(told)")
            #expect(told.output.contains("key \(fixture.bob.fingerprint)"), "\(told)")
        }
    }

    /// However long the list is, what it means stands right above the question.
    @Test func theWarningOfARemovalComesLast() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try home.addStores([store])
            for name in ["a", "b"] { try store.insert(name, name) }
            let asked = try home.onTerminal(
                ["passdir", "recipients", "remove", "work", fixture.bob.fingerprint],
                [TerminalStep(at: "Continue?", type: "n\n")])
            let lines = asked.output.split(separator: "\n").map(String.init)
            let question = try #require(lines.firstIndex { $0.contains("Continue?") })
            #expect(
                lines[question - 1].hasSuffix("Change the 2 passwords above where they are used."), "\(lines)"
            )
            #expect(Array(lines.prefix(2)) == ["  a", "  b"])
        }
    }

    @Test(.slow) func whatAPullBringsIsShownAndMustBeConfirmed() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann], remote: true)
            try home.addStores([store])
            try store.insert("a", "one")
            try store.git("push", "--quiet")
            try home.mount()
            try home.succeed(["ls", "mnt/work"])
            try home.waitUntil("the recipients are recorded") {
                access(home.path("data/passdir/recipients").string, F_OK) == 0
            }
            // Eve has the store, too.
            try home.succeed(["git", "clone", "--quiet", store.remote!.string, "eve"])
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.cyd.fingerprint)\n", to: "eve/.gpg-id")
            try home.succeed(
                [
                    "git", "-c", "user.name=Eve", "-c", "user.email=eve@example.org", "-c",
                    "commit.gpgSign=true", "-c",
                    "user.signingKey=\(fixture.bob.fingerprint)", "commit", "--quiet", "-am", "More readers.",
                ], in: home.path("eve"))
            try home.succeed(["git", "push", "--quiet"], in: home.path("eve"))
            try store.git("pull", "--quiet", "--rebase")

            var text = ""
            try home.waitUntil("status tells of it") {
                text = try home.passdir("status").output
                return text.contains("cyd <cyd@example.org>")
            }
            #expect(
                text.contains("Eve <eve@example.org>")
                    && text.contains("signed by \(fixture.bob.fingerprint)"))
            #expect(text.contains("recipients confirm work"))
            // Nothing is encrypted to the added key before it was agreed to.
            #expect(throws: (any Error).self) { try home.write("two\n", to: "mnt/work/a") }
            #expect(try store.recipientKeyIDs(of: "a").count == 1)
            #expect(try home.passdir("recipients", "add", "work", "bob@example.org").exitCode == 1)
            let confirmed = try home.passdir("recipients", "confirm", "work", "--yes")
            #expect(confirmed.exitCode == 0 && confirmed.output.contains("+ cyd"))
            try home.waitUntil("the save goes through") {
                (try? home.write("three\n", to: "mnt/work/a")) != nil
            }
            #expect(try store.recipientKeyIDs(of: "a").count == 2)
            try home.waitUntil("status is quiet") {
                try !home.passdir("status").output.contains("recipients confirm")
            }
            try home.unmount()
        }
    }
}
