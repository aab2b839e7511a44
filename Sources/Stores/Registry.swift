import Glibc
public import Settings
public import SystemPackage

/// A store as the configuration, or pass's own place, defines it.
public struct StoreDefinition: Sendable, Equatable {
    /// The name: a directory under the mount point.
    public var name: String
    /// The folder with the encrypted files, absolute.
    public var path: FilePath
    /// What learned state is filed under.
    public var identifier: String
    /// Whether it is there because no store is configured and pass has one.
    public var isImplicit: Bool
}

/// Which stores there are: the `[store "NAME"]` sections of the configuration, or, where there is none, the store
/// that `pass` itself would use.
public struct Registry: Sendable {
    private let configuration: Configuration
    private let environment: [String: String]

    /// A registry over a configuration; `environment` is asked for `PASSWORD_STORE_DIR` and `HOME`.
    public init(_ configuration: Configuration, environment: [String: String]) {
        self.configuration = configuration
        self.environment = environment
    }

    /// All stores in the order of the configuration.
    public func definitions() throws(SettingsError) -> [StoreDefinition] {
        var found: [StoreDefinition] = []
        for section in try configuration.stores() {
            if let objection = StoreName.objection(to: section.name) {
                throw SettingsError(code: .name, message: objection, file: section.file, line: section.line)
            }
            guard let path = try section.value(Catalogue.storePath) ?? nil else {
                throw SettingsError(
                    code: .value, message: "the store \"\(section.name)\" has no path: add path = FOLDER",
                    file: section.file, line: section.line)
            }
            let identifier = try section.value(Catalogue.storeID) ?? nil
            found.append(
                StoreDefinition(
                    name: section.name, path: path, identifier: identifier ?? "path:\(path)",
                    isImplicit: false))
        }
        if found.isEmpty, let path = placeOfPass() {
            found.append(
                StoreDefinition(name: "default", path: path, identifier: "path:\(path)", isImplicit: true))
        }
        return found
    }

    /// Adds a store that lies in `path` to the configuration. Nothing of the store itself is touched.
    public func add(name: String, path: FilePath) throws(SettingsError) {
        if let objection = StoreName.objection(to: name) {
            throw SettingsError(code: .name, message: objection)
        }
        let folder = try Self.resolved(path)
        for section in try configuration.stores() {
            if section.name.lowercased() == name.lowercased() {
                throw SettingsError(
                    code: .storeExists,
                    message: "there is a store \"\(section.name)\" already: choose another name")
            }
            guard let other = try section.value(Catalogue.storePath) ?? nil,
                let place = try? Self.resolved(other)
            else { continue }
            if folder.starts(with: place) || place.starts(with: folder) {
                throw SettingsError(
                    code: .storeExists,
                    message:
                        "\(folder) and the store \"\(section.name)\" in \(place) lie in one another: a secret can "
                        + "belong to one store only")
            }
        }
        try configuration.addStore(
            name: name,
            values: [("path", folder.string), ("id", UUIDText.random())])
    }

    private func placeOfPass() -> FilePath? {
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
    private static func resolved(_ path: FilePath) throws(SettingsError) -> FilePath {
        guard let raw = path.withPlatformString({ realpath($0, nil) }) else {
            throw SettingsError(
                code: .access, message: "\(path) is not there: name the folder of a password store")
        }
        defer { free(raw) }
        let resolved = FilePath(platformString: raw)
        var facts = stat()
        guard stat(raw, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
            throw SettingsError(
                code: .access, message: "\(path) is no folder: name the folder of a password store")
        }
        return resolved
    }
}

/// What a store may be called: its name is a directory and a git-config subsection.
public enum StoreName {
    /// Why a name cannot be used, as a sentence; nil when it can.
    public static func objection(to name: String) -> String? {
        let problem: String? =
            if name.isEmpty {
                "it is empty"
            } else if name.hasPrefix(".") || name.hasPrefix("-") {
                "it starts with \"\(name.prefix(1))\""
            } else if name.contains("/") {
                "it has a slash"
            } else if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                "it has control characters"
            } else if name.utf8.count > 200 {
                "it is longer than 200 bytes"
            } else {
                nil
            }
        return problem.map { "a store cannot be called \"\(printable(name))\" because \($0)" }
    }

    private static func printable(_ name: String) -> String {
        String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}

/// Random UUIDs (RFC 9562, version 4) without Foundation.
enum UUIDText {
    static func random() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef")
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append("-") }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }
}
