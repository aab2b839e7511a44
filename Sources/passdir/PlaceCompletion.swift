import ArgumentParser
import Daemon
import Stores
import Sync
import System
import SystemPackage

/// What shells complete: places in stores, keys, commits. Nothing is decrypted, and a store that cannot be read has none.
enum PlaceCompletion {
    /// Stores, folders and secrets as STORE/PATH, one level at a time.
    static let places = CompletionKind.words { level($0, foldersOnly: false) }

    /// Stores and folders.
    static let folders = CompletionKind.words { level($0, foldersOnly: true) }

    /// As `places`, and what every store has by its path alone. A store is offered as a folder: what is in it is wanted.
    static let anyPlaces = CompletionKind.words { anywhere($0, foldersOnly: false) }

    /// As `folders`, likewise.
    static let anyFolders = CompletionKind.words { anywhere($0, foldersOnly: true) }

    static func anywhere(_ prefix: String, foldersOnly: Bool) -> [String] {
        let names = StoreContext.definitions().map(\.name)
        let first = prefix.prefix { $0 != "/" }
        let hasStore = prefix.contains("/") && names.contains { $0 == first }
        let bare = names.flatMap { name in
            hasStore
                ? []
                : level("\(name)/\(prefix)", foldersOnly: foldersOnly).map {
                    String($0.dropFirst(name.count + 1))
                }
        }
        var seen: Set<String> = []
        let named = level(prefix, foldersOnly: foldersOnly).map { prefix.contains("/") ? $0 : $0 + "/" }
        return (named + bare).filter { seen.insert($0).inserted }
    }

    private static func level(_ prefix: String, foldersOnly: Bool) -> [String] {
        let stores = StoreContext.definitions()
        guard let slash = prefix.lastIndex(of: "/") else {
            return stores.map(\.name).filter { $0.hasPrefix(prefix) }
        }
        let typed = FilePath(String(prefix[..<slash]))
        guard let name = typed.components.first?.string, !typed.isAbsolute,
            let store = stores.first(where: { $0.name == name }),
            (try? store.root(for: .reading, environment: CallerEnvironment.variables())) != nil
        else { return [] }
        let folder = FilePath(root: nil, typed.components.dropFirst())
        guard folder.components.allSatisfy({ $0.kind == .regular }) else { return [] }
        // One level: the first part of every name below.
        var seen: Set<String> = []
        var found: [String] = []
        for path in NameScope.secrets(of: store) {
            var rest = FilePath(path)
            guard rest.removePrefix(folder), let first = rest.components.first else { continue }
            let isFolder = rest.components.count > 1
            guard isFolder || !foldersOnly else { continue }
            let text = "\(typed)/\(first)" + (isFolder ? "/" : "")
            if text.hasPrefix(prefix), seen.insert(text).inserted { found.append(text) }
        }
        return found
    }

    /// The conflict files.
    static let conflicts = CompletionKind.words { prefix in
        let all = (try? StoreAccess.all(environment: CallerEnvironment.variables()))?.stores ?? []
        let found = all.flatMap { access in
            ConflictList(access.store).find().map {
                (store: access.store.name, path: access.store.visiblePath(of: $0.path).string)
            }
        }
        let named = found.map { "\($0.store)/\($0.path)" }.filter { $0.hasPrefix(prefix) }
        return named.isEmpty ? found.map(\.path).filter { $0.hasPrefix(prefix) } : named
    }

    /// The commits of the place that was typed before, newest first.
    static let commits = CompletionKind.custom { words, _, prefix in
        let environment = CallerEnvironment.variables()
        let place = words.dropFirst(2).first { !$0.hasPrefix("-") && $0 != prefix }
        guard let place,
            let access = try? SecretSearch(environment: environment).past(place, for: .reading),
            let history = try? StoreHistory(access.store)
        else { return [] }
        var entries = (try? history.entries(of: access.backingPath, limit: 50)) ?? []
        if entries.isEmpty { entries = (try? history.entries(of: access.path, limit: 50)) ?? [] }
        return entries.map { String($0.commit.prefix(10)) }.filter { $0.hasPrefix(prefix) }
    }

    /// The fingerprints and addresses of the keys that stores name.
    static let keys = CompletionKind.words { prefix in
        let keys = (try? Sharing(environment: CallerEnvironment.variables()))?.keysOfAllStores().keys ?? []
        let names = keys.flatMap { key in
            [key.fingerprint].compactMap(\.self)
                + key.userIDs.compactMap { id in
                    id.split(separator: "<").last.flatMap { $0.hasSuffix(">") ? String($0.dropLast()) : nil }
                }
        }
        var seen: Set<String> = []
        return names.filter { $0.hasPrefix(prefix) && seen.insert($0).inserted }
    }
}
