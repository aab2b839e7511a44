import Glibc
import Settings
public import Stores
import System
public import SystemPackage

/// A place in a store as hands type it for pass, and what lies there: a secret before a folder of the same name, unless the
/// text ends with a slash.
public struct SecretPlace: Sendable {
    /// What lies at a place.
    public enum Kind: Sendable, Equatable {
        /// A secret.
        case secret
        /// A folder, or the store itself.
        case folder
        /// A symbolic link in a secret's place.
        case link
        /// Nothing yet.
        case nothing
    }

    /// The store.
    public let access: StoreAccess
    /// What lies there.
    public let kind: Kind
    /// The file or folder on disk, relative to the store; that of the secret to be where there is nothing.
    public let file: FilePath
    /// Whether the text ended with a slash, so that a folder is meant.
    public let namesFolder: Bool
    /// Whether a folder of the same name lies beside the secret that is here or is to be, which the text may mean as well.
    public let isBesideFolder: Bool

    /// The store.
    public var store: Store { access.store }
    /// The path in the store as people and commit messages of pass have it: without `.gpg`.
    public var path: FilePath {
        kind == .folder ? file : kind == .nothing ? file.withoutSuffix : store.visiblePath(of: file)
    }
    /// What pass calls it in the messages of commits: the path on disk, without `.gpg`.
    public var passName: String { (kind == .folder ? file : file.withoutSuffix).string }
    /// STORE/PATH.
    public var name: String { file.isEmpty ? store.name : "\(store.name)/\(path)" }

    init(_ access: StoreAccess, _ typed: FilePath, namesFolder: Bool) {
        self.access = access
        self.namesFolder = namesFolder
        (kind, file) = Self.look(at: typed, namesFolder: namesFolder, in: access.store.root)
        isBesideFolder =
            kind == .secret && typed != file && (try? access.store.root.status(of: typed))?.kind == .directory
    }

    private init(_ other: SecretPlace, _ file: FilePath, _ kind: Kind, besideFolder: Bool = false) {
        (access, namesFolder, self.file, self.kind) = (other.access, other.namesFolder, file, kind)
        isBesideFolder = besideFolder
    }

    /// What a path without a store stands for on disk.
    static func look(at path: FilePath, namesFolder: Bool, in root: Root) -> (kind: Kind, file: FilePath) {
        guard let name = path.lastComponent else { return (.folder, path) }
        let secret = path.removingLastComponent().appending(name.appendingSuffix())
        let isHidden = path.components.contains { $0.kind != .regular || VisibleName.isHidden($0) }
        guard !isHidden else { return (.nothing, secret) }
        let isFolder = (try? root.status(of: path))?.kind == .directory
        if isFolder, namesFolder { return (.folder, path) }
        if let kind = kind(of: secret, in: root) { return (kind, secret) }
        if isFolder { return (.folder, path) }
        // Named as on disk, or as the mount shows it where a folder stands in the way.
        if name.strippingSuffix() != nil { return (kind(of: path, in: root) ?? .nothing, path) }
        return (.nothing, secret)
    }

    private static func kind(of file: FilePath, in root: Root) -> Kind? {
        switch (try? root.status(of: file))?.kind {
        case .regular: .secret
        case .symbolicLink: .link
        case .directory, .other, nil: nil
        }
    }

    /// The place for a secret beside a folder of the same name, as pass makes it; this one where no such folder is meant.
    var besideFolder: SecretPlace {
        guard kind == .folder, !namesFolder, let name = file.lastComponent else { return self }
        return SecretPlace(
            self, file.removingLastComponent().appending(name.appendingSuffix()), .nothing, besideFolder: true
        )
    }

    /// What is to be said of a new secret for which a folder is made beside a secret of the same name: pass has both, and who
    /// makes it may not know of that. Nil where none is made.
    public var noteOfNewFolder: String? {
        guard kind == .nothing else { return nil }
        var folder = file
        while folder.removeLastComponent(), let name = folder.lastComponent {
            if (try? store.root.status(of: folder)) != nil { return nil }
            let secret = folder.removingLastComponent().appending(name.appendingSuffix())
            guard Self.kind(of: secret, in: store.root) == nil else {
                return
                    "\(store.name)/\(folder) is a secret, and \(store.name)/\(folder)/ is a folder beside it now"
            }
        }
        return nil
    }

    /// A secret that was found in this folder.
    func secret(at file: FilePath) -> SecretPlace { SecretPlace(self, file, .secret) }

    /// The secret that a link leads to, within the store; this place where it is no link.
    /// - Throws: one sentence where it leads to no secret of the store.
    public func followed() throws(DaemonError) -> SecretPlace {
        var (place, attempts) = (self, 0)
        while place.kind == .link {
            attempts += 1
            let target = (try? store.root.target(ofLink: place.file)) ?? []
            let text = FilePath(String(decoding: target, as: UTF8.self))
            let led = place.file.removingLastComponent().pushing(text).lexicallyNormalized()
            guard attempts < 40, !text.isAbsolute, led.components.allSatisfy({ $0.kind == .regular }) else {
                throw DaemonError(
                    message:
                        "\(name) is a symbolic link that leads out of the store, which passdir does not follow"
                )
            }
            let (kind, file) = Self.look(at: led, namesFolder: false, in: store.root)
            guard kind == .secret || kind == .link else {
                throw DaemonError(message: "\(name) is a symbolic link to \(led), where there is no secret")
            }
            place = SecretPlace(self, file, kind)
        }
        return place
    }

    /// Why no secret can be made here, as one sentence; nil where one can.
    var objectionToNew: String? {
        guard let last = file.lastComponent else { return "\(name) is a store: name a secret in it" }
        let isForbidden = file.components.contains { part in
            part.kind != .regular || VisibleName.isHidden(part)
                || Store.isRefused(part, of: part == last ? .regular : .directory)
        }
        if isForbidden || last.withoutSuffix == Store.recipientFileName {
            return "\(name) cannot be the name of a secret: git or passdir uses it for its own files"
        }
        if Store.isTooLong(file) || file.components.contains(where: { $0.byteCount > 255 }) {
            return "the name \(VisibleText.cut(name, atMost: 80)) is too long for a secret: use a shorter one"
        }
        return nil
    }
}

extension FilePath.Component {
    /// The name without the `.gpg` of a secret.
    fileprivate var withoutSuffix: FilePath.Component { strippingSuffix() ?? self }
}
