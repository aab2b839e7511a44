import Fuse
import Stores
import Synchronization
import System
import SystemPackage

@testable import Mount

/// What a mount tells the kernel to forget, as this process sees it.
final class ToldKernel: KernelCache {
    enum Message: Hashable {
        case attributes(InodeNumber)
        case pages(InodeNumber)
        case name(InodeNumber, String)
    }

    private let messages = Monitor<[Message]>([])

    func invalidateInode(_ inode: InodeNumber, offset: Int64, length: Int64) {
        tell(offset < 0 ? .attributes(inode) : .pages(inode))
    }

    func invalidateEntry(parent: InodeNumber, name: Name) { tell(.name(parent, name.string)) }

    func deleteEntry(parent: InodeNumber, child: InodeNumber, name: Name) {
        tell(.name(parent, name.string))
    }

    private func tell(_ message: Message) {
        messages.withLock { $0.append(message) }
        messages.broadcast()
    }

    /// Forgets what was told up to now.
    func clear() { messages.withLock { $0 = [] } }

    /// Whether something is told within ten seconds, or was since `clear`.
    func hears(_ message: Message) -> Bool {
        let end = MonotonicTime(secondsFromNow: 10)
        return messages.waiting { messages, isOver in
            messages.contains(message) ? .done(true) : isOver ? .done(false) : .wait(until: end)
        }
    }

    /// What was told.
    var heard: [Message] { messages.withLock { $0 } }
}

extension TestMount {
    /// Runs a test as if a kernel had mounted it.
    static func withKernel(
        _ options: StoreFilesystem.Options = .init(secretLimit: 1 << 20),
        _ body: (TestMount, ToldKernel) throws -> Void
    ) throws {
        try with(options) { mount in
            let kernel = ToldKernel()
            mount.filesystem.mount.kernel.withLock { $0 = kernel }
            defer { mount.filesystem.unmounted() }
            try body(mount, kernel)
        }
    }
}
