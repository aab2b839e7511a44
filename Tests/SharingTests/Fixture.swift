import Glibc
import SystemPackage
import TestKit

/// A home where Ann works, and one for Bob and one for Cyd: each with just the own secret key, all with all public
/// keys.
struct Fixture {
    let home: TestHome
    let ann: TestKey
    let bob: TestKey
    let cyd: TestKey

    init(_ home: TestHome) throws {
        self.home = home
        ann = try home.makeKey("ann@example.org")
        bob = try home.makeKey("bob@example.org")
        cyd = try home.makeKey("cyd@example.org")
        for key in [ann, bob, cyd] {
            try home.succeed(["mkdir", "-m", "700", homeFolder(of: key).string])
            try gpg(as: key, ["--import"], input: try home.succeed(["gpg", "--export"]))
            try gpg(
                as: key, ["--import"],
                input: try home.succeed(["gpg", "--export-secret-keys", key.fingerprint]))
        }
    }

    /// Ends the agents of the other homes.
    func end() {
        for key in [ann, bob, cyd] {
            _ = try? home.run(["gpgconf", "--kill", "all"], extra: ["GNUPGHOME": homeFolder(of: key).string])
        }
    }

    static func with(_ body: (Fixture) throws -> Void) throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            defer { fixture.end() }
            try body(fixture)
        }
    }

    /// The GnuPG home of somebody who has just this secret key.
    func homeFolder(of key: TestKey) -> FilePath {
        home.path("only-" + key.address.prefix { $0 != "@" })
    }

    @discardableResult
    func gpg(as key: TestKey, _ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        try home.succeed(
            ["gpg", "--batch", "--quiet", "--trust-model", "always"] + arguments, input: input,
            extra: ["GNUPGHOME": homeFolder(of: key).string])
    }

    /// What somebody with just this key reads in a file; nil when it cannot be decrypted.
    func read(_ file: FilePath, as key: TestKey) throws -> String? {
        let result = try home.run(
            ["gpg", "--batch", "--quiet", "-d", file.string], extra: ["GNUPGHOME": homeFolder(of: key).string]
        )
        return result.exitCode == 0 ? result.output : nil
    }

    /// Makes many secrets in a store quickly: a few are encrypted, the others are copies.
    func fill(_ store: TestStore, folders: [String], count: Int, for key: TestKey) throws {
        for kind in 0..<5 {
            try home.succeed(
                [
                    "gpg", "--batch", "--quiet", "--trust-model", "always", "--compress-algo=none", "-e",
                    "-r",
                    key.fingerprint, "-o", home.path("kind-\(kind)").string,
                ], input: Array("secret of kind \(kind)\n".utf8))
        }
        var script = "cd '\(store.path)'\n"
        for folder in folders { script += "mkdir -p '\(folder)'\n" }
        for number in 0..<count {
            script +=
                "cp '\(home.path("kind-\(number % 5)"))' '\(folders[number % folders.count])/s\(number).gpg'\n"
        }
        try home.succeed(["sh"], input: Array(script.utf8))
        _ = try? home.run(["sh", "-c", "rm -f kind-*"])
        try store.git("add", "-A")
        try store.git("commit", "--quiet", "-m", "Fill.")
    }

    /// `passdir recipients` with these words, in Ann's home or in the one that has all keys; must succeed.
    @discardableResult
    func recipients(_ words: String..., as key: TestKey? = nil) throws -> String {
        let extra = key.map { ["GNUPGHOME": homeFolder(of: $0).string] } ?? [:]
        return String(
            decoding: try home.succeed(
                ["passdir", "recipients"] + words, extra: extra, limit: .seconds(300)),
            as: UTF8.self)
    }

    /// The sorted key ids of every secret of a store, by path: as gpg lists the packets.
    func packets(_ store: TestStore) throws -> [String: [String]] {
        let list = try home.succeed(
            [
                "sh", "-c",
                """
                find . -name .git -prune -o -name .passdir-reencrypt -prune -o -name '*.gpg' -type f -print | LC_ALL=C sort | while read -r file; do
                  echo "$file" $(gpg --batch --list-packets --list-only "$file" 2>/dev/null | sed -n 's/^:pubkey enc packet:.* keyid //p' | LC_ALL=C sort)
                done
                """,
            ], in: store.path, limit: .seconds(300))
        var found: [String: [String]] = [:]
        for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            found[words[0]] = Array(words.dropFirst())
        }
        return found
    }
}

extension TestHome {
    /// The journal of the change of recipients that is under way on this machine; nil when there is none.
    var changeJournal: FilePath? {
        let folder = path("data/passdir/changes")
        guard let stream = opendir(folder.string) else { return nil }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let journal = folder.appending(name).appending("journal")
            if !name.hasPrefix("."), access(journal.string, F_OK) == 0 { return journal }
        }
        return nil
    }
}
