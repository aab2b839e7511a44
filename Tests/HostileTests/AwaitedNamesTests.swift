import Glibc
import SystemPackage
import TestKit
import Testing

/// A store that was first used with a wrong GNUPGHOME, or before its user's key was imported: who is in its lists is agreed to
/// once it is known, and nobody that came later.
@Suite struct AwaitedNamesTests {
    /// Ann's store, of which nothing is recorded, for Ann and Bob by their addresses.
    private static func with(_ body: (SharedStore) throws -> Void) throws {
        try SharedStore.with { shared in
            try shared.home.write("ann@example.org\nbob@example.org\n", to: "work/.gpg-id")
            try shared.store.git("commit", "--quiet", "--all", "--message", "For Bob.")
            try shared.store.git("push", "--quiet")
            try shared.home.succeed(["sh", "-c", "rm -r data/passdir/recipients state/passdir/agreed"])
            try body(shared)
        }
    }

    /// Looks at the store with a home that has no key.
    private static func look(_ shared: SharedStore, home: String = "elsewhere") throws {
        let wrong = shared.home.path(home).string
        let told = try shared.home.run(
            ["passdir", "recipients", "show", "work"], extra: ["GNUPGHOME": wrong])
        #expect(told.output.contains("there is no key for ann@example.org"), "\(told)")
        _ = try shared.home.run(["passdir", "status"], extra: ["GNUPGHOME": wrong])
        _ = try shared.home.run(["gpgconf", "--kill", "all"], extra: ["GNUPGHOME": wrong])
    }

    private static func exported(_ key: TestKey, _ shared: SharedStore) throws -> [UInt8] {
        try shared.home.succeed(["gpg", "--batch", "--armor", "--export", key.fingerprint])
    }

    @Test(.slow, arguments: sampled(["missing", "empty", "save first", "twice"]))
    func whoWasThereFromTheStartIsAgreedToWithTheRightHome(_ way: String) throws {
        try Self.with { shared in
            if way != "missing" { try shared.home.succeed(["mkdir", "-m", "700", "elsewhere"]) }
            try Self.look(shared)
            if way == "twice" { try Self.look(shared, home: "nowhere") }
            if way != "save first" {
                #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            }
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(saved.exitCode == 0, "\(saved)")
            let status = try shared.run(["status"]).output
            #expect(!status.contains("approved"), "\(status)")
            #expect(try shared.secrets(for: shared.bob) == ["./new.gpg"])
        }
    }

    /// Holds:
    /// - Who is added to a list before anybody it names could be found is asked about, and so is a key that comes after a name was looked
    ///   for in vain, unless it is yours.
    @Test(.slow) func whoCameBeforeTheRightHomeIsAskedAbout() throws {
        try Self.with { shared in
            try Self.look(shared)
            try shared.push("echo eve@example.org >>.gpg-id")
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(saved.exitCode != 0 && saved.errors.contains("eve@example.org"), "\(saved)")
            let asked = try shared.run(["recipients", "confirm", "work"])
            #expect(asked.output.contains("+ eve") && !asked.output.contains("+ bob"), "\(asked)")
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    @Test func whoWasTakenOutBeforeTheRightHomeIsTold() throws {
        try Self.with { shared in
            try Self.look(shared)
            try shared.push("sed -i /ann/d .gpg-id")
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(
                saved.exitCode != 0 && saved.errors.contains("no longer names a key of yours"), "\(saved)")
            let asked = try shared.run(["recipients", "confirm", "work"])
            #expect(asked.output.contains("- ann") && !asked.output.contains("+ bob"), "\(asked)")
        }
    }

    /// Holds:
    /// - Who is added to a list before anybody it names could be found is asked about, and so is a key that comes after a name was looked
    ///   for in vain, unless it is yours.
    @Test(.slow) func aKeyThatComesToANameInTheSameHomeIsAskedAboutUnlessItIsOwn() throws {
        try Self.with { shared in
            let home = shared.home
            let theirs = try Self.exported(shared.bob, shared)
            let own = try home.succeed(["gpg", "--batch", "--export-secret-keys", shared.ann.fingerprint])
            try home.succeed(["mkdir", "-m", "700", "elsewhere"])
            let new = ["GNUPGHOME": home.path("elsewhere").string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: new) }
            try Self.look(shared)
            try home.succeed(["passdir", "keys", "import", "-", "--yes"], input: theirs, extra: new)
            try home.succeed(["gpg", "--batch", "--quiet", "--import"], input: own, extra: new)
            let asked = try home.run(["passdir", "recipients", "confirm", "work"], extra: new)
            #expect(asked.output.contains("+ bob") && !asked.output.contains("+ ann"), "\(asked)")
            let saved = try home.run(
                ["passdir", "insert", "work/new"], input: Array("new\n".utf8), extra: new)
            #expect(saved.exitCode != 0 && saved.errors.contains("bob@example.org"), "\(saved)")
            try home.succeed(["passdir", "recipients", "confirm", "work", "--yes"], extra: new)
            try home.succeed(["passdir", "insert", "work/new"], input: Array("new\n".utf8), extra: new)
        }
    }

    /// What the user changes counts: a name that was taken out is not missed.
    @Test(.slow) func aNameThatTheUserTakesOutIsNotMissed() throws {
        try Self.with { shared in
            let without = shared.home.path("only-ann")
            let extra = ["GNUPGHOME": without.string]
            let own = try shared.home.succeed(
                ["gpg", "--batch", "--export-secret-keys", shared.ann.fingerprint])
            try shared.home.succeed(["mkdir", "-m", "700", without.string])
            defer { _ = try? shared.home.run(["gpgconf", "--kill", "all"], extra: extra) }
            try shared.home.succeed(["gpg", "--batch", "--quiet", "--import"], input: own, extra: extra)
            try shared.home.succeed(
                ["passdir", "recipients", "remove", "work", "bob@example.org", "--yes"], extra: extra)
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            try shared.succeed(["recipients", "add", "work", "bob@example.org", "--yes"])
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
        }
    }

    /// Where her own key was found the home was the right one: who is missing there is asked about wherever the key comes.
    @Test func aKeyThatComesInAnotherHomeIsAskedAboutWhereTheFirstWasRight() throws {
        try Self.with { shared in
            let home = shared.home
            let theirs = try Self.exported(shared.bob, shared)
            let own = try home.succeed(["gpg", "--batch", "--export-secret-keys", shared.ann.fingerprint])
            try home.succeed(["gpg", "--batch", "--yes", "--delete-keys", shared.bob.fingerprint])
            _ = try shared.run(["status"])
            try home.succeed(["mkdir", "-m", "700", "elsewhere"])
            let new = ["GNUPGHOME": home.path("elsewhere").string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: new) }
            for key in [own, theirs] {
                try home.succeed(["gpg", "--batch", "--quiet", "--import"], input: key, extra: new)
            }
            let saved = try home.run(
                ["passdir", "insert", "work/new"], input: Array("new\n".utf8), extra: new)
            #expect(saved.exitCode != 0 && saved.errors.contains("bob@example.org"), "\(saved)")
        }
    }
}
