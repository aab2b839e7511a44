import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// What hands type that know pass, git or mount: where the mount has a way of its own for it, what that is.
enum PassWords {
    /// Whether a command is one that works on secrets, as pass has it.
    static func areOfPass(_ arguments: [String]) -> Bool {
        let commands: [any ParsableCommand.Type] = [
            ShowCommand.self, OTPCommand.self, GenerateCommand.self, InsertCommand.self, EditCommand.self,
            RemoveCommand.self, MoveCommand.self, CopyCommand.self, FindCommand.self, GrepCommand.self,
            ListCommand.self, SearchCommand.self, LogCommand.self, RestoreCommand.self,
        ]
        let names = commands.flatMap { [$0._commandName] + $0.configuration.aliases }
        return arguments.first.map(names.contains) ?? false
    }

    /// What leads on from a word; nil where nothing is known of it.
    static func hint(_ word: String, _ rest: [String]) -> WrongUsage? {
        guard let way = way(word, rest) else { return nil }
        return WrongUsage(message: "there is no command \"\(word)\": \(way)")
    }

    private static func way(_ word: String, _ rest: [String]) -> String? {
        let place = rest.last { !$0.hasPrefix("-") }.map(ShellWord.quoted) ?? "PATH"
        return switch word {
        case "cat", "get", "print", "view", "decrypt": "passdir show \(place) prints a secret"
        case "move": "passdir mv renames or moves a secret or a folder"
        case "del", "erase-secret", "unlink": "passdir rm \(place) removes a secret"
        case "clip", "yank": "passdir show -c \(place) copies a secret"
        case "history": "passdir log \(place) shows what happened to a secret"
        case "tree", "dir": "passdir list lists secrets"
        case "version": "passdir --version prints it"
        case "hlep", "hepl", "halp", "hel", "man", "usage": "did you mean passdir help?"
        case "setup": "passdir store add adds a store, and passdir mount mounts your stores"
        case "-c": "passdir show -c \(place) copies a secret"
        case "set", "new", "create":
            "passdir insert \(place) saves what you type, and passdir edit \(place) opens your editor"
        case "init":
            "passdir store add NAME --path DIR --init --recipient KEY creates a store; passdir recipients set STORE KEY "
                + "chooses who can read one"
        case "umount": "did you mean passdir unmount?"
        case "git":
            "git -C \(storeFolder) still works beside the mount; passdir log, passdir sync and passdir restore "
                + "cover the usual cases"
        case "push", "pull", "fetch", "commit": "passdir sync commits, fetches, merges and pushes"
        default: isThere(word) ? "passdir show \(ShellWord.quoted(word)) shows it" : nil
        }
    }

    /// Whether it names a secret or folder: pass shows what is named without a command.
    static func isThere(_ word: String) -> Bool {
        let environment = CallerEnvironment.variables()
        return (try? SecretSearch(environment: environment) { _ in }.existing(word, for: .reading)) != nil
    }

    private static var storeFolder: String {
        let stores = StoreContext.definitions()
        return stores.count == 1 ? ShellWord.quoted(stores[0].path.string) : "FOLDER"
    }
}
