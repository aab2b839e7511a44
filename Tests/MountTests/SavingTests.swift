import Fuse
import Glibc
import OpenPGP
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Saves and reads that fail, stores that may not be changed, and stores that come and go.
@Suite struct SavingTests {
    enum Fault: String, CaseIterable, Sendable {
        case noList, emptyList, expired, revoked, unknown, noFolder
        var error: Errno {
            switch self {
            case .noList, .unknown: .requiredKeyNotAvailable
            case .emptyList: .keyRejected
            case .expired: .keyExpired
            case .revoked: .keyRevoked
            case .noFolder: .noSuchFileOrDirectory
            }
        }

        func make(_ mount: TestMount) throws {
            let list = "work/d/.gpg-id"
            switch self {
            case .noList:
                unlink(mount.disk(list).string)
                unlink(mount.disk("work/.gpg-id").string)
            case .emptyList: try mount.write("# nobody\n", list)
            case .expired: try mount.write(mount.keys.expired.fingerprint, list)
            case .revoked: try mount.write(mount.keys.revoked.fingerprint, list)
            case .unknown: try mount.write("nobody@example.org", list)
            case .noFolder: try mount.keys.home.succeed(["rm", "-r", mount.disk("work/d").string])
            }
        }

        func mend(_ mount: TestMount) throws {
            mkdir(mount.disk("work/d").string, 0o700)
            try mount.write(mount.keys.ann.fingerprint, "work/d/.gpg-id")
        }
    }

    /// close(2) reports it, the old ciphertext stays, the new content stays in memory, is listed, and is saved later.
    @Test(arguments: Fault.allCases)
    func aSaveThatFailsLosesNothing(_ fault: Fault) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.write(mount.keys.ann.fingerprint, "work/d/.gpg-id")
            try mount.save("old", "work/d/a")
            let file = try mount.open("work/d/a", O_RDWR | O_TRUNC)
            try file.write("new")
            try fault.make(mount)
            #expect(mount.failure { () throws(Errno) in try file.synchronize() } == fault.error)
            #expect(mount.failure { () throws(Errno) in try file.close() } == fault.error)
            if fault != .noFolder {
                #expect(try mount.decrypt("work/d/a.gpg") == "old")
                #expect(try mount.read("work/d/a") == "new")
                #expect(try mount.attribute("state", of: "work/d/a") == "failed")
                #expect(try !mount.attribute("error", of: "work/d/a").isEmpty)
            }
            let unsaved = mount.filesystem.unsaved
            #expect(unsaved.map(\.path) == ["d/a"] && unsaved.first?.store == "work")
            #expect(mount.filesystem.retryFailedSaves() == 0)
            try fault.mend(mount)
            #expect(mount.filesystem.retryFailedSaves() == 1)
            #expect(mount.filesystem.unsaved.isEmpty)
            #expect(try mount.decrypt("work/d/a.gpg") == "new")
        }
    }

    /// What nobody could save is given up: what lies on disk is shown again, or nothing where nothing does.
    @Test(arguments: [true, false])
    func whatCannotBeSavedIsGivenUp(_ isOnDisk: Bool) throws {
        try TestMount.with { mount in
            if isOnDisk { try mount.save("old", "work/a") }
            try mount.saveInVain("work/a", list: "work/.gpg-id")
            #expect(mount.filesystem.discardUnsaved(ofStore: "work", "b") == [])
            #expect(mount.filesystem.discardUnsaved(ofStore: "home", nil) == [])
            #expect(mount.filesystem.discardUnsaved(ofStore: "work", "a") == ["a"])
            #expect(mount.filesystem.unsaved.isEmpty)
            #expect(try mount.names() == (isOnDisk ? ["a"] : []))
            if isOnDisk { #expect(try mount.read("work/a") == "old") }
        }
    }

    /// A save that is tried again at that moment is no program that has the file open.
    @Test func whatIsTriedAgainMeanwhileIsGivenUp() throws {
        try TestMount.with { mount in
            let isOver = Atomic(false)
            let retry = Background {
                while !isOver.load(ordering: .acquiring) { mount.filesystem.retryFailedSaves() }
            }
            defer {
                isOver.store(true, ordering: .releasing)
                _ = try? retry.value()
            }
            for round in 0..<8 {
                try mount.write(mount.keys.ann.fingerprint, "work/.gpg-id")
                try mount.saveInVain("work/\(round)", list: "work/.gpg-id")
                #expect(mount.filesystem.discardUnsaved(ofStore: "work", "\(round)") == ["\(round)"])
            }
        }
    }

    /// A file that cannot be saved when it is made is not there.
    @Test func whatCannotBeMadeIsNotThere() throws {
        try TestMount.with { mount in
            try mount.write("nobody@example.org", "work/.gpg-id")
            #expect(
                mount.failure { () throws(Errno) in try mount.makeNode("work/a") } == .requiredKeyNotAvailable
            )
            #expect(
                mount.failure { () throws(Errno) in try mount.open("work/a", O_RDONLY | O_CREAT) }
                    == .requiredKeyNotAvailable)
            #expect(try mount.names() == [] && mount.filesystem.unsaved.isEmpty)
        }
    }

    /// Removing what is unsaved gives it up; renaming it to where it can be saved saves it.
    @Test(arguments: [true, false])
    func whatIsUnsavedIsRemovedOrRenamed(_ isRemoved: Bool) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.saveInVain("work/d/a", list: "work/d/.gpg-id")
            if isRemoved { try mount.unlink("work/d/a") } else { try mount.rename("work/d/a", "work/a") }
            #expect(mount.filesystem.unsaved.isEmpty)
            #expect(try mount.names("work/d") == [])
            if !isRemoved { #expect(try mount.decrypt("work/a.gpg") == "new") }
        }
    }

    /// What an open of a file on disk fails with.
    @Test(arguments: [
        ("damaged", Errno.ioError), ("empty", .ioError), ("locked", .noTerminal), ("large", .fileTooLarge),
        ("folder", .isDirectory),
    ])
    func anOpenFails(_ file: String, _ error: Errno) throws {
        try TestMount.with { mount in
            switch file {
            case "damaged": try mount.write("no message", "work/a.gpg")
            case "empty": try mount.write("", "work/a.gpg")
            case "locked": try mount.encrypt("x", "work/a.gpg", to: mount.keys.locked)
            case "large": try mount.encrypt(String(repeating: "x", count: 1 << 20 + 1), "work/a.gpg")
            default: try mount.makeDirectory("work/a")
            }
            let failure = mount.failure { () throws(Errno) in try mount.open("work/a", O_RDONLY) }
            if file == "locked" {
                #expect(failure != nil)
            } else {
                #expect(failure == error)
            }
            guard file != "folder" else { return }
            #expect(mount.filesystem.failedOpens(ofStore: "work").first?.hasPrefix("a: ") == true)
            #expect(mount.filesystem.failedOpens(ofStore: "home").isEmpty)
            // It can be replaced, and then nothing is wrong any more.
            try mount.save("new", "work/a")
            #expect(try mount.read("work/a") == "new")
            #expect(mount.filesystem.failedOpens(ofStore: "work").isEmpty)
        }
    }

    /// What would change a read-only store is EROFS, and what would not works.
    @Test(arguments: [
        "create", "write", "truncate", "mkdir", "mknod", "symlink", "unlink", "rmdir", "rename", "exchange",
        "scratch", "touch", "into",
    ])
    func aReadOnlyStoreIsNotChanged(_ call: String) throws {
        try TestMount.with { mount in
            let store = try mount.add("fixed")
            try mount.save("a", "fixed/a")
            try mount.save("b", "fixed/b")
            try mount.save("c", "work/c")
            try mount.makeDirectory("fixed/d")
            let before = try mount.onDisk("fixed")
            mount.filesystem.setReadOnly(true, store)
            let failure = mount.failure { () throws(Errno) in
                switch call {
                case "create": try mount.save("x", "fixed/n")
                case "write": try mount.save("x", "fixed/a")
                case "truncate": try mount.truncate("fixed/a", to: 0)
                case "mkdir": try mount.makeDirectory("fixed/n")
                case "mknod": try mount.makeNode("fixed/n")
                case "symlink": try mount.link("fixed/n", to: "a")
                case "unlink": try mount.unlink("fixed/a")
                case "rmdir": try mount.removeDirectory("fixed/d")
                case "rename": try mount.rename("fixed/a", "fixed/n")
                case "exchange": try mount.rename("fixed/a", "fixed/b", .exchange)
                case "scratch": try mount.save("x", "fixed/n~")
                case "touch": try mount.change("fixed/a") { $0.modificationTime = .now }
                default: try mount.rename("work/c", "fixed/c")
                }
            }
            #expect(failure == .readOnlyFileSystem)
            #expect(try mount.onDisk("fixed") == before)
            #expect(try mount.read("fixed/a") == "a")
            #expect(try mount.attributes("fixed/a").permissions == 0o400)
            #expect(try mount.attributes("fixed/d").permissions == 0o500)
            mount.filesystem.setReadOnly(false, store)
            try mount.save("x", "fixed/a")
        }
    }

    /// Each save leaves a ciphertext behind that is there no more: what was known of it goes, too.
    @Test func whatASaveReplacesIsForgotten() throws {
        try TestMount.with { mount in
            let learned = try LearnedState(file: mount.disk("state.sqlite"))
            defer { learned.close() }
            let store = try mount.add("learned", learned: learned)
            try mount.encrypt("text", "learned/a.gpg")
            #expect(try mount.size("learned/a") == 4)
            let before = try store.root.status(of: "a.gpg").identity
            #expect(learned.size(of: before) == 4)
            let file = try mount.open("learned/a", O_RDWR)
            try file.write("longer text")
            try file.close()
            #expect(learned.size(of: before) == nil)
            #expect(try mount.size("learned/a") == 11)
            // So with a new name, what that replaces, and a removal.
            func identity(_ file: FilePath) throws -> CiphertextIdentity {
                try store.root.status(of: file).identity
            }
            try mount.encrypt("other", "learned/b.gpg")
            #expect(try mount.size("learned/b") == 5)
            let (one, other) = (try identity("a.gpg"), try identity("b.gpg"))
            #expect(learned.size(of: one) == 11 && learned.size(of: other) == 5)
            try mount.rename("learned/a", "learned/b")
            #expect(learned.size(of: one) == nil && learned.size(of: other) == nil)
            #expect(try mount.size("learned/b") == 11)
            let renamed = try identity("b.gpg")
            #expect(learned.size(of: renamed) == 11)
            try mount.unlink("learned/b")
            #expect(learned.size(of: renamed) == nil)
        }
    }

    /// What is open of a store that is hidden is read and saved to its end; nothing else of it is there.
    @Test func aHiddenStoreEndsWhatIsOpen() throws {
        try TestMount.with { mount in
            let store = try mount.add("third")
            try mount.save("old", "third/a")
            let file = try mount.open("third/a")
            let folder = try mount.look("third")
            try file.write("new")
            mount.filesystem.remove(store)
            mount.filesystem.saveEverything(of: store)
            #expect(try mount.decrypt("third/a.gpg") == "new", "what was edited is saved")
            #expect(try mount.entries("").map(\.name.string) == [".", "..", "work", "home"])
            #expect(mount.failure { () throws(Errno) in try mount.look("third") } == .noSuchFileOrDirectory)
            #expect(
                mount.failure { () throws(Errno) in try mount.filesystem.lookup(in: folder.inode, name: "a") }
                    == .noSuchFileOrDirectory)
            try file.write("last")
            try file.close()
            #expect(try mount.decrypt("third/a.gpg") == "last")
            mount.forget(folder)
        }
    }

    /// What could not be saved of a hidden store is listed, and there again with the store.
    @Test func aHiddenStoreKeepsWhatIsUnsaved() throws {
        try TestMount.with { mount in
            let store = try mount.add("third")
            try mount.saveInVain("third/a", list: "third/.gpg-id")
            mount.filesystem.remove(store)
            #expect(mount.filesystem.unsaved.map(\.store) == ["third"])
            #expect(mount.filesystem.holdsUnsaved(of: store))
            try mount.filesystem.restore(store, isReadOnly: false)
            #expect(try mount.read("third/a") == "new")
            #expect(throws: Errno.noSuchFileOrDirectory) {
                try mount.filesystem.restore(store, isReadOnly: false)
            }
            try mount.write(mount.keys.ann.fingerprint, "third/.gpg-id")
            #expect(mount.filesystem.saveEverything() == 1)
            #expect(!mount.filesystem.holdsUnsaved(of: store))
        }
    }

    @Test func aRenamedStoreKeepsWhatIsOpen() throws {
        try TestMount.with { mount in
            let store = try mount.add("third")
            let file = try mount.open("third/a", O_RDWR | O_CREAT)
            try file.write("text")
            store.rename(to: "fourth", identifier: store.identifier)
            try mount.filesystem.showName(of: store)
            #expect(mount.failure { () throws(Errno) in try mount.look("third") } == .noSuchFileOrDirectory)
            #expect(try mount.read("fourth/a") == "text")
            #expect(mount.filesystem.beingWritten(ofStore: "fourth") == ["a"])
            #expect(mount.filesystem.openForWriting(ofStore: "fourth") == ["a"])
            try file.close()
            #expect(mount.filesystem.beingWritten(ofStore: "fourth") == [])
            store.rename(to: ".git", identifier: store.identifier)
            #expect(throws: Errno.invalidArgument) { try mount.filesystem.showName(of: store) }
        }
    }

    /// A handle that is none's, and an inode that is none's.
    @Test func whatIsUnknownIsRefused() throws {
        try TestMount.with { mount in
            let filesystem = mount.filesystem
            let (inode, handle) = (InodeNumber(rawValue: 99), HandleNumber(rawValue: 99))
            #expect(throws: Errno.badFileDescriptor) {
                try filesystem.read(inode, handle: handle, offset: 0, count: 1) { _ in }
            }
            #expect(throws: Errno.badFileDescriptor) {
                try filesystem.allocate(inode, handle: handle, mode: 0, offset: 0, length: 1)
            }
            #expect(throws: Errno.badFileDescriptor) {
                try filesystem.seek(inode, handle: handle, offset: 0, whence: 3)
            }
            #expect(throws: Errno.staleNFSFileHandle) { try filesystem.lookup(in: inode, name: "a") }
            #expect(throws: Errno.staleNFSFileHandle) {
                try filesystem.unlink(in: inode, name: "a", for: mount.caller)
            }
            #expect(throws: Errno.staleNFSFileHandle) { try filesystem.statistics(inode) }
            try filesystem.flush(inode, handle: handle, for: mount.caller)
            filesystem.release(inode, handle: handle, flags: OpenFlags(rawValue: 0))
            filesystem.forget(inode, count: 1)
        }
    }
}
