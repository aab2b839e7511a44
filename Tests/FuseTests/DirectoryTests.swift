import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import Fuse

/// Large directories, read in many pieces and from anywhere.
@Suite(.timeLimit(.minutes(2)), .enabled(if: canMount))
struct DirectoryTests {
    private func filled(_ count: Int) -> MemoryFilesystem {
        let filesystem = MemoryFilesystem()
        filesystem.state.withLock { state in
            for number in 0..<count {
                let inode = InodeNumber(rawValue: UInt64(number + 10))
                state.nodes[inode] = MemoryFilesystem.node(inode, .regular, 0o600)
                if let name = Name("name-\(number)") { state.add(name, inode, to: .root) }
            }
            state.nextInode = UInt64(count + 10)
        }
        return filesystem
    }

    @Test func fiveThousandNamesAreListedOnceEach() async throws {
        try await TestMount.with(filled(5000)) { mount in
            let names = try await onThread { try Client.names(mount.path) }
            #expect(names.count == 5002)
            #expect(Set(names) == Set((0..<5000).map { "name-\($0)" } + [".", ".."]))
        }
    }

    @Test func aSeekGoesOnWhereItsPositionWasTold() async throws {
        try await TestMount.with(filled(5000)) { mount in
            try await onThread {
                let directory = try #require(opendir(mount.path.string))
                defer { closedir(directory) }
                var positions: [(Int, String)] = []
                var position = telldir(directory)
                while let entry = readdir(directory) {
                    positions.append((position, Client.name(of: entry)))
                    position = telldir(directory)
                }
                try #require(positions.count == 5002)
                for index in [4321, 17, 0, 5001, 2500] {
                    seekdir(directory, positions[index].0)
                    let entry = try #require(readdir(directory))
                    #expect(Client.name(of: entry) == positions[index].1)
                }
                // What was removed behind the position shifts nothing before it.
                seekdir(directory, positions[3000].0)
                #expect(unlink(mount.file("name-10").string) == 0)
                let entry = try #require(readdir(directory))
                #expect(Client.name(of: entry) == positions[3000].1)
            }
        }
    }
}
