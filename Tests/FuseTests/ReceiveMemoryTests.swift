import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import Fuse

/// Where requests lie, and for how long.
@Suite(.timeLimit(.minutes(2)))
struct ReceiveMemoryTests {
    /// Memory that stands directly before a page which must not be touched.
    // Sendable because the tests read what receiving threads have finished with.
    private final class Watched: ReceiveMemory, @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
        private let whole: UnsafeMutableRawBufferPointer

        init(byteCount: Int) {
            let pages = (byteCount + 4095) / 4096 * 4096
            let start = mmap(nil, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
            mprotect(start + pages, 4096, PROT_NONE)
            whole = UnsafeMutableRawBufferPointer(start: start, count: pages + 4096)
            bytes = UnsafeMutableRawBufferPointer(start: start + pages - byteCount, count: byteCount)
        }

        deinit { munmap(whole.baseAddress!, whole.count) }

        func contains(_ other: UnsafeRawBufferPointer) -> Bool {
            other.baseAddress! >= UnsafeRawPointer(bytes.baseAddress!)
                && other.baseAddress! + other.count <= bytes.baseAddress! + bytes.count
        }
    }

    @Test(.enabled(if: canMount)) func writesStayInReceiveMemoryAndAreWiped() async throws {
        let memories = Mutex<[Watched]>([])
        var options = SessionOptions()
        options.receiveMemory = { byteCount throws(Errno) in
            #expect(byteCount == 128 << 10 + 4096)
            let memory = Watched(byteCount: byteCount)
            memories.withLock { $0.append(memory) }
            return memory
        }
        let filesystem = MemoryFilesystem()
        let largest = Mutex(0)
        let all = memories.withLock { $0 }
        #expect(all.isEmpty)
        filesystem.onWrite.withLock {
            $0 = { bytes in
                largest.withLock { $0 = max($0, bytes.count) }
                let isInside = memories.withLock { $0.contains { $0.contains(bytes) } }
                #expect(isInside)
            }
        }
        let secret = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) }
        try await TestMount.with(filesystem, options: options) { mount in
            let read = try await onThread {
                try Client.write(mount.file("secret"), secret)
                return try Client.read(mount.file("secret"))
            }
            #expect(read == secret)
        }
        #expect(largest.withLock { $0 } == 128 << 10)
        #expect(memories.withLock { $0.count } == 4)
        // The session is over, hence every thread has wiped.
        for memory in memories.withLock({ $0 }) {
            let isClean = memory.bytes.allSatisfy { $0 == 0 }
            #expect(isClean)
        }
    }

    @Test func protectedPagesAreLockedAndLeftOutOfDumpsAndChildren() throws {
        let pages = try ProtectedPages(byteCount: 5000)
        #expect(pages.bytes.count == 8192)
        let start = UInt(bitPattern: pages.bytes.baseAddress)
        let maps = String(decoding: try Client.read("/proc/self/smaps"), as: UTF8.self).split(separator: "\n")
        // The kernel makes one area of neighbours that are alike.
        let area = try #require(
            maps.firstIndex { line in
                let bounds = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) }
                guard bounds.count == 2, let begin = bounds[0], let end = bounds[1] else { return false }
                return begin <= start && start < end
            })
        let flags = try #require(maps[area...].first { $0.hasPrefix("VmFlags:") }).split(separator: " ")
        #expect(flags.contains("dd"), "not dumped")
        #expect(flags.contains("wf"), "wiped on fork")
        #expect(flags.contains("lo") == pages.isLocked)
    }

    @Test(.enabled(if: canMount)) func theDeviceIsNotInherited() async throws {
        try await TestMount.with { mount in
            var found = 0
            for descriptor in try Client.names("/proc/self/fd").compactMap({ Int32($0) }) {
                var target = [UInt8](repeating: 0, count: 64)
                let count = target.withUnsafeMutableBytes { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count)
                    }
                }
                guard count == 9, String(decoding: target.prefix(9), as: UTF8.self) == "/dev/fuse" else {
                    continue
                }
                found += 1
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
            }
            #expect(found > 0)
        }
    }
}
