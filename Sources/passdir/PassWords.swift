import Daemon
import Stores
import SystemPackage

/// What hands type that know pass, git or mount: where the mount has a way of its own for it, what that is.
enum PassWords {
    /// What leads on from a word; nil where nothing is known of it.
    static func hint(_ word: String, _ rest: [String]) -> WrongUsage? {
        guard let way = way(word, rest) else { return nil }
        return WrongUsage(message: "there is no command \"\(word)\": \(way)")
    }

    private static func way(_ word: String, _ rest: [String]) -> String? {
        let typed = rest.last { !$0.hasPrefix("-") }
        let file = file(typed)
        return switch word {
        case "ls": "passdir list lists the names, and ls \(ShellWord.quoted(mountPoint)) the files"
        case "find": "passdir search \(typed.map(ShellWord.quoted) ?? "WORD") finds names"
        case "grep":
            "grep -r \(typed.map(ShellWord.quoted) ?? "WORD") \(ShellWord.quoted(mountPoint)) searches every secret"
        case "show", "cat", "get": "a secret is a file: cat \(file), and passdir store show shows a store"
        case "insert", "add", "edit", "set":
            "a secret is a file: $EDITOR \(file), or write to it; passdir store add adds a store"
        case "generate": "a secret is a file: write a generator's output to \(file)"
        case "rm", "delete": "a secret is a file: rm \(file); passdir store remove removes a store"
        case "mv", "cp": "a secret is a file: use \(word) below \(ShellWord.quoted(mountPoint))"
        case "init":
            "passdir recipients set STORE KEY chooses who can read; passdir store add NAME --path DIR --init "
                + "creates a store"
        case "umount": "did you mean passdir unmount?"
        case "git":
            "git -C \(storeFolder) still works beside the mount; passdir log, passdir sync and passdir restore "
                + "cover the usual cases"
        case "push", "pull", "fetch", "commit": "passdir sync commits, fetches, merges and pushes"
        default: nil
        }
    }

    /// Where the secret is that was named as pass names it, in the only store.
    private static func file(_ typed: String?) -> String {
        let names = StoreContext.definitions().map(\.name)
        let name = names.count == 1 ? names[0] : "STORE"
        let isWhole = names.contains { typed == $0 || typed?.hasPrefix($0 + "/") ?? false }
        return ShellWord.quoted("\(mountPoint)/" + (isWhole ? "" : name + "/") + (typed ?? "PATH"))
    }

    private static var mountPoint: String {
        (try? Daemon.mountPoint(argument: nil, environment: CallerEnvironment.variables()))?.string
            ?? "~/passdir"
    }

    private static var storeFolder: String {
        let stores = StoreContext.definitions()
        return stores.count == 1 ? ShellWord.quoted(stores[0].path.string) : "FOLDER"
    }
}

/// How far two words are apart.
enum Spelling {
    /// How many letters must be changed, added, left out or exchanged with their neighbour.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.prefix(64)), Array(other.prefix(64)))
        var older: [Int] = []
        var before = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var now = [row + 1]
            for (column, against) in other.enumerated() {
                var cost = min(
                    before[column + 1] + 1, now[column] + 1, before[column] + (letter == against ? 0 : 1))
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == against {
                    cost = min(cost, older[column - 1] + 1)
                }
                now.append(cost)
            }
            (older, before) = (before, now)
        }
        return before[other.count]
    }
}
