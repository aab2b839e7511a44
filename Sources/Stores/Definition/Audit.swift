import Glibc
public import Settings
import System
import SystemPackage

/// Everything that passdir keeps, and where: the whole catalogue with what is there now. Never a value.
public struct Audit: Sendable, Encodable {
    /// A setting, a credential or a persisted item.
    public struct Entry: Sendable, Encodable {
        /// Its name in the catalogue.
        public var name: String
        /// `setting`, `store setting`, `credential`, or the place of a persisted item.
        public var place: String
        /// What its values are: a time, a size, a file.
        public var type: String
        /// What holds while nothing is stored; nil where nothing does.
        public var `default`: String?
        /// The key by which a store's section overrides it; nil where none can.
        public var storeKey: String?
        /// How it is protected: none, personal, ciphertext, secret.
        public var protection: String
        /// The part that it belongs to.
        public var owner: String
        /// What it is for.
        public var description: String
        /// Where it is stored now: `FILE:LINE`, a path, a row count; empty when it is not.
        public var stored: [String]
    }

    /// The catalogue, by place and then by owner.
    public var entries: [Entry] = []
    /// What lies in a place of ours and is not in the catalogue: a fault, or somebody else's.
    public var undeclared: [String] = []
    /// What was not looked at: a sentence for each store whose disk does not answer.
    public var complaints: [String] = []

    private enum CodingKeys: CodingKey { case entries, undeclared }

    /// Looks at everything.
    public init(
        registry: Registry, environment: [String: String], credentials: any CredentialStore
    ) throws(SettingsError) {
        let stores = try registry.definitions()
        let sections = try registry.configuration.stores()
        let file = registry.configuration.file
        for setting in Catalogue.all {
            var stored: [String] = []
            if setting.place == .configuration, let line = registry.configuration.line(of: setting.name) {
                stored.append("\(file):\(line)")
            }
            let key = setting.place == .store ? setting.name : setting.storeKey
            if let variable = Self.variables[setting.name], environment[variable] != nil {
                stored.append("the variable \(variable)")
            }
            for section in sections {
                guard let key, let item = section.text(key) else { continue }
                stored.append("\(section.name): \(file):\(item.line)")
            }
            let isOfStore = setting.place == .store
            entries.append(
                Entry(
                    name: isOfStore ? "store.*.\(setting.name)" : setting.name,
                    place: isOfStore ? "store setting" : "setting", type: setting.type,
                    default: setting.defaultText.isEmpty ? nil : setting.defaultText,
                    storeKey: isOfStore ? nil : setting.storeKey,
                    protection: setting.protection.rawValue, owner: setting.owner.rawValue,
                    description: setting.description, stored: stored))
        }
        addCredentials(stores, credentials)
        addItems(stores, environment, registry)
        entries = entries.enumerated().sorted {
            let places = [$0, $1].map { one in entries.firstIndex { $0.place == one.element.place } ?? 0 }
            return (places[0], $0.element.owner, $0.offset) < (places[1], $1.element.owner, $1.offset)
        }.map(\.element)
    }

    /// Variables that hold over a setting.
    private static let variables = ["signingKeys": "PASSWORD_STORE_SIGNING_KEY"]

    private mutating func addCredentials(_ stores: [StoreDefinition], _ credentials: any CredentialStore) {
        let kept = (try? credentials.entries()) ?? [:]
        undeclared += (try? credentials.undeclared()) ?? []
        for kind in CredentialKind.allCases {
            let stored = kept.filter { $0.key.kind == kind }.map { key, facts in
                let name = stores.first { $0.id == key.store }?.name ?? "no store (\(key.store))"
                let expiry = facts.expires.map { ", expires \(CalendarDay(containing: $0 - 1))" } ?? ""
                return "\(name): \(facts.place)\(expiry)"
            }
            entries.append(
                Entry(
                    name: "credential.\(kind.rawValue)", place: "credential", type: "bytes",
                    protection: "secret",
                    owner: "stores", description: kind.description, stored: stored.sorted()))
        }
    }

    private mutating func addItems(
        _ stores: [StoreDefinition], _ environment: [String: String], _ registry: Registry
    ) {
        var found: [String: [String]] = [:]
        let ours = Directories(environment: environment)
        let folders: [(PersistedItem.Place, FilePath)] = [
            (.configuration, registry.configuration.file.removingLastComponent()),
            (.state, ours.state), (.data, ours.data),
            (.runtime, Directories.isOurs(ours.runtime) ? ours.runtime : "/nonexistent"),
        ]
        for (place, folder) in folders { note(AuditWalk.paths(in: folder, place), place, folder, &found) }
        DiskLook.lookAhead(at: stores)
        for store in stores {
            guard DiskLook.at(store.path).answers else {
                complaints.append(store.silentDisk)
                continue
            }
            let ours = PrivateFile.names(in: store.path).filter { $0.hasPrefix(Store.temporaryPrefix) }
            note(ours, .store, store.path, &found)
            let git = store.path.appending(".git")
            note(PrivateFile.names(in: git).filter { $0.hasPrefix("passdir") }, .git, git, &found)
            guard !store.isCloned else { continue }
            let parent = store.path.removingLastComponent()
            let beside = PrivateFile.names(in: parent).filter { $0.hasPrefix(".passdir-") }.map { $0 + "/." }
            note(beside, .besideStore, parent, &found)
        }
        addLearned(stores, environment, &found)
        for item in Catalogue.persisted {
            entries.append(
                Entry(
                    name: item.name, place: item.place.rawValue, type: item.type,
                    protection: item.protection.rawValue, owner: item.owner.rawValue,
                    description: item.description, stored: found[item.name] ?? []))
        }
    }

    private mutating func addLearned(
        _ stores: [StoreDefinition], _ environment: [String: String], _ found: inout [String: [String]]
    ) {
        let file = Directories(environment: environment).state.appending("state.sqlite")
        guard file.exists, let learned = try? LearnedState(file: file) else { return }
        defer { learned.close() }
        let (tables, facts) = learned.inventory()
        for (table, count) in tables.sorted(by: { $0.key < $1.key }) {
            note(table, .table, "\(file): \(count) rows", else: "\(file): table \(table)", &found)
        }
        for (id, names) in facts.sorted(by: { $0.key < $1.key }) {
            let store = stores.first { $0.identifier == id }?.name ?? "no store (\(id))"
            for name in names {
                note(name, .fact, "\(store): \(file)", else: "\(file): fact \(name) of \(store)", &found)
            }
        }
    }

    private mutating func note(
        _ paths: [String], _ place: PersistedItem.Place, _ folder: FilePath, _ found: inout [String: [String]]
    ) {
        for path in paths {
            let full = folder.pushing(FilePath(path))
            note(path, place, full.lexicallyNormalized().string, else: full.string, &found)
        }
    }

    /// Notes where something is stored, under the item that it is.
    /// - Parameter undeclaredText: what is said of it where it is none of the catalogue.
    private mutating func note(
        _ name: String, _ place: PersistedItem.Place, _ stored: String, else undeclaredText: String,
        _ found: inout [String: [String]]
    ) {
        if let item = Catalogue.persisted.first(where: { $0.place == place && $0.matches(name) }) {
            found[item.name, default: []].append(stored)
        } else {
            undeclared.append(undeclaredText)
        }
    }
}

/// The paths below a place of ours; a clone is one thing.
enum AuditWalk {
    static func paths(in folder: FilePath, _ place: PersistedItem.Place) -> [String] {
        var found: [String] = []
        for name in PrivateFile.names(in: folder) {
            found.append(name)
            let child = folder.appending(name)
            guard child.facts()?.kind == .directory else { continue }
            let isClones = place == .data && ["stores", "removed"].contains(name)
            for inner in PrivateFile.names(in: child) {
                found.append("\(name)/\(inner)" + (isClones ? "/." : ""))
            }
        }
        return found
    }
}
