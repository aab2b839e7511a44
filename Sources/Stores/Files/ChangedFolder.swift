import Glibc
import System
public import SystemPackage

/// A folder of a store in which a name is changed, to be made durable afterwards: it is held open, so that it is this one
/// wherever it has been renamed to by then.
public final class ChangedFolder: Sendable {
    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    /// fsync(2): what was made, renamed or removed in it survives a power cut. Blocks on the disk.
    public func synchronize() throws(Errno) {
        try descriptor.synchronize()
    }
}
