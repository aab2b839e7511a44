import Stores
import Synchronization
import System
import SystemPackage

extension SecretFile {
    /// A copy of the content.
    func snapshot() throws(StoreError) -> Snapshot {
        try copy { (state) throws(Errno) in try state.snapshot() }
    }

    /// A copy of what is to be saved; nil when nothing is.
    func dirtySnapshot() throws(StoreError) -> Snapshot? {
        try copy { (state) throws(Errno) in state.isDirty ? try state.snapshot() : nil }
    }

    private func copy<Value: Sendable>(
        _ body: (inout State) throws(Errno) -> Value
    ) throws(StoreError) -> Value {
        do throws(Errno) {
            return try state.withLock { (state) throws(Errno) in try body(&state) }
        } catch {
            let isForgotten = error == .permissionDenied
            throw StoreError(
                .system(error),
                isForgotten ? "the store has since been locked." : "not enough memory for a copy of the file."
            )
        }
    }
}

/// What is to be saved.
struct Snapshot: Sendable {
    var bytes: SecretBytes
    var version: UInt64
    var accessed: FileTime?
    var modified: FileTime?
}
