import Glibc
import Settings
import SystemPackage
import TestKit
import Testing

/// Everything that passdir keeps is declared, and told by `audit`.
@Suite struct AuditTests {
    /// Walks everything that passdir wrote in a full run; fails when one thing is not in the catalogue.
    @Test func everythingThatIsWrittenIsDeclared() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            let two = try home.makeStore("two", recipients: [key], remote: true)
            try one.insert("mail/imap", "one's")
            try two.insert("mail/imap", "two's")
            try two.git("push", "-q")
            let before = try files(home)
            let session = """
                set -e
                passdir store add one --path ~/one
                passdir store add cloned --url '\(two.remote?.string ?? "")'
                printf hush-hush | passdir credential set cloned --expires 2031-05-06
                printf hush-hush | passdir credential set one --kind ssh-passphrase
                passdir mount ~/mnt
                cat ~/mnt/*/mail/imap > /dev/null
                printf changed > ~/mnt/one/mail/imap
                printf changed > ~/mnt/cloned/new
                head -c 100000 /dev/zero | gpg --batch -qe -r a@example.org --compress-level 9 > ~/one/packed.gpg
                cat ~/mnt/one/packed > /dev/null
                for i in 1 2 3 4 5 6 7 8 9 10; do
                    passdir status | grep -q waiting || break; sleep 0.2
                done
                passdir store rename cloned copy
                find ~/run/passdir -mindepth 1
                passdir unmount
                passdir audit | sed 's/^/AUDIT /'
                \(Self.listKeyring)
                printf 'not ours' | secret-tool store --label stray xdg:schema org.passdir.Credential kind stray store x
                passdir audit | sed 's/^/STRAY /'
                ! passdir audit | grep -qE 'hush-hush|not ours'
                unset DBUS_SESSION_BUS_ADDRESS
                printf hush-hush | passdir credential set one --expires 2030-01-01
                """
            let result = try inSession(home, session)
            #expect(result.exitCode == 0, "\(result.errors)")
            let written = try files(home).subtracting(before).union(
                result.output.split(separator: "\n").filter {
                    $0.hasPrefix("/") && $0.contains("/run/passdir/")
                }.map {
                    String($0.dropFirst(home.folder.string.utf8.count + 1))
                })
            #expect(written.contains("config/passdir/config") && written.contains("run/passdir/control"))
            #expect(written.contains { $0.hasSuffix(".password.gpg") })
            for path in written {
                #expect(isDeclared(path, home), "\(path) is not in the catalogue")
            }
            try checkKeyring(result.output, home)
            try checkTables(home)
            try checkAudit(home, one: one)
            // A file that is not declared is found by the same walk, and told by audit.
            try home.write("?", to: "state/passdir/stray")
            #expect(!isDeclared("state/passdir/stray", home))
            #expect(
                try home.passdir("audit").output.contains(
                    "[not declared]\n\(home.path("state/passdir/stray"))"))
        }
    }

    /// Prints a line for each item of each collection of the Secret Service: `ITEM`, its label and its attributes.
    private static let listKeyring = """
        ask() {
            dbus-send --session --print-reply --dest=org.freedesktop.secrets "$1" \\
                org.freedesktop.DBus.Properties.Get string:org.freedesktop.Secret."$2" string:"$3"
        }
        for collection in $(ask /org/freedesktop/secrets Service Collections | grep -o '/org[^"]*'); do
            for item in $(ask $collection Collection Items | grep -o '/org[^"]*'); do
                echo "ITEM $(ask $item Item Label | grep -o '"[^"]*"')" \\
                    $(ask $item Item Attributes | grep -o 'string "[^"]*"' | cut -c8-)
            done
        done
        """

    /// Every item in the keyring is one that the catalogue declares, of a store that there is, and audit tells it.
    private func checkKeyring(_ output: String, _ home: TestHome) throws {
        let ids = try home.text(of: "config/passdir/config")
        let lines = output.split(separator: "\n").map(String.init)
        let items = lines.filter { $0.hasPrefix("ITEM ") }
        #expect(items.count == 2, "\(items)")
        for item in items {
            // The label, then names and values in turn.
            let words = item.split(separator: "\"").map(String.init).filter { $0 != " " && $0 != "ITEM " }
            try #require(words.count % 2 == 1, "\(item)")
            var attributes: [String: String] = [:]
            for place in stride(from: 1, to: words.count, by: 2) {
                attributes[words[place]] = words[place + 1]
            }
            #expect(attributes["xdg:schema"] == "org.passdir.Credential", "\(item)")
            #expect(Set(attributes.keys).isSubset(of: ["xdg:schema", "store", "kind", "expires"]), "\(item)")
            let kind = try #require(attributes["kind"].flatMap { CredentialKind(rawValue: $0) }, "\(item)")
            let store = try #require(attributes["store"])
            #expect(ids.contains(store), "\(item)")
            #expect(words[0].contains(store) && words[0].contains(kind.rawValue), "\(item)")
        }
        let told = lines.filter {
            $0.hasPrefix("AUDIT ") && $0.contains("Secret Service") && $0.contains("stored: ")
        }
        #expect(told.count == 2, "\(lines.filter { $0.hasPrefix("AUDIT ") })")
        #expect(told.contains { $0.contains("expires 2031-05-06") })
        // What is in the keyring under our name and not in the catalogue.
        #expect(
            lines.contains { $0.hasPrefix("STRAY ") && $0.contains("stray") },
            "audit does not tell of a stray item")
    }

    private func checkTables(_ home: TestHome) throws {
        let query = """
            import sqlite3, sys
            d = sqlite3.connect(sys.argv[1])
            for (n,) in d.execute("select name from sqlite_master where type = 'table'"): print("table", n)
            for (n,) in d.execute("select distinct name from storeState"): print("fact", n)
            for (n,) in d.execute("select distinct store from storeState union select store from plaintextSize"): print("store", n)
            """
        let file = home.path("state/passdir/state.sqlite").string
        let lines = String(decoding: try home.succeed(["python3", "-c", query, file]), as: UTF8.self)
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.contains(["fact", "lastPush"]) && lines.contains(["table", "plaintextSize"]))
        let ids = try home.text(of: "config/passdir/config")
        for line in lines where line.count == 2 {
            switch line[0] {
            case "table":
                #expect(Catalogue.persisted.contains { $0.place == .table && $0.matches(line[1]) }, "\(line)")
            case "fact":
                #expect(Catalogue.persisted.contains { $0.place == .fact && $0.matches(line[1]) }, "\(line)")
            default: #expect(ids.contains(line[1]), "\(line)")
            }
        }
    }

    private func checkAudit(_ home: TestHome, one: TestStore) throws {
        let text = try home.passdir("audit").output
        #expect(!text.contains("[not declared]"), "\(text)")
        #expect(!text.contains("hush-hush"))
        for setting in Catalogue.all { #expect(text.contains(setting.name)) }
        for item in Catalogue.persisted { #expect(text.contains(item.name)) }
        #expect(text.contains("stored: one: encrypted file, expires 2030-01-01"))
        #expect(text.contains("stored: \(home.path("state/passdir/state.sqlite"))"))
        let json = try home.passdir("audit", "--json").output
        #expect(json.hasPrefix("{\"entries\":[{") && json.hasSuffix("\"undeclared\":[]}\n"))
    }

    /// Everything below the home that is not somebody else's: keyrings of GnuPG and gnome-keyring, git's objects.
    private func files(_ home: TestHome) throws -> Set<String> {
        let script = """
            cd ~ && find . \\( -path ./gnupg -o -path ./mnt -o -path './data/keyrings' -o -path './*.git' -o -path './cache' \\
            -o -path './run/keyring' -o -path './.cache' -o -path './run/dbus*' -o -path './run/gvfs*' -o -path './config/dconf' \\) \\
            -prune -o -type f -print -o -type s -print
            """
        return Set(
            String(decoding: try home.succeed(["sh", "-c", script]), as: UTF8.self).split(separator: "\n")
                .map { String($0.dropFirst(2)) })
    }

    private func isDeclared(_ path: String, _ home: TestHome) -> Bool {
        let places: [(String, PersistedItem.Place)] = [
            ("config/passdir/", .configuration), ("state/passdir/", .state), ("data/passdir/", .data),
            ("run/passdir/", .runtime), ("one/.git/", .git), ("one/", .store),
        ]
        for (prefix, place) in places where path.hasPrefix(prefix) {
            let rest = String(path.dropFirst(prefix.utf8.count))
            // What git and pass would have written into the adopted store, too.
            if place == .git, !rest.hasPrefix("passdir") { return true }
            if place == .store, rest.hasSuffix(".gpg"), !rest.hasPrefix(".passdir") { return true }
            return Catalogue.persisted.contains { $0.place == place && $0.matches(rest) }
        }
        return false
    }

    private func inSession(_ home: TestHome, _ script: String) throws -> ProgramResult {
        let start = """
            eval "$(printf pass | gnome-keyring-daemon --unlock --components=secrets 2>/dev/null | sed 's/^/export /')"
            \(script)
            """
        return try home.run(["dbus-run-session", "--", "bash", "-c", start], limit: .seconds(90))
    }
}
