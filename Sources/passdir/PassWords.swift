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
        let place = rest.last { !$0.hasPrefix("-") }.map(ShellWord.quoted) ?? "PATH"
        return switch word {
        case "cat", "get", "print": "passdir show \(place) prints a secret"
        case "-c": "passdir show -c \(place) copies a secret"
        case "set", "new":
            "passdir insert \(place) saves what you type, and passdir edit \(place) opens your editor"
        case "init":
            "passdir recipients set STORE KEY chooses who can read; passdir store add NAME --path DIR --init "
                + "creates a store"
        case "umount": "did you mean passdir unmount?"
        case "git":
            "git -C \(storeFolder) still works beside the mount; passdir log, passdir sync and passdir restore "
                + "cover the usual cases"
        case "push", "pull", "fetch", "commit": "passdir sync commits, fetches, merges and pushes"
        default: isThere(word) ? "passdir show \(ShellWord.quoted(word)) shows it" : nil
        }
    }

    /// pass shows what is named without a command.
    private static func isThere(_ word: String) -> Bool {
        let environment = CallerEnvironment.variables()
        return (try? SecretSearch(environment: environment).existing(word, for: .reading)) != nil
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
