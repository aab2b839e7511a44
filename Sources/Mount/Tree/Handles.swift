import Fuse
import Synchronization
import SystemPackage

/// What programs have open.
final class Handles: Sendable {
    /// One open file or folder.
    enum Handle: Sendable {
        case file(any OpenFile)
        /// The listing of a folder, taken when reading starts at its beginning.
        case directory([ListedEntry])
        /// A listing that was taken when the folder was opened.
        case listing([ListedEntry])
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

    @discardableResult
    func remove(_ number: HandleNumber) -> Handle? {
        state.withLock { $0.open.removeValue(forKey: number) }
    }

    /// The open files.
    var files: [any OpenFile] {
        state.withLock { state in
            state.open.values.compactMap { handle in
                if case .file(let file) = handle { file } else { nil }
            }
        }
    }

    /// An open file; EBADF where the number is none's.
    func file(_ number: HandleNumber) throws(Errno) -> any OpenFile {
        guard case .file(let file) = self[number] else { throw .badFileDescriptor }
        return file
    }

    subscript(number: HandleNumber) -> Handle? {
        get { state.withLock { $0.open[number] } }
        set { state.withLock { $0.open[number] = newValue } }
    }
}
