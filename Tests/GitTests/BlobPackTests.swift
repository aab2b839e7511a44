import Glibc
import SystemPackage
import Testing

@testable import Git

/// Many blobs in one pack, read back by git.
@Suite struct BlobPackTests {
    @Test func gitReadsWhatIsPacked() throws {
        let work = try TestRepository()
        let repository = try work.open()
        var generator = SystemRandomNumberGenerator()
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in generator.next() } }
        // Around the lengths at which the head and the blocks change their form, and one twice.
        var contents = [
            0, 1, 15, 16, 17, 2047, 2048, 5552, 5553, 65534, 65535, 65536, 131_070, 131_071, 300_000,
        ]
        .map(random)
        contents += (0..<30).map { Array("secret \($0)\n".utf8) }
        contents.append([UInt8](repeating: 0xff, count: 200_000))
        contents.append(contents[3])
        var names: [FilePath] = []
        for (number, content) in contents.enumerated() {
            names.append(FilePath("d/s\(number)"))
            try work.write(names[number], content)
        }
        let tip = try #require(try repository.record(names))
        for (name, content) in zip(names, contents) {
            #expect(
                try repository.blob(#require(try repository.blobID(at: name, in: tip)), atMost: 1 << 24)
                    == content)
        }
        let packs = try work.git("count-objects", "-v")
        #expect(packs.contains("packs: 1\n"))
        #expect(packs.contains("in-pack: \(contents.count - 1)\n"), "\(packs)")
        try work.git("fsck", "--strict", "--full")
        #expect(try work.status == "")
        let listing = try work.git("ls-tree", "-r", "-l", "HEAD")
        #expect(listing.split(separator: "\n").count == contents.count)
        try work.folder.run(["rm", "-rf", work.path.appending("d").string])
        try work.git("checkout", "-q", "--", "d")
        #expect(try work.status == "")
        for pack in try work.folder.run(["sh", "-c", "ls .git/objects/pack/*.pack"], in: work.path).text
            .split(separator: "\n")
        {
            try work.git("verify-pack", String(pack))
        }
        // Once more, with what is there already: no second pack.
        let others = names.indices.map { FilePath("e/\($0)") }
        for (name, content) in zip(others, contents) { try work.write(name, content) }
        try repository.record(others)
        #expect(try work.git("count-objects", "-v").contains("packs: 1\n"))
        try work.git("fsck", "--strict", "--full")
    }

    /// A few are written each by itself, as git does.
    @Test func fewAreNotPacked() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for number in 0..<31 { try work.write(FilePath("\(number)"), "\(number)") }
        try repository.record((0..<31).map { FilePath("\($0)") })
        #expect(try work.git("count-objects", "-v").contains("packs: 0\n"))
    }

    @Test func withoutAFolderForPacksNothingIsPacked() throws {
        let work = try TestRepository()
        let repository = try work.open()
        rmdir(work.path.pushing(".git/objects/pack").string)
        for number in 0..<40 { try work.write(FilePath("\(number)"), "\(number)") }
        try repository.record((0..<40).map { FilePath("\($0)") })
        try work.git("fsck", "--strict", "--full")
        #expect(try work.status == "")
    }

    /// More than is held in memory at once.
    @Test func manyMakeSeveralPacks() throws {
        let work = try TestRepository()
        let repository = try work.open()
        let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for number in 0..<120 { try work.write(FilePath("\(number)"), Array("\(number)\n".utf8) + content) }
        try repository.record((0..<120).map { FilePath("\($0)") })
        let counts = try work.git("count-objects", "-v")
        #expect(counts.contains("packs: 3\n"), "\(counts)")
        #expect(counts.contains("in-pack: 120\n"), "\(counts)")
        try work.git("fsck", "--strict", "--full")
        #expect(try work.status == "")
    }
}
