import Fuse
import Glibc
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Which inode a name leads to, and how long it lives.
@Suite struct LookupTests {
    @Test func aPathHasTheSameNumberInEveryMount() throws {
        var numbers: Set<InodeNumber> = []
        for _ in 0..<2 {
            try TestMount.with { mount in
                try mount.save("x", "work/a")
                numbers.insert(try mount.at("work/a") { $0 })
            }
        }
        #expect(numbers.count == 1)
    }

    /// The kernel forgets on one thread what it looks up on another: what a look-up gives must stay known.
    @Test func aLookUpBesideForgettingGivesWhatIsKnown() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let folder = try mount.look("work")
            let failures = Mutex<[Errno]>([])
            let running = Monitor(4)
            for _ in 0..<4 {
                try PosixThread.start(named: "looks") {
                    for _ in 0..<400 {
                        do throws(Errno) {
                            let entry = try mount.filesystem.lookup(in: folder.inode, name: "a")
                            defer { mount.filesystem.forget(entry.inode, count: 1) }
                            _ = try mount.filesystem.attributes(of: entry.inode, handle: nil)
                        } catch {
                            failures.withLock { $0.append(error) }
                        }
                    }
                    running.withLock { $0 -= 1 }
                    running.broadcast()
                }
            }
            running.waiting { count, _ in count == 0 ? .done(()) : .wait(until: nil) }
            mount.forget(folder)
            let failed = failures.withLock { $0 }
            #expect(failed.isEmpty, "\(failed.count) of 1,600: \(failed.first.map { "\($0)" } ?? "")")
        }
    }

    /// Others have put another file in the place of one that a program has open: it has no name, not that of its file.
    @Test func whatOthersReplaceHasNoOtherName() throws {
        try TestMount.with { mount in
            try mount.encrypt("one", "work/a.gpg")
            let reader = try mount.open("work/a", O_RDONLY)
            let entry = try mount.look("work/a")
            try mount.encrypt("two", "work/a.gpg")
            let other = try mount.look("work/a")
            #expect(other.inode != entry.inode)
            let path = try mount.filesystem.tree.visiblePath(of: mount.filesystem.tree.node(entry.inode))
            #expect(path == nil)
            #expect(try mount.read("work/a") == "two" && reader.text == "one")
            reader.release()
            // Nobody has it any more, and it has no name: the kernel is to look the name up again.
            #expect(
                mount.failure { () throws(Errno) in
                    _ = try mount.open(entry, O_RDONLY)
                } == .staleNFSFileHandle)
            mount.forget(entry)
            mount.forget(other)
        }
    }

    @Test func whatIsForgottenIsStale() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let entry = try mount.look("work/a")
            let again = try mount.look("work/a")
            #expect(entry.inode == again.inode)
            mount.forget(entry)
            #expect(
                mount.failure { () throws(Errno) in
                    try mount.filesystem.attributes(of: entry.inode, handle: nil)
                } == nil)
            mount.forget(again)
            #expect(
                mount.failure { () throws(Errno) in
                    try mount.filesystem.attributes(of: entry.inode, handle: nil)
                }
                    == .staleNFSFileHandle)
            // More than was counted, as after an abort.
            mount.filesystem.forget(entry.inode, count: .max)
            mount.filesystem.forget(.root, count: .max)
            #expect(try mount.read("work/a") == "x")
        }
    }

    @Test func aParentLivesAsLongAsItsChildren() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/a")
            let inner = try mount.look("work/d/a")
            let folder = try mount.look("work/d")
            mount.forget(folder)
            #expect(
                try mount.filesystem.extendedAttribute(inner.inode, name: Array("user.passdir.store".utf8))
                    == Array("work".utf8))
            mount.forget(inner)
        }
    }

    @Test func aRenamedInodeStaysAndTheOldNameGetsAnother() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let entry = try mount.look("work/a")
            try mount.rename("work/a", "work/b")
            #expect(try mount.at("work/b") { $0 } == entry.inode)
            try mount.save("y", "work/a")
            #expect(try mount.at("work/a") { $0 } != entry.inode)
            mount.forget(entry)
        }
    }

    /// What others change in a store is seen at the next look, under the same number where it is the same name.
    @Test func whatOthersChangeIsSeen() throws {
        try TestMount.with { mount in
            try mount.save("one", "work/a")
            try mount.encrypt("another", "work/a.gpg")
            #expect(try mount.size("work/a") == 7)
            #expect(try mount.read("work/a") == "another")
            unlink(mount.disk("work/a.gpg").string)
            #expect(mount.failure { () throws(Errno) in try mount.look("work/a") } == .noSuchFileOrDirectory)
            mkdir(mount.disk("work/a").string, 0o700)
            #expect(try mount.attributes("work/a").kind == .directory)
        }
    }

    /// Who has the old version open keeps it; who opens it now gets the new one.
    @Test func anOpenFileKeepsWhatItOpened() throws {
        try TestMount.with { mount in
            try mount.save("one", "work/a")
            let file = try mount.open("work/a", O_RDONLY)
            try mount.encrypt("two", "work/a.gpg")
            #expect(try mount.read("work/a") == "two")
            #expect(try file.text == "one")
            file.release()
        }
    }

    @Test func theTopListsTheStoresInOrder() throws {
        try TestMount.with { mount in
            let third = try mount.add("third")
            #expect(try mount.entries("").map(\.name.string) == [".", "..", "work", "home", "third"])
            mount.filesystem.setOrder([third])
            #expect(try mount.entries("").map(\.name.string) == [".", "..", "third", "work", "home"])
            #expect(try mount.attributes("").linkCount == 5)
            #expect(mount.failure { () throws(Errno) in try mount.look("none") } == .noSuchFileOrDirectory)
        }
    }

    /// Each change of names in the mount point is refused.
    @Test(arguments: ["mkdir", "mknod", "symlink", "create", "unlink", "rmdir", "rename", "into"])
    func theTopIsNotChanged(_ call: String) throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let failure = mount.failure { () throws(Errno) in
                switch call {
                case "mkdir": try mount.makeDirectory("new")
                case "mknod": try mount.makeNode("new")
                case "symlink": try mount.link("new", to: "work")
                case "create": try mount.save("x", "new")
                case "unlink": try mount.unlink("work")
                case "rmdir": try mount.removeDirectory("work")
                case "rename": try mount.rename("work", "new")
                default: try mount.rename("work/a", "new")
                }
            }
            #expect(failure == .notPermitted)
        }
    }

    @Test func aListingHoldsUntilItIsRewound() throws {
        try TestMount.with { mount in
            for name in ["a", "b"] { try mount.makeNode("work/" + name) }
            let folder = try mount.look("work")
            let handle = try mount.filesystem.openFolder(folder.inode, flags: OpenFlags(rawValue: 0))
                .handle
            func names(from offset: Int64, room: Int = .max) throws -> [String] {
                var found: [String] = []
                try mount.filesystem.readDirectory(folder.inode, handle: handle, offset: offset) { entry, _ in
                    guard found.count < room else { return false }
                    found.append(entry.name.string)
                    return true
                }
                return found
            }
            let first = try names(from: 0, room: 3)
            try mount.makeNode("work/c")
            let rest = try names(from: 3)
            #expect(
                Set(first + rest) == [".", "..", ".gpg-id", "a", "b"] && first.count == 3 && rest.count == 2)
            #expect(try names(from: 0).count == 6)
            #expect(try names(from: 99).isEmpty && names(from: -1).isEmpty && names(from: .max).isEmpty)
            mount.filesystem.releaseDirectory(folder.inode, handle: handle)
            #expect(throws: Errno.badFileDescriptor) { try names(from: 0) }
            mount.forget(folder)
        }
    }
}
