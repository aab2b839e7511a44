import Glibc
import Settings
public import Stores
import Sync
import System
import SystemPackage

/// Finds the place that is meant by a path as hands type it for pass, which knows one store: with a store's name before it
/// it is taken as `TypedPlace` says, without one it is looked for in all stores of the mount.
public struct SecretSearch {
    /// Where a new secret goes.
    public enum Target: Sendable {
        /// The only place that is meant.
        case place(SecretPlace)
        /// Any of these stores; the one that was chosen last comes first.
        case oneOf([String])
    }

    private let opener: StoreOpener
    private let environment: [String: String]
    private let complain: (String) -> Void

    /// Reads the configuration.
    /// - Parameter complain: is told, in one sentence, of each store that cannot be looked in as its disk does not answer.
    public init(
        environment: [String: String], complain: @escaping (String) -> Void
    ) throws(DaemonError) {
        opener = try StoreOpener(environment: environment)
        self.environment = environment
        self.complain = complain
    }

    /// The place of a secret or folder that is there.
    /// - Throws: one sentence where there is none, or where several stores have one.
    public func existing(_ typed: String, for use: StoreUse) throws(DaemonError) -> SecretPlace {
        let text = try asInStore(typed)
        var objection: DaemonError
        do {
            let place = try named(text, for: use)
            if place.kind != .nothing { return place }
            objection = DaemonError(
                message: "there is no secret or folder \"\(place.path)\" in the store \"\(place.store.name)\""
            )
        } catch {
            objection = error
        }
        // What lies elsewhere is not asked for where the store that was named cannot be looked into.
        if try opener.definitions().contains(where: { $0.silentDisk == objection.message }) {
            throw objection
        }
        if let found = try everywhere(text, for: use) { return found }
        let names = try opener.definitions().map(\.name)
        if let path = relativePath(text), let first = path.components.first?.string, !names.contains(first) {
            let meant = Spelling.nearest(to: first, among: names).map { "; did you mean the store \($0)?" }
            let stores = names.count == 1 ? "in the store \"\(names[0])\"" : "in any store"
            objection = DaemonError(
                message: "there is no secret or folder \"\(text)\" \(stores)"
                    + (meant ?? ": passdir find finds names"))
        }
        if let typed = try? TypedPlace(text, in: opener.registry, environment: environment),
            let file = UnsavedTexts(environment: environment).file(of: typed.path, inStore: typed.store.name)
        {
            objection = DaemonError(
                message: "\(typed.store.name)/\(typed.path) is not saved yet; \(file) shows its text")
        }
        throw objection
    }

    /// The place of what is there, or was once, for what git knows of it.
    /// - Throws: one sentence where there was none, or where it was in several stores.
    public func past(_ typed: String, for use: StoreUse) throws(DaemonError) -> StoreAccess {
        let text = try asInStore(typed)
        let names = try opener.definitions().map(\.name)
        if let path = relativePath(text), !names.contains(path.components.first?.string ?? "") {
            let objection: DaemonError
            do {
                let place = try existing(text, for: .reading)
                return try StoreAccess.open(place.name, for: use, environment: environment)
            } catch {
                objection = error
            }
            // The folder that the command runs in may be one of a store or of the mount.
            if let here = try? TypedPlace(text, in: opener.registry, environment: environment),
                had(here.path, inStore: here.store.name)
            {
                return try StoreAccess.open(here, opener, for: use)
            }
            let found = names.filter { had(path, inStore: $0) }
            if found.count == 1 {
                return try StoreAccess.open("\(found[0])/\(path)", for: use, environment: environment)
            }
            throw found.isEmpty ? objection : several(text, found.map { "\($0)/\(path)" })
        }
        return try StoreAccess.open(text, for: use, environment: environment)
    }

    /// Whether a store of the mount has had a secret or folder.
    private func had(_ path: FilePath, inStore name: String) -> Bool {
        guard
            let access = try? StoreAccess.open("\(name)/\(path)", for: .reading, environment: environment),
            let history = try? StoreHistory(access.store)
        else { return false }
        return [access.backingPath, access.path].contains { path in
            (try? history.entries(of: path, limit: 1).isEmpty) == false
        }
    }

    private func several(_ text: String, _ places: [String]) -> DaemonError {
        DaemonError(
            message:
                "several stores have \"\(text)\", so name the one you mean: \(places.joined(separator: ", "))"
        )
    }

    /// What hands type that know pass: `/mail/imap` and `./mail/imap` are in the store where no such file can be meant.
    /// - Throws: one sentence where a name in it is `..`.
    private func asInStore(_ text: String) throws(DaemonError) -> String {
        try TypedPlace.refuseSteppingUp(text)
        guard TypedPlace.isPath(text),
            (try? TypedPlace(text, in: opener.registry, environment: environment)) == nil
        else { return text }
        let rest = text.drop { $0 == "/" }
        let stripped =
            text.hasPrefix("/") ? rest : text.hasPrefix("./") ? text.dropFirst(2).drop { $0 == "/" } : ""
        guard let first = stripped.split(separator: "/").first, first != "..", first != ".",
            FilePath(text.hasPrefix("/") ? "/\(first)" : "./\(first)").absolute.facts() == nil
        else { return text }
        return String(stripped)
    }

    /// The place of a secret that may be there or not. A folder of its name says nothing of where it belongs: others who
    /// share a store choose the names there.
    /// - Throws: one sentence where the text is no place for a secret, or where several stores have it.
    public func target(_ typed: String) throws(DaemonError) -> Target {
        let text = try asInStore(typed)
        let names = try opener.definitions().map(\.name)
        guard let path = relativePath(text), !names.contains(path.components.first?.string ?? "") else {
            return .place(try named(text, for: .writing).besideFolder)
        }
        // The folder that the command runs in may be one of a store or of the mount.
        if let typed = try? TypedPlace(text, in: opener.registry, environment: environment) {
            return .place(try place(typed, text, for: .writing).besideFolder)
        }
        if text.hasSuffix("/") {
            throw DaemonError(message: "\(text) names a folder: leave out the slash at the end")
        }
        if let found = try everywhere(text, for: .writing, folders: false) { return .place(found) }
        let stores = try opener.definitions().filter { $0.isInMount && !$0.isReadOnly }
        guard let only = stores.first else {
            throw DaemonError(
                message: "there is no store that a secret can be made in: passdir store add adds one")
        }
        if stores.count == 1 { return .place(try place(text, inStore: only.name).besideFolder) }
        let times = lastNew(stores)
        let sorted = stores.enumerated().sorted { one, other in
            (times[one.offset], -one.offset) > (times[other.offset], -other.offset)
        }
        return .oneOf(sorted.map(\.element.name))
    }

    /// The place of a secret in a store that was chosen for it.
    public func place(_ typed: String, inStore name: String) throws(DaemonError) -> SecretPlace {
        let text = try asInStore(typed)
        let access = try StoreAccess.open(name, for: .writing, environment: environment)
        let path = relativePath(text) ?? FilePath(text)
        return SecretPlace(access, path, namesFolder: text.hasSuffix("/"))
    }

    /// The place of a new secret in a store that was chosen for it, beside a folder of that name.
    public func newPlace(_ text: String, inStore name: String) throws(DaemonError) -> SecretPlace {
        try place(text, inStore: name).besideFolder
    }

    /// The place that is meant beside another one: without a store's name it is one in the same store.
    public func place(_ typed: String, beside other: SecretPlace) throws(DaemonError) -> SecretPlace {
        let text = try asInStore(typed)
        let names = try opener.definitions().map(\.name)
        guard let path = relativePath(text), !names.contains(path.components.first?.string ?? "") else {
            return try named(text, for: .writing)
        }
        if let typed = try? TypedPlace(text, in: opener.registry, environment: environment) {
            return try place(typed, text, for: .writing)
        }
        return try place(text, inStore: other.store.name)
    }

    /// Remembers that a person chose this store for a new secret.
    public func remember(chosen store: Store) {
        opener.keepingFacts(of: store.identifier)(Self.fact, "\(time(nil))")
    }

    private static let fact = "lastNew"

    /// When each of the stores was chosen last, in seconds since 1970.
    private func lastNew(_ stores: [StoreDefinition]) -> [Int64] {
        let file = Directories(environment: environment).state.appending("state.sqlite")
        guard file.exists, let learned = try? LearnedState(file: file) else { return stores.map { _ in 0 } }
        defer { learned.close() }
        return stores.map { learned.fact(Self.fact, of: $0.identifier).flatMap { Int64($0) } ?? 0 }
    }

    private func named(_ text: String, for use: StoreUse) throws(DaemonError) -> SecretPlace {
        try place(TypedPlace(text, in: opener.registry, environment: environment), text, for: use)
    }

    private func place(
        _ typed: TypedPlace, _ text: String, for use: StoreUse
    ) throws(DaemonError) -> SecretPlace {
        SecretPlace(
            try StoreAccess.open(typed, opener, for: use), typed.path, namesFolder: text.hasSuffix("/"))
    }

    /// A path that may lie in any store.
    private func relativePath(_ text: String) -> FilePath? {
        let path = FilePath(text).lexicallyNormalized()
        let isPlain = !TypedPlace.isPath(text) && !path.isEmpty && !path.isAbsolute
        return isPlain && path.components.allSatisfy { $0.kind == .regular } ? path : nil
    }

    /// What has this path in a store of the mount; nil where none has it.
    /// - Parameter folders: whether a folder counts.
    private func everywhere(
        _ text: String, for use: StoreUse, folders: Bool = true
    ) throws(DaemonError) -> SecretPlace? {
        guard let path = relativePath(text) else { return nil }
        let namesFolder = text.hasSuffix("/")
        let stores = try opener.definitions().filter(\.isInMount)
        DiskLook.lookAhead(at: stores)
        let found = stores.filter { store in
            guard DiskLook.at(store.path).answers else {
                complain(store.silentDisk)
                return false
            }
            guard let root = try? store.root(for: .reading, environment: environment) else { return false }
            let kind = SecretPlace.look(at: path, namesFolder: namesFolder, in: root).kind
            return kind != .nothing && (folders || kind != .folder)
        }
        guard found.count < 2 else {
            throw several(text, found.map { "\($0.name)/\(path)" })
        }
        return try found.first.map { definition throws(DaemonError) in
            SecretPlace(
                try StoreAccess.open(definition, path, opener, for: use), path, namesFolder: namesFolder)
        }
    }
}
