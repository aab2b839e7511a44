import Glibc
import SystemPackage
import TestKit
import Testing

/// Names that mean no key: why, where the keyring or what was typed is at fault.
@Suite struct MissingKeysTests {
    /// Nobody else renews it, and without it nobody would be left.
    @Test(.slow) func anExpiredKeyOfOnesOwnIsRenewed() throws {
        try TestHome.with { home in
            let own = try home.makeExpiredKey("own@example.org")
            try home.succeed(["mkdir", "work"])
            try home.write("\(own.fingerprint)\n", to: "work/.gpg-id")
            let added = try home.run(["passdir", "store", "add", "work", "--path", home.path("work").string])
            let renewal = "gpg --quick-set-expire \(own.fingerprint) 1y"
            #expect(added.exitCode == 0 && added.errors.contains(renewal), "\(added)")
            let saved = try home.run(["passdir", "insert", "work/x"], input: Array("x\n".utf8))
            #expect(saved.exitCode != 0 && saved.errors.contains(renewal), "\(saved)")
            #expect(!saved.errors.contains("recipients remove"), "\(saved)")
            try home.succeed(["sh", "-c", renewal])
            try home.succeed(["passdir", "insert", "work/x"], input: Array("x\n".utf8))
        }
    }

    @Test(.slow) func aHomeWithoutKeysIsNamed() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.write("a@example.org\n", to: "work/.gpg-id")
            let place = home.path("nowhere").string
            let extra = ["GNUPGHOME": place]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: extra) }
            for lack in ["is not there", "has no key"] {
                let told = try home.run(["passdir", "recipients", "show", "work"], extra: extra)
                #expect(
                    (told.output + told.errors).contains(
                        "no key for a@example.org in the keyring (\(place), which GNUPGHOME names, \(lack))"),
                    "\(told)")
                let shown = try home.run(["passdir", "show", "work/s"], extra: extra)
                #expect(shown.errors.contains("(\(place), which GNUPGHOME names, \(lack))"), "\(shown)")
                _ = try home.run(["mkdir", "-m", "700", place])
            }
            // One with keys is not to blame.
            let other = try home.passdir("recipients", "add", "work", "nobody@example.org")
            #expect(
                other.errors.contains("no key for nobody@example.org in the keyring: passdir keys"),
                "\(other)")
        }
    }

    @Test func aPartOfAnAddressIsCalledThat() throws {
        try TestHome.with { home in
            let own = try home.makeKey("ann@example.org")
            try home.addStores([try home.makeStore("work", recipients: [own])])
            let told = try home.passdir("recipients", "add", "work", "ann@example")
            #expect(
                told.errors.contains(
                    "there is no key for ann@example in the keyring; gpg finds ann <ann@example.org> (\(own.fingerprint)) by a "
                        + "part of its address: name the whole address, or the fingerprint"), "\(told)")
            #expect(told.exitCode == 1 && !told.errors.contains("import"), "\(told)")
        }
    }

    /// A store without git keeps no old versions.
    @Test(.slow) func aRemovalSpeaksOfTheHistoryOnlyWhereThereIsOne() throws {
        try TestHome.with { home in
            let (own, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            for hasGit in [false, true] {
                let name = hasGit ? "work" : "plain"
                let store = try home.makeStore(name, recipients: [own, other], git: hasGit)
                try store.insert("s", "text\n")
                try home.addStores([store])
                let told = try home.passdir("recipients", "remove", name, "b@example.org", "--dry-run")
                #expect(
                    told.output.contains("can still read") && told.output.contains("history") == hasGit,
                    "\(told)")
            }
        }
    }

    /// A clone of nothing has no list that somebody could be added to.
    @Test(.slow) func anEmptyCloneIsLedToItsFirstList() throws {
        try TestHome.with { home in
            let own = try home.makeKey("a@example.org")
            try home.succeed(["git", "init", "--quiet", "--bare", "bare.git"])
            try home.succeed(["passdir", "store", "add", "work", "--url", home.path("bare.git").string])
            let told = try home.passdir("recipients", "add", "work", "a@example.org", "--yes")
            #expect(
                told.exitCode == 1
                    && told.errors.contains("passdir recipients set work a@example.org writes one")
                    && !told.errors.contains("PASSWORD_STORE_DIR"), "\(told)")
            try home.succeed(["passdir", "recipients", "set", "work", "a@example.org", "--yes"])
            #expect(try home.passdir("recipients", "show", "work").output.contains(own.fingerprint))
        }
    }
}
