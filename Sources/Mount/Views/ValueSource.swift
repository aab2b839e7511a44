import Contents
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A value, and how long it is not to be given yet.
struct MadeValue: Sendable {
    var bytes: SecretBytes
    var delay = 0.0
    /// Nobody else may be given it.
    var isOfOneReader = false
}

/// Why a value cannot be made: what the program sees, and what `user.passdir.error` tells.
struct ValueError: Error {
    var errno: Errno
    var sentence: String?
    /// It could be made if this store were not locked.
    var lockedStore: MountedStore?
    /// It could be made if this secret could be opened.
    var unopened: UnopenedSecret?

    init(_ errno: Errno, _ sentence: String? = nil) { (self.errno, self.sentence) = (errno, sentence) }

    init(_ error: ContentsError) {
        sentence = error.message
        errno =
            switch error.code {
            case .missing: .noData
            case .invalid, .unsupported, .cannotHold: .invalidArgument
            case .system: .ioError
            }
    }
}

/// A secret whose store tells why it could not be opened.
struct UnopenedSecret {
    var store: MountedStore
    /// As the mount shows it.
    var path: FilePath

    /// Whether its store tells that still: not since it was read, or a passphrase entered that was not before.
    var isTold: Bool { store.failures.withLock { $0.all.contains { $0.path == path } } }
}

/// What is made of a secret.
enum ValueSource {
    case firstLine
    case field(String)
    case code

    /// - Parameter rest: the names behind the secret's.
    init(_ view: View, _ rest: [Name], of secret: Node, in store: MountedStore) throws(Errno) {
        guard secret.kind == .secret, !store.isRecipientFile(secret), !store.isScratch(secret) else {
            throw secret.kind == .directory ? .isDirectory : .noSuchFileOrDirectory
        }
        switch (view, rest.count) {
        case (.first, 0): self = .firstLine
        case (.otp, 0): self = .code
        case (.fields, 0): throw .isDirectory
        case (.fields, 1): self = .field(rest[0].string)
        default: throw .notDirectory
        }
    }

    /// - Returns: nil where a counter has to be raised for it, which takes a turn: see `OpenSecret.countedCode`.
    /// - Throws: ENOENT for a field that is not there, ENODATA for a secret without an otpauth URI, EINVAL where that is wrong.
    func value(of secret: OpenSecret) throws(ValueError) -> MadeValue? {
        switch self {
        case .firstLine: return MadeValue(bytes: try secret.copy { $0.firstLine })
        case .field(let name):
            return MadeValue(
                bytes: try secret.copy { text throws(ValueError) in
                    guard let field = text.field(named: name) else {
                        throw ValueError(.noSuchFileOrDirectory, "it has no field \"\(name)\"")
                    }
                    return field.value
                })
        case .code: return try secret.timedCode()
        }
    }
}

extension OpenSecret {
    /// A copy of a part of the text, in secret memory.
    fileprivate func copy(
        _ part: (SecretText) throws(ValueError) -> Range<Int>
    ) throws(ValueError) -> SecretBytes {
        try withText { (text) throws(ValueError) in
            let range = try part(SecretText(text))
            return try ValueError.wrapping { () throws(Errno) in
                try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: text[range]))
            }
        }
    }
}

extension ValueError {
    /// Runs `body`; its error is what the program sees.
    static func wrapping<Value>(_ body: () throws(Errno) -> Value) throws(ValueError) -> Value {
        do throws(Errno) { return try body() } catch { throw ValueError(error) }
    }
}
