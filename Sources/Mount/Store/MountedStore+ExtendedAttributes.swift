import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// The extended attributes that tell of a secret; they are read-only, and told to those who name them.
enum TellingAttribute: String {
    /// Fingerprint and user id of each key that can read it, one a line.
    case recipients
    /// The name of its store.
    case store
    /// The file on disk.
    case backing
    /// The size of that file in bytes.
    case encryptedSize = "encrypted-size"
    /// `saved`, `ignored` (saved, but git ignores it, so that it is not committed), `unsaved`, `failed` or `scratch`.
    case state
    /// Why it could not be saved or opened.
    case error

    static let prefix = "user.passdir."

    init?(_ name: [UInt8]) {
        let text = String(decoding: name, as: UTF8.self)
        guard text.hasPrefix(Self.prefix) else { return nil }
        self.init(rawValue: String(text.dropFirst(Self.prefix.count)))
    }
}

extension MountedStore {
    func extendedAttribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8] {
        guard let attribute = TellingAttribute(name), let value = try value(of: attribute, for: node) else {
            throw .noData
        }
        return Array(value.utf8)
    }

    /// Whether a thing has an attribute.
    private func has(_ attribute: TellingAttribute, _ node: Node) -> Bool {
        let isOnDisk = !isScratch(node)
        switch (attribute, node.kind) {
        case (_, .root), (_, .memoryLink): return false
        case (.store, _): return true
        case (.backing, _): return isOnDisk
        case (.recipients, .secret): return isOnDisk
        case (.recipients, .directory): return true
        case (.encryptedSize, .secret): return (try? diskStatus(of: node)) != nil && isOnDisk
        case (.state, .secret): return true
        case (.error, .secret): return failure(of: node) != nil
        default: return false
        }
    }

    private func value(of attribute: TellingAttribute, for node: Node) throws(Errno) -> String? {
        guard has(attribute, node), let path = tree.backingPath(of: node) else { return nil }
        switch attribute {
        case .store: return store.name
        case .backing: return root.path.pushing(path).string
        case .encryptedSize: return String(try diskStatus(of: node).identity.size)
        // It is printed by getfattr(1), and may hold names and words of servers.
        case .error: return failure(of: node).map { VisibleText.line($0) }
        case .state:
            let state = state(of: node)
            return state == "saved" && sink.isIgnored(path) ? "ignored" : state
        case .recipients:
            return try Errno.catching { () throws(StoreError) in try recipients(of: node, path) }
        }
    }

    /// For a secret who can read what lies on disk; for one that was never saved, and for a folder, who is to.
    private func recipients(of node: Node, _ path: FilePath) throws(StoreError) -> String {
        if node.kind == .secret, (try? diskStatus(of: node)) != nil {
            return try store.readers(of: path).map(\.description).joined(separator: "\n")
        }
        let inside = node.kind == .directory ? path.appending("secret") : path
        return try store.list(for: inside).recipients.map { recipient in
            ([recipient.key.fingerprint.description] + recipient.key.userIDs.prefix(1).map(\.text))
                .joined(separator: " ")
        }.joined(separator: "\n")
    }

    private func state(of node: Node) -> String {
        node.secret?.state.withLock { state in
            if state.isScratch { return "scratch" }
            if state.failure != nil { return "failed" }
            return state.isDirty ? "unsaved" : "saved"
        } ?? "saved"
    }

    /// Why a secret could not be saved, or else could not be opened.
    private func failure(of node: Node) -> String? {
        if let failure = node.secret?.state.withLock({ $0.failure }) { return failure.message }
        let path = tree.visiblePath(of: node)
        guard let failed = standingFailures.first(where: { $0.path == path }) else { return nil }
        return failed.message
    }
}
