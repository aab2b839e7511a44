import Fuse
import Stores
import Synchronization
import SystemPackage

/// What programs have open.
final class Handles: Sendable {
    /// One open file or folder.
    enum Handle: Sendable {
        /// A secret or scratch file, in use until the handle is closed.
        case secret(OpenSecret)
        /// A file that is not encrypted, read as it was when it was opened.
        case plain(PlainContent)
        /// The listing of a folder, taken when reading starts at its beginning.
        case directory([Listed])
    }

    /// A secret that is open.
    struct OpenSecret: Sendable {
        var node: Node
        var file: SecretFile
        var isWritable: Bool
        /// Every write goes to the end.
        var appends: Bool
    }

    /// An entry of a listing.
    struct Listed: Sendable {
        var name: Name
        var inode: InodeNumber
        var kind: FileKind
    }

    private struct State {
        var open: [HandleNumber: Handle] = [:]
        var next: UInt64 = 1
    }
    private let state = Mutex(State())

    func add(_ handle: Handle) -> HandleNumber {
        state.withLock { state in
            let number = HandleNumber(rawValue: state.next)
            state.next += 1
            state.open[number] = handle
            return number
        }
    }

    /// The secrets that programs have open and may write to.
    var writable: [Node] {
        state.withLock { state in
            state.open.values.compactMap { handle in
                guard case .secret(let open) = handle, open.isWritable else { return nil }
                return open.node
            }
        }
    }

    subscript(number: HandleNumber) -> Handle? {
        get { state.withLock { $0.open[number] } }
        set { state.withLock { $0.open[number] = newValue } }
    }
}

/// The bytes of a file that is not encrypted: nothing secret, read whole because such files are small.
final class PlainContent: Sendable {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
}
