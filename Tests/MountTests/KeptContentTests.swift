import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// What was read is not decrypted again for a while, and never what is no longer so.
@Suite struct KeptContentTests {
    private func options(_ time: Duration) -> StoreFilesystem.Options {
        var options = StoreFilesystem.Options(secretLimit: 4 << 20)
        options.cacheTime = time
        return options
    }

    /// Opens without a decryption, reads and closes; nil where a decryption is needed.
    private func readAtOnce(_ mount: TestMount, _ path: String) throws -> (text: String, fromPages: Bool)? {
        let entry = try mount.look(path)
        guard
            let opened = mount.filesystem.openAtOnce(
                entry.inode, flags: OpenFlags(rawValue: O_RDONLY), for: getpid())
        else {
            mount.forget(entry)
            return nil
        }
        let file = TestFile(mount: mount, inode: entry.inode, handle: opened.handle)
        defer { file.release() }
        return (try file.text, opened.keepCache)
    }

    /// A rename takes the name between the look-up and the open of one open(2): what was found is read, and nothing written.
    @Test func whoHadFoundWhatARenameReplacesReadsIt() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            try mount.save("one", "work/s")
            try mount.save("two", "work/t")
            // As a kernel does, which has seen the name.
            let held = try mount.look("work/s")
            defer { mount.forget(held) }
            #expect(try mount.read("work/s") == "one")
            let entry = try mount.look("work/s")
            try mount.rename("work/t", "work/s")
            #expect(
                mount.failure { () throws(Errno) in _ = try mount.open(entry, O_RDWR) } == .staleNFSFileHandle
            )
            // It gives the look-up back when it is released.
            let reader = try mount.open(entry, O_RDONLY)
            #expect(try reader.text == "one")
            reader.release()
            #expect(try mount.read("work/s") == "two")
        }
    }

    /// The kernel goes on with a name for a moment, so an open that meets another file is refused: it is looked up again then.
    @Test func anOpenOfWhatOthersReplacedIsRefused() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            for name in ["s", "t"] { try mount.encrypt(name, "work/\(name).gpg") }
            let entry = try mount.look("work/s")
            defer { mount.forget(entry) }
            #expect(entry.entryTimeout > 0 && entry.entryTimeout == entry.attributeTimeout)
            let reader = try mount.open("work/s", O_RDONLY)
            #expect(try reader.text == "s")
            #expect(rename(mount.disk("work/t.gpg").string, mount.disk("work/s.gpg").string) == 0)
            // Before somebody has looked its name up, and after that.
            for _ in 0..<2 {
                #expect(
                    mount.failure { () throws(Errno) in
                        _ = try mount.open(entry, O_RDONLY)
                    } == .staleNFSFileHandle)
                #expect(try mount.read("work/s") == "t" && reader.text == "s")
            }
            reader.release()
        }
    }

    /// What an editor has put in the place of its backup, and removes, is gone, although it is kept as what was read last.
    @Test func whatIsKeptAndRemovedAsAScratchFileIsGone() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            try mount.save("old", "work/a")
            try mount.save("new", "work/.a.swp")
            let held = try mount.look("work/a")
            defer { mount.forget(held) }
            #expect(try mount.read("work/a") == "old")
            try mount.rename("work/.a.swp", "work/a", .exchange)
            #expect(try mount.read("work/a") == "new" && mount.read("work/.a.swp") == "old")
            try mount.unlink("work/.a.swp")
            #expect(
                mount.failure { () throws(Errno) in
                    _ = try mount.filesystem.attributes(of: held.inode, handle: nil)
                } == .staleNFSFileHandle)
        }
    }

    @Test func theNextReadersWaitForNoDecryption() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            try mount.encrypt("text", "work/a.gpg")
            // As a kernel does, which has seen the name.
            let held = try mount.look("work/a")
            defer { mount.forget(held) }
            #expect(try readAtOnce(mount, "work/a") == nil)
            #expect(try mount.read("work/a") == "text")
            let second = try #require(try readAtOnce(mount, "work/a"))
            #expect(second == ("text", true), "the kernel has read it")
            try mount.rename("work/a", "work/b")
            #expect(try readAtOnce(mount, "work/b")?.text == "text")
            try mount.change("work/b") { $0.modificationTime = .at(FileTime(seconds: 1)) }
            #expect(try readAtOnce(mount, "work/b")?.text == "text")
            try mount.encrypt("outside", "work/b.gpg")
            try mount.save("inside", "work/b")
            #expect(try mount.names() == ["b"], "nothing was open that could be in conflict")
        }
    }

    @Test func nothingIsKeptWithoutATime() throws {
        try TestMount.with(options(.zero)) { mount in
            try mount.save("text", "work/a")
            #expect(try mount.read("work/a") == "text")
            #expect(try readAtOnce(mount, "work/a") == nil)
        }
    }

    @Test func whatWasChangedOutsideIsDecryptedAnew() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            try mount.encrypt("none", "work/a.gpg")
            let held = try mount.look("work/a")
            defer { mount.forget(held) }
            for text in ["one", "two", "three, longer", ""] {
                try mount.encrypt(text, "work/a.gpg")
                #expect(try readAtOnce(mount, "work/a") == nil)
                #expect(try mount.size("work/a") == text.utf8.count, "not that of what was kept")
                #expect(try mount.read("work/a") == text)
                #expect(try readAtOnce(mount, "work/a")?.text == text)
            }
            let entry = try mount.look("work/a")
            #expect(unlink(mount.disk("work/a.gpg").string) == 0)
            #expect(
                mount.failure { () throws(Errno) in
                    _ = try mount.open(entry, O_RDONLY)
                } == .staleNFSFileHandle, "the kernel looks it up again")
            mount.forget(entry)
        }
    }

    /// Pages that were read before a write, by whichever way it came, are read again.
    @Test func pagesFromBeforeAWriteAreNotUsed() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            try mount.save("none", "work/a")
            let held = try mount.look("work/a")
            defer { mount.forget(held) }
            try mount.save("text", "work/a")
            #expect(try readAtOnce(mount, "work/a")?.fromPages == false, "nobody has read it")
            #expect(try #require(try readAtOnce(mount, "work/a")) == ("text", true))
            let file = try mount.open("work/a", O_RDWR | O_APPEND)
            try file.write(" and more", at: 0)
            let meanwhile = try #require(try readAtOnce(mount, "work/a"))
            #expect(meanwhile == ("text and more", false))
            try file.close()
            #expect(try mount.size("work/a") == 13)
            try mount.truncate("work/a", to: 4)
            #expect(try #require(try readAtOnce(mount, "work/a")) == ("text", false))
            #expect(try mount.decrypt("work/a.gpg") == "text")
        }
    }

    @Test func whatIsKeptEndsWithItsTime() throws {
        try TestMount.withKernel(options(.milliseconds(300))) { mount, kernel in
            try mount.save("text", "work/a")
            let entry = try mount.look("work/a")
            defer { mount.forget(entry) }
            #expect(try mount.read("work/a") == "text")
            for _ in 0..<2 {
                #expect(try mount.read("work/a") == "text")
                // Each look keeps it anew, so that only the end that comes after it counts.
                repeat {
                    try #require(kernel.hears(.pages(entry.inode)))
                    kernel.clear()
                } while try readAtOnce(mount, "work/a") != nil
            }
        }
    }

    /// A size that the kernel was told before the message was decrypted may be wrong; where it was right, nothing is said.
    @Test(arguments: [true, false])
    func aWrongSizeThatALookUpToldIsForgottenOnceItIsKnown(isWrong: Bool) throws {
        try TestMount.withKernel(options(.zero)) { mount, kernel in
            let text = String(repeating: "text", count: 100)
            try mount.encrypt(text, "work/a.gpg", compresses: isWrong)
            try mount.makeDirectory("work/d")
            let (file, folder) = (try mount.look("work/a"), try mount.look("work/d"))
            defer { for entry in [file, folder] { mount.forget(entry) } }
            #expect(file.attributeTimeout > 0 && folder.attributeTimeout > 0)
            #expect(
                file.entryTimeout == file.attributeTimeout && folder.entryTimeout == folder.attributeTimeout)
            kernel.clear()
            #expect(try mount.read("work/a") == text)
            #expect(kernel.heard.contains(.attributes(file.inode)) == isWrong)
        }
    }

    @Test func oneCallForgetsAll() throws {
        try TestMount.withKernel(options(.seconds(60))) { mount, kernel in
            for name in ["a", "b", "c"] { try mount.save(name, "work/" + name) }
            let entries = try ["a", "b", "c"].map { try mount.look("work/" + $0) }
            for name in ["a", "b", "c"] { #expect(try mount.read("work/" + name) == name) }
            for name in ["a", "b", "c"] { #expect(try readAtOnce(mount, "work/" + name)?.text == name) }
            let open = try mount.open("work/c", O_RDONLY)
            kernel.clear()
            mount.filesystem.forgetContents()
            for entry in entries { #expect(kernel.heard.contains(.pages(entry.inode))) }
            #expect(try readAtOnce(mount, "work/a") == nil && readAtOnce(mount, "work/b") == nil)
            #expect(try #require(try readAtOnce(mount, "work/c")) == ("c", false), "somebody has it open")
            open.release()
            for entry in entries { mount.forget(entry) }
        }
    }

    /// The first ones of very many are decrypted anew.
    @Test func whatIsKeptTakesBoundedMemory() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            let text = String(repeating: "x", count: 900_000)
            let held = try (0..<10).map { index in
                try mount.save(text, "work/s\(index)")
                let entry = try mount.look("work/s\(index)")
                #expect(try mount.read("work/s\(index)") == text)
                return entry
            }
            defer { for entry in held { mount.forget(entry) } }
            let kept = try (0..<10).map { try readAtOnce(mount, "work/s\($0)") != nil }
            #expect(kept == Array(repeating: false, count: 6) + Array(repeating: true, count: 4))
        }
    }

    /// Which pages of a file the kernel has.
    @Test(.enabled(if: access("/dev/fuse", R_OK | W_OK) == 0))
    func theKernelKeepsPagesUntilTheyAreForgotten() throws {
        try TestMount.with(options(.seconds(60))) { mount in
            let text = String(repeating: "page ", count: 2000)
            try mount.encrypt(text, "work/a.gpg")
            let place = mount.keys.home.path("k\(UInt64.random(in: 0 ... .max))")
            try mount.keys.home.succeed(["mkdir", place.string])
            let session = try Session(
                mountPoint: place, filesystemName: "passdir", subtype: "passdir", filesystem: mount.filesystem
            )
            let serving = try PosixThread(named: "serving") { session.run() }
            defer {
                try? session.unmount(lazily: true)
                serving.join()
            }
            let file = place.pushing("work/a")
            func isResident(_ pages: UnsafeMutableRawPointer) throws -> Bool {
                var found: [UInt8] = [0, 0]
                guard mincore(pages, 8192, &found) == 0 else { throw Errno(rawValue: errno) }
                return found.allSatisfy { $0 & 1 == 1 }
            }
            func withMapping(_ body: (UnsafeMutableRawPointer) throws -> Void) throws {
                let descriptor = try FileDescriptor.open(file, .readOnly)
                let pages = mmap(nil, 8192, PROT_READ, MAP_SHARED, descriptor.rawValue, 0)
                try descriptor.close()
                guard let pages, pages != MAP_FAILED else { throw Errno(rawValue: errno) }
                defer { munmap(pages, 8192) }
                try body(pages)
            }
            let read = String(decoding: try mount.keys.home.bytes(at: file), as: UTF8.self)
            #expect(read == text)
            try withMapping { pages in
                let areKept = try isResident(pages)
                #expect(areKept, "an open keeps the pages of the last one")
                mount.filesystem.forgetContents()
                let areLeft = try isResident(pages)
                #expect(!areLeft)
                #expect(memcmp(pages, text, 8192) == 0, "who has it open reads on")
            }
            mount.filesystem.forgetContents()
            // Pages that were read while the content was changed outside are another file's.
            try mount.encrypt(text.uppercased(), "work/a.gpg")
            let other = text.uppercased()
            try withMapping { pages in #expect(memcmp(pages, other, 8192) == 0) }
        }
    }
}
