import Glibc
import SystemPackage
import TestKit
import Testing

/// What a setting of a store says is what happens.
@Suite struct StoreSettingsTests {
    @Test(
        arguments: sampled([
            ("url", "https://h.example/x.git", "passdir store reclone work --url"),
            ("URL", "/srv/x.git", "passdir store reclone work --url"),
            ("remote", "other", "passdir store reclone work --url"),
            ("branch", "other", "passdir store reclone work --branch"),
            ("path", "/tmp", "passdir store add work --path"),
            ("Path", "", "passdir store remove work"),
            ("id", "00000000-0000-4000-8000-000000000000", "passdir store add"),
        ])) func whatLiesOnDiskIsNotSet(_ key: String, _ value: String, _ command: String) throws
    {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try home.addStores([store])
            let before = try home.text(of: "config/passdir/config")
            let result = try home.run(
                ["passdir", "store", "set", "work", key] + (value.isEmpty ? [] : [value]))
            #expect(result.exitCode != 0 && result.errors.contains(command), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            #expect(try home.text(of: "config/passdir/config") == before)
            #expect(try home.passdir("store", "set", "work", "readOnly", "true").exitCode == 0)
        }
    }

    /// Where the configuration, edited by hand, and the repository disagree, the repository's word holds and `status` says so.
    @Test func whatTheRepositorySaysHolds() throws {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try home.addStores([store])
            let file = home.path("config/passdir/config").string
            try home.succeed(["git", "config", "-f", file, "store.work.url", "https://h.example/x.git"])
            try home.succeed(["git", "config", "-f", file, "store.work.branch", "other"])
            try home.mount()
            try home.succeed(["sh", "-c", "echo 1 > mnt/work/new"])
            _ = try home.passdir("sync", "work")
            let status = try home.passdir("status").output
            #expect(
                status.contains("the configuration names the remote https://h.example/x.git"), "\(status)")
            #expect(status.contains("the configuration names the branch other"), "\(status)")
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
            try home.succeed(["git", "config", "-f", file, "store.work.url", home.path("work.git").string])
            try home.succeed(["git", "config", "-f", file, "store.work.branch", "main"])
            try home.waitUntil("the configuration is followed") {
                _ = try home.passdir("sync", "work")
                return try !home.passdir("status").output.contains("the configuration names")
            }
            try home.unmount()
        }
    }

    /// A store with a GnuPG home of its own: nothing of it is looked for in, or goes into, the user's other one.
    ///
    /// Holds:
    /// - A store with a keyring of its own uses that keyring only.
    @Test(.slow) func aStoresKeyringIsUsedEverywhere() throws {
        try TestHome.with { home in
            let mine = try home.makeKey("mine@example.org")
            let team = home.path("team-gnupg")
            try home.succeed(["mkdir", "-m", "700", team.string])
            let there = ["GNUPGHOME": team.string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: there) }
            try home.succeed(
                [
                    "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "",
                    "--quick-generate-key", "Team <team@example.org>", "default", "default", "never",
                ], extra: there)
            let listed = try home.succeed(["gpg", "--with-colons", "--list-secret-keys"], extra: there)
            let fingerprint = String(
                String(decoding: listed, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("fpr") }!
                    .split(separator: ":").last!)
            try home.succeed(["git", "init", "-q", "-b", "main", "team"])
            // The only secret key is that of the store's keyring, and its commits are signed by it.
            var result = try home.passdir(
                "store", "add", "team", "--path", "team", "--init", "--keyring", team.string)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.text(of: "team/.gpg-id") == fingerprint + "\n")
            #expect(try home.text(of: "config/passdir/config").contains("keyring = \(team)"))
            try home.mount()
            try home.succeed(["sh", "-c", "echo 1 > mnt/team/secret"])
            #expect(try home.text(of: "mnt/team/secret") == "1\n")
            try home.waitUntil("it is committed") {
                try home.run(["git", "show", "HEAD:secret.gpg"], in: home.path("team")).exitCode == 0
            }
            // A clone is checked with the keyring that it is for.
            for (name, arguments, isReadable) in [
                ("plain", [], false), ("keyed", ["--keyring", team.string], true),
            ] {
                result = try home.run(
                    ["passdir", "store", "add", name, "--url", home.path("team").string] + arguments)
                #expect(result.exitCode == 0, "\(result.errors)")
                #expect(
                    result.errors.contains("none of your keys decrypts its secrets") == !isReadable,
                    "\(result.errors)")
            }
            #expect(try home.text(of: "mnt/keyed/secret") == "1\n")
            #expect(try home.run(["cat", home.mountPoint.pushing("plain/secret").string]).exitCode != 0)
            // Keys go where the store looks for them, and are known there.
            let cyd = try home.makeKey("cyd@example.org")
            try home.succeed(["sh", "-c", "gpg --export \"$1\" > cyd.asc", "sh", cyd.fingerprint])
            func has(_ key: TestKey) throws -> Bool {
                try home.run(["gpg", "--list-keys", key.fingerprint], extra: there).exitCode == 0
            }
            result = try home.passdir("keys", "import", home.path("cyd.asc").string, "--dry-run")
            #expect(result.output.contains("known"), "\(result.output)")
            result = try home.passdir(
                "keys", "import", home.path("cyd.asc").string, "--store", "team", "--dry-run")
            #expect(result.output.contains("new") && !result.output.contains("known"), "\(result.output)")
            #expect(try home.passdir("recipients", "add", "team", cyd.fingerprint, "--yes").exitCode != 0)
            result = try home.passdir(
                "keys", "import", home.path("cyd.asc").string, "--store", "team", "--yes")
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try has(cyd))
            #expect(try !has(mine))
            result = try home.passdir("recipients", "add", "team", cyd.fingerprint, "--yes")
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.passdir("keys", "team").output.contains("yours"))
            // A store's own .public-keys go into its keyring.
            try home.succeed([
                "sh", "-c", "mkdir -p team/.public-keys; gpg --export \"$1\" > team/.public-keys/mine", "sh",
                mine.fingerprint,
            ])
            result = try home.passdir("keys", "import", "team", "--yes")
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try has(mine))
            try home.unmount()
        }
    }
}
