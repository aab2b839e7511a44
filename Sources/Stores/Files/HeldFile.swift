import System
import SystemPackage

/// A file that can be read although nothing leads to it any more. Takes a descriptor, and no memory for what is in it.
public final class HeldFile: Sendable {
    private let file: OwnedDescriptor
    /// Its facts when it was taken.
    public let status: FileStatus

    init(_ file: consuming OwnedDescriptor) throws(Errno) {
        status = try file.status()
        self.file = file
    }

    /// What is in it; nil where that cannot be read, or somebody has written into it since.
    public func content(limit: Int) -> [UInt8]? {
        guard let (bytes, now) = try? file.readAll(limit: limit),
            now.identity.size == status.identity.size, now.identity.modified == status.identity.modified
        else { return nil }
        return bytes
    }
}
