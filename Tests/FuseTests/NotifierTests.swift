import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import Fuse

/// The kernel forgets what it is told to forget, and believes the rest.
@Suite(.timeLimit(.minutes(2)), .enabled(if: canMount))
struct NotifierTests {
    @Test func aNameIsLookedUpAgainAfterItsInvalidation() async throws {
        try await TestMount.with(MemoryFilesystem(timeout: 600)) { mount in
            try await onThread {
                func lookups() -> Int { mount.filesystem.state.withLock { $0.lookupCalls } }
                try Client.write(mount.file("a"), [1])
                let before = lookups()
                for _ in 0..<3 { _ = try Client.status(mount.file("a")) }
                #expect(lookups() == before)
                mount.session.notifier.invalidateEntry(parent: .root, name: "a")
                _ = try Client.status(mount.file("a"))
                #expect(lookups() == before + 1)
                let inode = InodeNumber(rawValue: UInt64(try Client.status(mount.file("a")).st_ino))
                mount.session.notifier.deleteEntry(parent: .root, child: inode, name: "a")
                _ = try Client.status(mount.file("a"))
                #expect(lookups() == before + 2)
                // Unknown to the kernel: nothing to forget.
                mount.session.notifier.invalidateEntry(parent: .root, name: "never seen")
                mount.session.notifier.invalidateInode(InodeNumber(rawValue: 4711))
            }
        }
    }

    @Test func contentIsReadAgainAfterItsInvalidation() async throws {
        try await TestMount.with(MemoryFilesystem(timeout: 600, keepsCache: true)) { mount in
            try await onThread {
                try Client.write(mount.file("a"), Array("old".utf8))
                let inode = InodeNumber(rawValue: UInt64(try Client.status(mount.file("a")).st_ino))
                mount.session.notifier.invalidateInode(inode)
                #expect(try Client.read(mount.file("a")) == Array("old".utf8))
                mount.filesystem.state.withLock { $0.nodes[inode]?.bytes = Array("new".utf8) }
                #expect(try Client.read(mount.file("a")) == Array("old".utf8), "from the page cache")
                mount.session.notifier.invalidateInode(inode)
                #expect(try Client.read(mount.file("a")) == Array("new".utf8))
            }
        }
    }

    @Test func anOpenMayInvalidateItsOwnInode() async throws {
        try await TestMount.with(MemoryFilesystem(timeout: 600, keepsCache: true)) { mount in
            let filesystem = mount.filesystem
            filesystem.onOpen.withLock {
                $0 = { _, name throws(Errno) in
                    let (inode, notifier) = filesystem.state.withLock { state in
                        let inode = state.find(name, in: .root)
                        if let inode {
                            state.nodes[inode]?.bytes = Array("decrypted".utf8)
                            state.nodes[inode]?.attributes.size = 9
                        }
                        return (inode, state.notifier)
                    }
                    if let inode { notifier?.invalidateInode(inode, offset: -1) }
                }
            }
            try await onThread {
                try Client.write(mount.file("a"), [1])
                #expect(try Client.status(mount.file("a")).st_size == 1)
                #expect(try Client.read(mount.file("a")) == Array("decrypted".utf8))
                #expect(try Client.status(mount.file("a")).st_size == 9)
            }
        }
    }
}
