import CLinux
import Glibc
import Synchronization
public import SystemPackage

/// What happens in folders: inotify(7). A user has 128 instances by default (max_user_instances).
public final class Inotify: Sendable {
    /// One event.
    public struct Event: Sendable {
        /// The number of the watched folder; -1 where events were lost.
        public let watch: CInt
        /// IN_ flags: what happened.
        public let mask: UInt32
        /// The name in the folder that it happened to; empty for the folder itself.
        public let name: [UInt8]
    }

    private let descriptor: OwnedDescriptor
    /// What events are read into. It is made once: whoever watches does so as long as the process lives, and where memory is
    /// short at some moment of that time, one that is made for a call ends the process.
    private let buffer = Mutex([UInt8](repeating: 0, count: 65536))

    /// - Throws: EMFILE when the user has too many.
    public init() throws(Errno) {
        let opened = inotify_init1(CInt(IN_CLOEXEC))
        guard opened >= 0 else { throw .last }
        descriptor = OwnedDescriptor(opened)
    }

    /// Watches a folder.
    ///
    /// - Parameter events: IN_ flags.
    /// - Returns: the number that its events carry; no other folder gets it.
    @discardableResult
    public func add(_ folder: FilePath, _ events: Int32) throws(Errno) -> CInt {
        let number = folder.withPlatformString { inotify_add_watch(descriptor.raw, $0, UInt32(events)) }
        guard number >= 0 else { throw .last }
        return number
    }

    /// Waits for events, in the order in which they happened.
    ///
    /// - Parameter deadline: nil waits for ever.
    /// - Returns: none when the deadline came.
    public func events(until deadline: ContinuousClock.Instant?) throws(Errno) -> [Event] {
        guard try Poll.wait(for: POLLIN, on: descriptor.raw, until: deadline) else { return [] }
        return try buffer.withLock { (bytes) throws(Errno) in
            let outcome: Result<[Event], Errno> = bytes.withUnsafeMutableBytes { buffer in
                var count = -1
                repeat {
                    count = read(descriptor.raw, buffer.baseAddress, buffer.count)
                } while count < 0 && errno == EINTR
                guard count >= 0 else { return .failure(.last) }
                return .success(Self.events(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
            }
            return try outcome.get()
        }
    }

    private static func events(in bytes: UnsafeRawBufferPointer) -> [Event] {
        var events: [Event] = []
        var rest = bytes
        // Number, mask, cookie, length of the name, and the name, padded with NUL.
        while rest.count >= 16 {
            let end = min(16 + Int(rest.loadUnaligned(fromByteOffset: 12, as: UInt32.self)), rest.count)
            events.append(
                Event(
                    watch: rest.loadUnaligned(as: CInt.self),
                    mask: rest.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                    name: Array(rest[16..<end].prefix { $0 != 0 })))
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
        return events
    }
}
