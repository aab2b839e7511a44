import Glibc
import SystemPackage
import TestKit
import Testing

/// Repositories that are around a store, or in it, and none of the store's: passdir never opens, commits, merges, fetches
/// or pushes them.
@Suite struct ForeignRepositoryTests {
    /// A repository of the user's that is no store: dirty, with an ignored file, and behind its remote.
    private struct Bystander {
        let home: TestHome
        let path: FilePath
        let remote: FilePath
        private let before: [String]

        init(_ home: TestHome, _ name: String) throws {
            self.home = home
            (path, remote) = (home.path(name), home.path(name.replacing("/", with: "-") + ".git"))
            try home.succeed(["git", "init", "-q", "--bare", "-b", "main", remote.string])
            try home.succeed(["git", "clone", "-q", remote.string, path.string])
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    git switch -qc main
                    echo '*.key' > .gitignore; echo 1 > code; git add .; git commit -qm One
                    git push -q -u origin main
                    git clone -q '\(remote)' '\(path).other'
                    (cd '\(path).other' && git config user.name O && git config user.email o@example.org \
                    && echo theirs > new && git add . && git commit -qm Two && git push -q)
                    rm -rf '\(path).other'
                    echo 2 > code; echo staged > staged; git add staged; echo loose > loose; echo private > a.key
                    """,
                ], in: path)
            before = try Self.state(home, path, remote)
        }

        private static func state(_ home: TestHome, _ path: FilePath, _ remote: FilePath) throws -> [String] {
            try [
                (["git", "rev-parse", "HEAD"], path), (["git", "for-each-ref"], path),
                (["git", "ls-files", "-s"], path),
                (["git", "for-each-ref"], remote), (["sh", "-c", "find .git -type f | LC_ALL=C sort"], path),
            ].map { words, place in
                String(
                    decoding: try home.succeed(words, in: place, extra: ["GIT_OPTIONAL_LOCKS": "0"]),
                    as: UTF8.self)
            }
        }

        /// What changed in it or its remote; nothing when it was left alone.
        func changes() throws -> [String] {
            let after = try Self.state(home, path, remote)
            return zip(before, after).filter { $0 != $1 }.map { "\($0) became \($1)" }
        }
    }

    private func use(_ home: TestHome, _ store: String) throws {
        let visible = home.mountPoint.appending(store)
        _ = try home.run(["sh", "-c", "cat \"$0\"/known; echo new > \"$0\"/new", visible.string])
        _ = try home.passdir("sync", store)
    }

    /// A dotfiles repository with the store in it, as a folder that has no repository of its own.
    ///
    /// Holds:
    /// - A repository around a store, or a source tree inside it, is never committed, merged, fetched or
    ///   pushed.
    @Test(.slow, arguments: [false, true]) func aStoreInADotfilesRepository(_ viaLink: Bool) throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let bystander = try Bystander(home, "dotfiles")
            let store = try home.makeStore("dotfiles/work", recipients: [key], git: false)
            try store.insert("known", "1\n")
            if viaLink {
                try home.succeed(["ln", "-s", store.path.string, home.path("work").string])
            }
            let path = viaLink ? home.path("work").string : store.path.string
            try home.succeed(["passdir", "store", "add", "work", "--path", path])
            try home.mount()
            try use(home, "work")
            let status = try home.passdir("status").output
            #expect(status.contains("is inside the repository \(bystander.path)"), "\(status)")
            let report = try home.passdir("status", "--json").output
            #expect(report.contains("\"notes\":[\"the store is inside the repository"), "\(report)")
            #expect(try home.passdir("log", "work").exitCode != 0)
            try home.unmount()
            #expect(try bystander.changes() == [])
            #expect(try store.show("new") == Array("new\n".utf8))
        }
    }

    /// The store has a repository of its own in a folder of another one: its own is committed to and pushed.
    @Test func aStoreWhoseParentIsARepository() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let bystander = try Bystander(home, "source")
            let store = try home.makeStore("source/work", recipients: [key], remote: true)
            try store.insert("known", "1\n")
            try home.succeed(["passdir", "store", "add", "work", "--path", store.path.string])
            try home.mount()
            try use(home, "work")
            try home.unmount()
            #expect(try bystander.changes() == [])
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
        }
    }

    /// Source trees inside a store, of which one has a keyring that looks like a secret by its name.
    @Test(.slow) func sourceTreesInAStore() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try store.insert("known", "1\n")
            let plain = try Bystander(home, "work/src")
            let keyring = try Bystander(home, "work/deep/debian")
            try home.succeed([
                "sh", "-c", "gpg --export > work/deep/debian/signing.gpg; : > work/src/empty.gpg",
            ])
            try home.succeed(["passdir", "store", "add", "work", "--path", store.path.string])
            try home.mount()
            try use(home, "work")
            try home.unmount()
            #expect(try plain.changes() == [])
            #expect(try keyring.changes() == [])
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
        }
    }

    /// The configuration is edited by hand: what `store add` would refuse is not opened.
    @Test(.slow, arguments: ["projects", "projects/app"]) func aSourceTreeByHand(_ name: String) throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            try home.succeed(["mkdir", "projects"])
            let bystander = try Bystander(home, "projects/app")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try store.insert("known", "1\n")
            try home.succeed(["cp", "work/known.gpg", "projects/app/known.gpg"])
            try home.addStores([store])
            let section = "\n[store \"source\"]\n\tpath = \(home.path(name))\n"
            try home.succeed(["sh", "-c", "printf '%s' \"$1\" >> config/passdir/config", "sh", section])
            try home.mount()
            try use(home, "source")
            try use(home, "work")
            if name == "projects/app" {
                let status = try home.passdir("status").output
                #expect(status.contains("is left alone because it has no .gpg-id at its top"), "\(status)")
            }
            try home.unmount(discardUnsaved: true)
            #expect(try bystander.changes() == [])
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
        }
    }

    /// Where no store may be: `store add` says why and changes nothing.
    ///
    /// Holds:
    /// - Your home folder, temporary and system folders and those of other users are never a store.
    @Test(
        arguments: sampled([
            ("/etc", ["a system folder"]), ("/", ["the root of the file system"]),
            ("/usr", ["a system folder"]),
            ("/tmp", ["temporary files"]), ("/var/tmp", ["temporary files"]),
            ("/dev/shm", ["temporary files"]),
            ("/proc/self", ["a kernel file system"]), ("/home", ["a system folder"]),
            ("HOME", ["is your home folder"]), ("HOME/.", ["is your home folder"]),
            ("HOME/link", ["is your home folder"]),
            ("HOME/run", ["the runtime folder"]), ("HOME/gnupg", ["GnuPG"]),
            ("HOME/tmp", ["temporary files"]),
            ("HOME/nobodys", ["belongs to another user"]), ("HOME/projects", ["no .gpg-id", "--init"]),
            ("HOME/projects/app", ["no .gpg-id", "--init"]), ("HOME/marked-by-link", ["no .gpg-id"]),
            ("HOME/absent", ["does not exist"]),
        ])) func placesThatAreNoStore(_ place: String, _ words: [String]) throws
    {
        try TestHome.with { home in
            let path = place.replacing("HOME", with: home.folder.string)
            let bystander = try Bystander(home, "projects/app")
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    ln -s . link; mkdir tmp nobodys marked-by-link; ln -s /etc/hostname marked-by-link/.gpg-id
                    chown 65534 nobodys 2>/dev/null || ln -sfn /root nobodys
                    """,
                ])
            // Only in the home may a regression of ours write something.
            for extra in place.hasPrefix("HOME/") ? [[], ["--init"]] : [[]] {
                let isMade = ["projects", "marked", "absent"].contains { place.contains($0) }
                if extra == ["--init"], isMade { continue }
                let result = try home.run(
                    ["passdir", "store", "add", "mine", "--path", path] + extra,
                    extra: ["TMPDIR": home.path("tmp").string])
                #expect(result.exitCode != 0, "\(extra)")
                for word in words { #expect(result.errors.contains(word), "\(result.errors)") }
                #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            }
            #expect(access(home.path("config/passdir/config").string, F_OK) != 0)
            #expect(access(path + "/.gpg-id", F_OK) != 0 || place == "HOME/marked-by-link")
            #expect(try bystander.changes() == [])
        }
    }

    /// The same places in a configuration that was edited by hand: that store fails with a sentence, the others go on.
    @Test(.slow, arguments: ["/tmp", "/", "/etc", "HOME", "HOME/run"]) func placesThatAreNoStoreByHand(
        _ place: String
    ) throws {
        try TestHome.with { home in
            let path = place.replacing("HOME", with: home.folder.string)
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("known", "1\n")
            try home.addStores([store])
            let section = "\n[store \"odd\"]\n\tpath = \(path)\n"
            try home.succeed(["sh", "-c", "printf '%s' \"$1\" >> config/passdir/config", "sh", section])
            try home.mount()
            let status = try home.passdir("status").output
            #expect(status.contains("the store \"odd\" in \(path) cannot be opened: it "), "\(status)")
            #expect(access(home.mountPoint.pushing("odd").string, F_OK) != 0)
            try use(home, "work")
            // Commands that destroy are tried on a folder of the test's own only.
            let url = home.path("work.git").string
            let others = [
                ["recipients", "set", "odd", "one@example.org", "--yes"], ["keys", "export", "odd"],
                ["store", "reclone", "odd", "--url", url, "--yes", "--force"],
                ["store", "remove", "odd", "--purge", "--force", "--yes"],
            ]
            for words in [["log", "odd"], ["keys", "odd"]] + (place == "HOME/run" ? others : []) {
                let result = try home.run(["passdir"] + words)
                #expect(result.exitCode != 0, "\(words)")
                #expect(result.errors.contains(path), "\(words): \(result.errors)")
            }
            #expect(try home.passdir("keys").exitCode == 0)
            // What looks at all stores names the one that it cannot look at.
            for words in ["log", "list"] {
                let result = try home.passdir(words)
                #expect(result.exitCode == 1 && result.errors.contains(path), "\(words): \(result)")
                #expect(!result.output.contains("odd/"), "\(words)")
            }
            try home.unmount()
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
        }
    }

    /// `PASSWORD_STORE_DIR` and pass's own place are held to the same.
    @Test func theImplicitStoreIsHeldToTheSame() throws {
        try TestHome.with { home in
            _ = try home.makeKey("one@example.org")
            let bystander = try Bystander(home, ".password-store")
            try home.mount()
            try use(home, "default")
            // Nobody says whom to encrypt to.
            try home.unmount(discardUnsaved: true)
            #expect(try bystander.changes() == [])
            let result = try home.passdir(
                "mount", home.mountPoint.string, extra: ["PASSWORD_STORE_DIR": home.folder.string])
            #expect(
                result.exitCode != 0 && result.errors.contains("it is your home folder"), "\(result.errors)")
        }
    }

    @Test func initMakesAStoreAsPassWould() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            try home.succeed(["git", "init", "-q", "-b", "main", "fresh"])
            var result = try home.passdir("store", "add", "fresh", "--path", "fresh", "--init")
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.text(of: "fresh/.gpg-id") == key.fingerprint + "\n")
            var facts = stat()
            #expect(stat(home.path("fresh/.gpg-id").string, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
            let logged = try home.succeed(
                ["git", "log", "--format=%s", "--name-only"], in: home.path("fresh"))
            #expect(
                String(decoding: logged, as: UTF8.self) == "Set GPG id to \(key.fingerprint).\n\n.gpg-id\n")
            // Again, it is a store already; of another folder several keys leave the choice open.
            result = try home.passdir("store", "add", "again", "--path", "fresh", "--init")
            #expect(result.exitCode != 0 && result.errors.contains("overlap"), "\(result.errors)")
            let other = try home.makeKey("two@example.org")
            try home.succeed(["mkdir", "plain"])
            result = try home.passdir("store", "add", "plain", "--path", "plain", "--init")
            #expect(result.exitCode != 0 && result.errors.contains("--recipient"), "\(result.errors)")
            result = try home.passdir(
                "store", "add", "plain", "--path", "plain", "--init", "--recipient", "nobody@example.org")
            #expect(result.exitCode != 0 && result.errors.contains("nobody@example.org"), "\(result.errors)")
            #expect(access(home.path("plain/.gpg-id").string, F_OK) != 0)
            result = try home.passdir(
                "store", "add", "plain", "--path", "plain", "--init", "--recipient", other.fingerprint,
                "--recipient", key.fingerprint)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.text(of: "plain/.gpg-id") == other.fingerprint + "\n" + key.fingerprint + "\n")
            result = try home.passdir("store", "add", "x", "--path", "plain", "--recipient", "y")
            #expect(result.exitCode == 64, "\(result.errors)")
        }
    }
}
