import SystemPackage
import TestKit
import Testing

/// Mal has bound Ann's subkey for encryption to a key of his own, beside one that only he has: gpg lists it among Ann's secret
/// keys, as gpg-agent has one of the secret parts. It is none of hers.
@Suite struct BorrowedSubkeyTests {
    /// Ann's store, of which nothing is recorded, with these lines in its list.
    /// - Parameter body: gets the file with the public part of Mal's key.
    private static func with(
        _ lines: String, expires: String = "never", _ body: (SharedStore, _ mal: FilePath) throws -> Void
    ) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.succeed(["mkdir", "-m", "700", "forge"])
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    gpg --batch --export-secret-keys \(shared.ann.fingerprint) >own
                    export GNUPGHOME="$PWD/forge"
                    gpg --batch --quiet --import own
                    # Bound in the second in which Ann's was made it would be her subkey itself.
                    gpg() { command gpg --faked-system-time 20200101T000000! "$@"; }
                    gpg --batch --quiet --passphrase '' --quick-gen-key mal@example.org ed25519 cert never
                    mal=$(gpg --batch --with-colons --list-keys mal@example.org | awk -F: '/^fpr/ { print $10; exit }')
                    grip=$(gpg --batch --with-colons --with-keygrip --list-keys \(shared.ann.fingerprint) |
                        awk -F: '/^sub/ { isSub = 1 } isSub && /^grp/ { print $10; exit }')
                    printf 'addkey\\n13\\n%s\\nQ\\n0\\nsave\\n' "$grip" |
                        gpg --no-tty --quiet --expert --command-fd 0 --pinentry-mode loopback --passphrase '' --edit-key "$mal"
                    unset -f gpg
                    gpg --batch --quiet --passphrase '' --quick-add-key "$mal" cv25519 encr never
                    [ \(expires) = never ] || gpg --batch --quiet --passphrase '' --quick-set-expire "$mal" \(expires)
                    gpg --batch --export "$mal" >mal.pub
                    gpgconf --kill all
                    rm own
                    """,
                ])
            try home.write(lines, to: "work/.gpg-id")
            try shared.store.git("commit", "--quiet", "--all", "--allow-empty", "--message", "For these.")
            try shared.store.git("push", "--quiet")
            try home.succeed(["sh", "-c", "rm -rf data/passdir/recipients state/passdir/agreed"])
            try body(shared, home.path("mal.pub"))
        }
    }

    /// Holds:
    /// - A key is yours only where the secret part of all that is encrypted to is here: who binds a subkey of yours to a key of his own
    ///   is asked about as anybody else, and does not stand for you in a list.
    @Test(.slow) func itIsAskedAboutLikeAnybodyElses() throws {
        try Self.with("ann@example.org\nmal@example.org\n") { shared, mal in
            _ = try shared.run(["status"])
            try shared.home.succeed(["gpg", "--batch", "--quiet", "--import", mal.string])
            // gpg itself takes it for one of hers.
            try shared.home.succeed(["gpg", "--batch", "--list-secret-keys", "mal@example.org"])
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(saved.exitCode != 0 && saved.errors.contains("mal@example.org"), "\(saved)")
            let asked = try shared.run(["recipients", "confirm", "work"])
            #expect(asked.output.contains("+ mal"), "\(asked)")
            let named = try shared.run(["recipients", "show", "work"]).output.split(separator: "\n")
            #expect(named.contains { $0.contains("mal@") && !$0.contains("yours") }, "\(named)")
        }
    }

    @Test func itDoesNotStandForHers() throws {
        try Self.with("ann@example.org\n") { shared, mal in
            try shared.home.succeed(["gpg", "--batch", "--quiet", "--import", mal.string])
            try shared.succeed(["recipients", "add", "work", "mal@example.org", "--yes"])
            try shared.push("sed -i /ann/d .gpg-id")
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(
                saved.exitCode != 0 && saved.errors.contains("no longer names a key of yours"), "\(saved)")
            let set = try shared.run(["recipients", "set", "work", "mal@example.org", "--yes"])
            #expect(set.exitCode != 0 && set.errors.contains("--lock-me-out"), "\(set)")
        }
    }

    /// It is not hers to renew.
    @Test(.slow) func anExpiredOneIsNotCalledHersToRenew() throws {
        try Self.with("ann@example.org\nmal@example.org\n", expires: "seconds=1") { shared, mal in
            try shared.home.succeed(["gpg", "--batch", "--quiet", "--import", mal.string])
            try shared.home.waitUntil("it has expired") {
                try shared.home.run(["gpg", "--batch", "--with-colons", "--list-keys", "mal@example.org"])
                    .output
                    .contains("pub:e:")
            }
            let saved = try shared.run(["insert", "work/new"], input: "new\n")
            #expect(saved.exitCode != 0 && saved.errors.contains("recipients remove work"), "\(saved)")
            #expect(!saved.errors.contains("quick-set-expire"), "\(saved)")
        }
    }
}
