import Glibc
import SystemPackage
import TestKit
import Testing

/// What an older passdir kept is taken over: a configuration whose stores have no id, and a database that files what it
/// learned under their folders.
@Suite struct OlderStateTests {
    /// Writes both as passdir wrote them before stores had ids.
    private func setUp(_ home: TestHome) throws -> (one: TestStore, two: TestStore) {
        let key = try home.makeKey("a@example.org")
        let one = try home.makeStore("one", recipients: [key], remote: true)
        let two = try home.makeStore("two", recipients: [key])
        try home.succeed(["mkdir", "-p", "config/passdir", "state/passdir"], in: home.folder)
        try home.write(
            """
            # written by hand
            [store "one"]
            \tpath = \(one.path) ; the first
            [store "two"]
            \tpath = \(two.path)

            """, to: "config/passdir/config")
        let program = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.executescript('''
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('sizes of secrets, state of stores');
                CREATE TABLE plaintextSize (
                    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
                    modified INTEGER NOT NULL, changed INTEGER NOT NULL,
                    plaintext INTEGER NOT NULL, store TEXT NOT NULL,
                    PRIMARY KEY (device, inode)
                ) WITHOUT ROWID;
                CREATE TABLE storeState (
                    store TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
                    PRIMARY KEY (store, name)
                ) WITHOUT ROWID;
            ''')
            for number, folder in enumerate(sys.argv[2:]):
                db.execute("INSERT INTO storeState VALUES (?, 'lastPush', ?)", ("path:" + folder, str(1700000000 + number)))
                db.execute("INSERT INTO plaintextSize VALUES (1, ?, 3, 4, 5, 6, ?)", (number, "path:" + folder))
            db.commit()
            """
        try home.succeed([
            "python3", "-c", program, home.path("state/passdir/state.sqlite").string, one.path.string,
            two.path.string,
        ])
        return (one, two)
    }

    /// All rows of the database that belong to stores, but for those of a fetch, which a mount may do.
    private func rows(_ home: TestHome) throws -> String {
        let program = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            query = "SELECT store, name, value FROM storeState WHERE name NOT IN ('lastFetch', 'remote')"
            for row in db.execute(query + " UNION ALL SELECT store, 'size', inode FROM plaintextSize ORDER BY 2, 3"):
                print(*row)
            """
        let file = home.path("state/passdir/state.sqlite").string
        return String(decoding: try home.succeed(["python3", "-c", program, file]), as: UTF8.self)
    }

    private func id(_ home: TestHome, _ store: String) throws -> String {
        let words = ["git", "config", "-f", "config/passdir/config", "store.\(store).id"]
        return String(decoding: try home.succeed(words, in: home.folder).dropLast(), as: UTF8.self)
    }

    private func expected(_ home: TestHome) throws -> String {
        let (one, two) = (try id(home, "one"), try id(home, "two"))
        return """
            \(one) lastPush 1700000000
            \(two) lastPush 1700000001
            \(one) size 0
            \(two) size 1

            """
    }

    private func check(_ home: TestHome) throws {
        let rows = try rows(home)
        #expect(try rows == expected(home), "\(rows)")
    }

    /// The sweep at the start of a mount.
    @Test func aMountTakesItOverOnce() throws {
        try TestHome.with { home in
            _ = try setUp(home)
            try home.mount()
            #expect(
                try home.passdir("status", "--json").output.contains(#""lastPush":"2023-11-14T22:13:20Z""#))
            try home.unmount()
            try check(home)
            let text = try home.text(of: "config/passdir/config")
            #expect(text.hasPrefix("# written by hand\n[store \"one\"]\n") && text.contains("; the first\n"))
            #expect(text.split(separator: "\n").count { $0.contains("id = ") } == 2)
            // Nothing is left to do.
            try home.mount()
            try home.unmount()
            #expect(try home.text(of: "config/passdir/config") == text)
            try check(home)
        }
    }

    /// Without a mount, by the first command that needs an id.
    @Test func aCommandTakesItOver() throws {
        try TestHome.with { home in
            _ = try setUp(home)
            // A look changes nothing.
            #expect(try home.passdir("store", "list").exitCode == 0)
            #expect(!(try home.text(of: "config/passdir/config").contains("id = ")))
            try home.succeed(["passdir", "credential", "set", "one"], input: [65, 66])
            try check(home)
            let text = try home.text(of: "config/passdir/config")
            try home.succeed(["passdir", "credential", "set", "two"], input: [65, 66])
            #expect(try home.text(of: "config/passdir/config") == text)
        }
    }

    /// Credentials and what was learned, of stores that share a key, a server and a folder above them.
    @Test func removingAStoreLeavesTheOthers() throws {
        try TestHome.with { home in
            let (one, two) = try setUp(home)
            let shared = "https://ann@git.example.org/team"
            for store in [one, two] {
                try store.git("config", "remote.origin.url", shared)
                try home.succeed(
                    ["passdir", "credential", "set", store.path.lastComponent!.string], input: [65])
            }
            try home.succeed(
                ["passdir", "credential", "set", "two", "--kind", "ssh-passphrase"], input: [66])
            let (gone, stays) = (try id(home, "one"), try id(home, "two"))
            let keys = try home.succeed(["gpg", "--list-keys", "--with-colons"])
            let secretKeys = try home.succeed(["gpg", "--list-secret-keys", "--with-colons"])
            try home.succeed(["passdir", "store", "remove", "one", "--yes"])
            let files = String(
                decoding: try home.succeed(["ls", "data/passdir/credentials"], in: home.folder), as: UTF8.self
            )
            #expect(files == "\(stays).password.gpg\n\(stays).ssh-passphrase.gpg\n")
            #expect(try !rows(home).contains(gone))
            #expect(try rows(home) == "\(stays) lastPush 1700000001\n\(stays) size 1\n")
            #expect(try home.passdir("credential", "list").output.contains("two    ssh-passphrase"))
            // The keyring is the user's; both stores' secrets are encrypted to a key in it.
            #expect(try home.succeed(["gpg", "--list-keys", "--with-colons"]) == keys)
            #expect(try home.succeed(["gpg", "--list-secret-keys", "--with-colons"]) == secretKeys)
            try two.insert("a", "one")
            #expect(try two.show("a") == Array("one".utf8))
        }
    }
}
