import FoundationEssentials
import SystemPackage
import TestKit
import Testing

/// What `--json` prints is what docs/json.md lists.
@Suite struct JSONKeysTests {
    /// The keys in the table's rows of a command, all that its objects and those inside of them may have.
    private static func documented() throws -> [String: Set<String>] {
        let top = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let file = try #require(SystemFile.text(top.pushing("docs/json.md").string))
        var keys: [String: Set<String>] = [:]
        var commands: [String] = []
        for line in file.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { cell in
                Set(cell.matches(of: /`([^`]+)`/).map { String($0.output.1) })
            }
            guard cells.count == 3, line.contains("`") else { continue }
            if !cells[0].isEmpty { commands = cells[0].sorted() }
            for command in commands { keys[command, default: []].formUnion(cells[1].union(cells[2])) }
        }
        return keys
    }

    /// All keys in a value; not those below `settings`, which are the names of settings.
    private static func keys(in value: JSON) -> Set<String> {
        switch value {
        case .object(let object):
            Set(object.keys).union(object.filter { $0.key != "settings" }.flatMap { keys(in: $0.value) })
        case .array(let list): Set(list.flatMap { keys(in: $0) })
        default: []
        }
    }

    /// Holds:
    /// - Every key that a command prints stands in the row of that command.
    @Test func everyKeyIsDocumented() throws {
        let documented = try Self.documented()
        try TestHome.guarded { home in
            let own = try home.makeKey("a@example.org")
            _ = try home.makeKey("b@example.org")
            let store = try home.makeStore("work", recipients: [own], remote: true)
            try store.insert("mail/imap", "text\n")
            try home.addStores([store])
            try home.mount()
            try home.write("passdir://work/none", to: "t")
            try home.succeed(["passdir", "template", "add", "t", "t"])
            #expect(try home.run(["cat", "\(home.mountPoint)/.passdir/rendered/t"]).exitCode != 0)
            try home.write("old", to: "link")
            try home.succeed(["passdir", "link", "t", home.path("link").string, "--replace"])
            try home.succeed(["passdir", "access", "set", "work/mail", "--deny", "--when", "terminal"])
            try home.succeed(["cat", home.visible("work/mail/imap").string])
            // Somebody else's change of the list, and one that nothing can be saved for.
            try home.write("\(own.fingerprint)\nnobody@example.org\n", to: "work/.gpg-id")
            try home.succeed(["git", "commit", "-qam", "more"], in: home.path("work"))
            let save = ["sh", "-c", "echo text > \(home.visible("work/other").string)"]
            #expect(try home.run(save).exitCode != 0)
            try home.succeed(["passdir", "credential", "set", "work"], input: Array("token".utf8))
            try home.succeed(["passdir", "lock"])
            let commands = [
                "status", "sync", "store list", "store show work", "store import", "list", "search imap",
                "find imap", "health",
                "log work", "log --ages work", "conflicts", "recipients show work", "recipients check work",
                "keys", "credential list", "access", "access test work/mail/imap --as cat", "access log",
                "audit", "template list", "link --list",
            ]
            var seen: Set<String> = []
            for command in commands {
                let words = command.split(separator: " ").map(String.init)
                let output = try home.run(["passdir"] + words + ["--json"]).output
                let name = try #require(
                    documented.keys.sorted { $0.count > $1.count }.first(where: command.hasPrefix))
                seen.insert(name)
                for line in output.split(separator: "\n") {
                    let value = try JSONDecoder().decode(JSON.self, from: Data(line.utf8))
                    let unknown = Self.keys(in: value).subtracting(documented[name] ?? [])
                        .subtracting(documented["credential list"] ?? []).subtracting(
                            documented["keys"] ?? [])
                    #expect(unknown.isEmpty, "\(command): \(unknown.sorted()) in \(line)")
                }
                #expect(!output.isEmpty, "\(command)")
            }
            #expect(seen == Set(documented.keys), "\(Set(documented.keys).subtracting(seen))")
            try home.unmount()
        }
    }
}
