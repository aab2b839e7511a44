import Git
import Glibc
import Settings
import System
public import SystemPackage

/// A store that another program has in its configuration.
public struct ForeignStore: Sendable, Equatable {
    /// The program: `pass`, `gopass`, `QtPass`.
    public var program: String
    /// The name that it would get.
    public var name: String
    /// Its folder, as the other program has it.
    public var path: FilePath
}

/// The stores of pass, gopass and QtPass, as their configuration has them. Nothing of theirs is changed.
public enum ForeignStores {
    /// All of them: those of pass first, then gopass, then QtPass.
    public static func all(environment: [String: String]) -> [ForeignStore] {
        pass(environment) + gopass(environment) + qtpass(environment)
    }

    /// pass(1): `PASSWORD_STORE_DIR`, else `~/.password-store`; where the variable names another one, both.
    static func pass(_ environment: [String: String]) -> [ForeignStore] {
        var found: [ForeignStore] = []
        if let named = environment["PASSWORD_STORE_DIR"], named.hasPrefix("/") {
            found.append(ForeignStore(program: "pass", name: "default", path: FilePath(named)))
        }
        let usual = home(environment).appending(".password-store")
        let name = found.isEmpty ? "default" : "password-store"
        found.append(ForeignStore(program: "pass", name: name, path: usual))
        return found
    }

    /// gopass: `[mounts] path` and `[mounts "NAME"] path` of its git-config file (since 1.15), or its `config.yml`
    /// before.
    static func gopass(_ environment: [String: String]) -> [ForeignStore] {
        var folders: [FilePath] = []
        if let own = environment["GOPASS_HOMEDIR"], own.hasPrefix("/") {
            folders.append(FilePath(own).appending(".config").appending("gopass"))
        }
        folders.append(configFolder(environment).appending("gopass"))
        for folder in folders {
            if let file = try? ConfigFile(folder.appending("config")), !file.entries.isEmpty {
                return file.entries.compactMap { entry in
                    guard entry.section == "mounts", entry.key.lowercased() == "path", let value = entry.value
                    else {
                        return nil
                    }
                    return gopassStore(entry.subsection, value, environment)
                }
            }
            for name in ["config.yml", "config.yaml"] {
                guard let bytes = try? PrivateFile.read(folder.appending(name)),
                    let text = String(validating: bytes, as: UTF8.self)
                else { continue }
                return GopassYAML(text).stores.compactMap { gopassStore($0.mount, $0.path, environment) }
            }
        }
        return []
    }

    private static func gopassStore(
        _ mount: String?, _ value: String, _ environment: [String: String]
    ) -> ForeignStore? {
        // Old versions wrote the backends before it: gpgcli-gitcli-fs+file:///home/ann/.password-store
        let place = value.firstRange(of: "://").map { String(value[$0.upperBound...]) } ?? value
        guard let path = absolute(place, environment) else { return nil }
        let name = mount.flatMap { $0.isEmpty ? nil : StoreName.made(from: $0) } ?? "gopass"
        return ForeignStore(program: "gopass", name: name, path: path)
    }

    /// QtPass: `passStore`, and the group `profile`, which has `NAME=PATH` up to 1.3.2 and `NAME\path=PATH` since.
    static func qtpass(_ environment: [String: String]) -> [ForeignStore] {
        let file = configFolder(environment).appending("IJHack").appending("QtPass.conf")
        guard let bytes = try? PrivateFile.read(file), let text = String(validating: bytes, as: UTF8.self)
        else {
            return []
        }
        var profiles: [ForeignStore] = []
        var general: [ForeignStore] = []
        for entry in QtSettings(text).entries {
            guard let path = absolute(entry.value, environment) else { continue }
            if entry.group == "General", entry.key == "passStore" {
                general.append(ForeignStore(program: "QtPass", name: "qtpass", path: path))
            }
            guard ["profile", "profiles"].contains(entry.group) else { continue }
            let parts = entry.key.split(separator: "/").map(String.init)
            guard parts.count == 1 || (parts.count == 2 && parts[1] == "path") else { continue }
            profiles.append(ForeignStore(program: "QtPass", name: StoreName.made(from: parts[0]), path: path))
        }
        // The profile in use is in passStore, too: its name is the better one.
        return profiles + general
    }

    private static func absolute(_ text: String, _ environment: [String: String]) -> FilePath? {
        if text.hasPrefix("~/") { return home(environment).pushing(FilePath(String(text.dropFirst(2)))) }
        return text.hasPrefix("/") ? FilePath(text) : nil
    }

    private static func home(_ environment: [String: String]) -> FilePath {
        if let home = environment["HOME"], home.hasPrefix("/") { return FilePath(home) }
        return HomeDirectory.current
    }

    private static func configFolder(_ environment: [String: String]) -> FilePath {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return FilePath(folder) }
        return home(environment).appending(".config")
    }
}

extension Registry {
    /// What became of a store of another program.
    public struct ImportOutcome: Sendable, Equatable {
        /// The store.
        public var store: ForeignStore
        /// The name under which it is there now; nil when it is not.
        public var name: String?
        /// Why it was left out, or that it was there already; nil when it was added.
        public var reason: String?
    }

    /// Adds the stores of other programs that are not there yet. Doing it again adds nothing.
    public func importForeign() throws(SettingsError) -> [ImportOutcome] {
        var outcomes: [ImportOutcome] = []
        for store in ForeignStores.all(environment: environment) {
            guard let folder = try? Self.resolved(store.path) else {
                // pass's usual place is looked at without anybody having named it.
                if store.program != "pass" {
                    outcomes.append(ImportOutcome(store: store, reason: "\(store.path) does not exist"))
                }
                continue
            }
            if let known = try definitions().first(where: {
                !$0.isImplicit && (try? Self.resolved($0.path)) == folder
            }) {
                if !outcomes.contains(where: { $0.name == known.name }) {
                    outcomes.append(
                        ImportOutcome(store: store, name: known.name, reason: "it was already added"))
                }
                continue
            }
            do throws(SettingsError) {
                let name = try freeName(store.name)
                try add(name: name, path: store.path)
                outcomes.append(ImportOutcome(store: store, name: name))
            } catch  where error.code == .storeExists || error.code == .access || error.code == .name {
                outcomes.append(ImportOutcome(store: store, reason: error.message))
            }
        }
        return outcomes
    }

    /// At the first start, when there is no configuration yet: where gopass or QtPass have stores besides pass's own,
    /// all become stores of ours. pass's own alone is shown without being written down.
    public func importAtFirstStart() throws(SettingsError) -> [ImportOutcome] {
        guard !configuration.file.exists else { return [] }
        let own = placeOfPass()
        let hasOthers = ForeignStores.all(environment: environment).contains { store in
            store.program != "pass" && (try? Self.resolved(store.path)).map { $0 != own } == true
        }
        return hasOthers ? try importForeign() : []
    }

    /// A name that no store has: the one wanted, or with a number.
    func freeName(_ wanted: String) throws(SettingsError) -> String {
        let taken = try configuration.stores().map(\.name)
        var name = wanted
        var number = 2
        while taken.contains(where: { StoreName.areAlike($0, name) }) {
            name = "\(wanted)-\(number)"
            number += 1
        }
        return name
    }
}
