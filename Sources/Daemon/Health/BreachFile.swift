import Contents
import Glibc
import Stores
import System
import SystemPackage

/// A file with a list of breaches.
final class BreachFile: Sendable {
    private let descriptor: OwnedDescriptor
    private let path: FilePath
    private let size: Int64

    /// Opens a file, and looks at its ends.
    /// - Throws: one sentence where it is no such list.
    init(_ path: FilePath) throws(DaemonError) {
        self.path = path
        do throws(Errno) {
            descriptor = try OwnedDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
            let facts = try descriptor.facts()
            guard facts.st_mode & S_IFMT == S_IFREG else { throw .invalidArgument }
            size = Int64(facts.st_size)
        } catch {
            let reason = error == .invalidArgument ? "it is no file" : "\(error)"
            throw DaemonError(message: "cannot read the list of breaches \(path): \(reason)")
        }
        _ = try list()
    }

    /// Whether a password is in the list.
    func contains(_ password: UnsafeRawBufferPointer) throws(DaemonError) -> Bool {
        let list = try list()
        let found = try wrapping { () throws(ContentsError) in
            try PasswordHash.withSHA1(of: password) { (hash) throws(ContentsError) in try list.contains(hash)
            }
        }
        guard let found else {
            throw DaemonError(
                message: "cannot search the list of breaches \(path): libgcrypt cannot be used")
        }
        return found
    }

    private func list() throws(DaemonError) -> BreachList {
        try wrapping { () throws(ContentsError) in
            try BreachList(size: size) { (offset, count) throws(Errno) in
                try self.descriptor.read(at: offset, count: count)
            }
        }
    }

    private func wrapping<Value>(
        _ body: () throws(ContentsError) -> Value
    ) throws(DaemonError) -> Value {
        try rethrowing(try body()) { (error: ContentsError) in
            DaemonError(message: "cannot use the list of breaches \(path): \(error.message)")
        }
    }
}
