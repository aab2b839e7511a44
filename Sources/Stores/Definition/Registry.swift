import Glibc
public import Settings
import System
public import SystemPackage

/// Which stores there are: the `[store "NAME"]` sections of the configuration, or, where there is none, the store
/// that `pass` itself would use.
public struct Registry: Sendable {
    /// The configuration that it reads and edits.
    public let configuration: Configuration
    let environment: [String: String]

    /// A registry over a configuration; `environment` is asked for `PASSWORD_STORE_DIR`, `HOME` and the folders of
    /// XDG.
    public init(_ configuration: Configuration, environment: [String: String]) {
        self.configuration = configuration
        self.environment = environment
    }

    /// The folder with the stores that passdir cloned.
    public var cloneFolder: FilePath {
        Directories(environment: environment).data.appending("stores")
    }

    /// All stores in the order of the configuration.
    /// - Throws: what is wrong in the file, with its line: a value that is not allowed, a name that a store cannot
    ///   have, two stores whose names differ in case only or that have one id.
    public func definitions() throws(SettingsError) -> [StoreDefinition] {
        try configuration.validate()
        var found: [StoreDefinition] = []
        for section in try configuration.stores() {
            let definition = try StoreDefinition(section, cloneFolder: cloneFolder)
            for other in found {
                let problem: String? =
                    if StoreName.areAlike(other.name, definition.name) {
                        "the names of the stores \"\(other.name)\" and \"\(definition.name)\" differ only in case"
                    } else if other.identifier == definition.identifier {
                        "the stores \"\(other.name)\" and \"\(definition.name)\" have the same id or folder"
                    } else {
                        nil
                    }
                guard let problem else { continue }
                throw SettingsError(code: .value, message: problem, file: section.file, line: section.line)
            }
            found.append(definition)
        }
        if found.isEmpty, let path = placeOfPass() {
            found.append(
                StoreDefinition(name: "default", path: path, identifier: "path:\(path)", isImplicit: true))
        }
        return found
    }

    /// The store of a name; one whose name differs in case only is meant, too.
    public func definition(named name: String) throws(SettingsError) -> StoreDefinition {
        let all = try definitions()
        if let found = all.first(where: { $0.name == name })
            ?? all.first(where: { StoreName.areAlike($0.name, name) })
        {
            return found
        }
        throw SettingsError(
            code: .noStore,
            message: all.isEmpty
                ? "there is no store yet: passdir store add adds one"
                : "there is no store \"\(name)\"" + Spelling.suggestion(for: name, among: all.map(\.name)))
    }

    /// The store that is shown without any set-up; nil where one is configured, or there is none.
    public func implicitStore() throws(SettingsError) -> StoreDefinition? {
        try definitions().first(where: \.isImplicit)
    }

    /// What became of a store that was shown without any set-up, when another one was added, as one sentence without a full
    /// stop, with the way to keep it; nil when it is shown.
    public func farewell(to store: StoreDefinition) throws(SettingsError) -> String? {
        let all = try definitions()
        guard !all.contains(where: { $0.isImplicit || (try? Self.resolved($0.path)) == store.path }) else {
            return nil
        }
        let said =
            "the store \"\(store.name)\" in \(store.path) is no longer shown: it appeared only because no store "
            + "was configured"
        // Another store lies in it, say: nothing could be done about that here.
        guard (try? checkPlace(store.path)) != nil else { return said }
        let hasList = store.path.appending(Store.recipientFileName).facts() != nil
        let isTaken = all.contains { StoreName.areAlike($0.name, store.name) }
        let name = isTaken ? try freeName("pass") : store.name
        return said + "; passdir store add \(name)\(hasList ? "" : " --init") --path "
            + ShellWord.quoted(store.path.string) + " brings it back"
    }

    func placeOfPass() -> FilePath? {
        let candidate: FilePath
        if let named = environment["PASSWORD_STORE_DIR"], !named.isEmpty {
            candidate = FilePath(named)
        } else if let home = environment["HOME"], !home.isEmpty {
            candidate = FilePath(home).appending(".password-store")
        } else {
            return nil
        }
        return try? Self.resolved(candidate)
    }

    /// The absolute path of a folder, links resolved; an error with its sentence when it is none.
    static func resolved(_ path: FilePath) throws(SettingsError) -> FilePath {
        guard let resolved = try? path.resolvingLinks() else {
            throw SettingsError(
                code: .access, message: "\(path) does not exist: name the folder of a password store")
        }
        guard resolved.targetFacts()?.kind == .directory else {
            throw SettingsError(
                code: .access, message: "\(path) is not a folder: name the folder of a password store")
        }
        return resolved
    }
}
