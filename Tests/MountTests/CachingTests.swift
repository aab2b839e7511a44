import Fuse
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// What the kernel may keep, and what it is told when that is no longer so.
@Suite struct CachingTests {
    private func timeouts(_ mount: TestMount, _ path: String) throws -> (name: Double, attributes: Double) {
        let entry = try mount.look(path)
        defer { mount.forget(entry) }
        let told = try mount.filesystem.attributes(of: entry.inode, handle: nil).timeout
        #expect(told == entry.attributeTimeout || entry.attributes.kind == .directory)
        return (entry.entryTimeout, told)
    }

    @Test func whatLiesOnDiskIsKeptForLessThanASecond() throws {
        try TestMount.withKernel { mount, _ in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/a")
            try mount.write("plain", "work/d/p")
            for path in ["work/d/a", "work/d", "work/d/p", "work"] {
                let (name, attributes) = try timeouts(mount, path)
                #expect((0.5..<1).contains(name) && (0.5..<1).contains(attributes), "\(path)")
            }
        }
    }

    @Test func whatIsInMemoryOnlyOrDependsOnOthersIsNotKept() throws {
        try TestMount.withKernel { mount, _ in
            try mount.save("x", "work/a")
            try mount.link("work/l", to: "a")
            try mount.save("x", "work/a~")
            #expect(try timeouts(mount, "work/l").attributes == 0)
            #expect(try timeouts(mount, "work/a~").attributes == 0)
            let file = try mount.open("work/a", O_RDWR)
            #expect(try timeouts(mount, "work/a").attributes > 0)
            try file.write("more")
            #expect(try timeouts(mount, "work/a").attributes == 0)
            try file.close()
            #expect(try timeouts(mount, "work/a").attributes > 0)
        }
    }

    @Test func nothingIsKeptWhereNothingCanBeWatched() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.watchedFolders = 0
        try TestMount.withKernel(options) { mount, _ in
            try mount.save("x", "work/a")
            #expect(try timeouts(mount, "work/a") == (0, 0))
        }
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            #expect(try timeouts(mount, "work/a") == (0, 0), "there is no kernel to be told")
        }
    }

    /// Beyond the limit all begin anew: whatever is looked at now is watched.
    @Test func moreFoldersThanCanBeWatchedTakeTurns() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.watchedFolders = 3
        try TestMount.withKernel(options) { mount, kernel in
            for index in 0..<8 { try mount.makeDirectory("work/d\(index)") }
            for index in 0..<8 {
                var kept = false
                for _ in 0..<2 { kept = try timeouts(mount, "work/d\(index)").attributes > 0 }
                #expect(kept, "d\(index)")
            }
            let inode = try mount.at("work/d7") { $0 }
            kernel.clear()
            try mount.write("new", "work/d7/p")
            #expect(kernel.hears(.attributes(inode)))
        }
    }

    @Test func otherContentOnDiskIsTold() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.encrypt("old", "work/a.gpg")
            let entry = try mount.look("work/a")
            defer { mount.forget(entry) }
            kernel.clear()
            try mount.encrypt("new, and longer", "work/new")
            #expect(rename(mount.disk("work/new").string, mount.disk("work/a.gpg").string) == 0)
            #expect(kernel.hears(.attributes(entry.inode)))
            #expect(try mount.size("work/a") == 15)
            kernel.clear()
            try mount.encrypt("in place", "work/a.gpg")
            #expect(kernel.hears(.attributes(entry.inode)))
        }
    }

    @Test func namesThatComeAndGoOnDiskAreTold() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.makeDirectory("work/d")
            try mount.encrypt("x", "work/d/a.gpg")
            let folder = try mount.look("work/d")
            let entry = try mount.look("work/d/a")
            kernel.clear()
            #expect(rename(mount.disk("work/d/a.gpg").string, mount.disk("work/d/b.gpg").string) == 0)
            #expect(kernel.hears(.name(folder.inode, "a")) && kernel.hears(.attributes(folder.inode)))
            #expect(throws: Errno.noSuchFileOrDirectory) { try mount.look("work/d/a") }
            mount.forget(entry)
            // A secret goes on under another name where something else takes the one that it had.
            let moved = try mount.look("work/d/b")
            kernel.clear()
            try mount.write("plain", "work/d/b")
            #expect(kernel.hears(.name(folder.inode, "b")))
            #expect(try mount.names("work/d") == ["b", "b.gpg"])
            mount.forget(moved)
            kernel.clear()
            let top = try mount.at("work") { $0 }
            #expect(rename(mount.disk("work/d").string, mount.disk("work/e").string) == 0)
            #expect(kernel.hears(.name(top, "d")))
            mount.forget(folder)
        }
    }

    /// The kernel has done itself what was done through it; a folder's name least of all is taken away from who stands in it.
    @Test func ourOwnChangesTakeNoNameAway() throws {
        try TestMount.withKernel { mount, kernel in
            let store = try mount.add("own")
            try mount.makeDirectory("own/d")
            _ = try mount.look("own/d")
            kernel.clear()
            try mount.save("x", "own/d/a")
            try mount.save("longer", "own/d/a")
            try mount.rename("own/d", "own/e")
            try mount.makeDirectory("own/d")
            let entry = try mount.look("own/d")
            mount.takeIn(store)
            let top = try mount.at("own") { $0 }
            #expect(!kernel.heard.contains(.name(top, "d")) && !kernel.heard.contains(.name(top, "e")))
            #expect(try mount.look("own/d").inode == entry.inode)
        }
    }

    /// A save changes the times of its file and of the folder that it is in, which the kernel cannot know.
    @Test func aSaveIsToldBeforeItReturns() throws {
        try TestMount.withKernel { mount, kernel in
            let file = try mount.open("work/a", O_RDWR | O_CREAT)
            try file.write("x")
            kernel.clear()
            try file.close()
            let top = try mount.at("work") { $0 }
            #expect(kernel.heard.contains(.attributes(file.inode)) && kernel.heard.contains(.attributes(top)))
        }
    }

    @Test func aSizeThatTurnsOutToBeAnotherIsToldBeforeTheOpenReturns() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.encrypt(String(repeating: "x", count: 5000), "work/a.gpg", compresses: true)
            let inode = try mount.at("work/a") { $0 }
            kernel.clear()
            let file = try mount.open("work/a")
            #expect(kernel.heard.contains(.attributes(inode)))
            #expect(try file.attributes.size == 5000)
            try file.close()
        }
    }

    /// Another folder at the path of a watched one: what is in it is looked at, and told, as ever.
    @Test func aFolderThatTookAnothersPathIsWatchedInstead() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.makeDirectory("work/d")
            try mount.encrypt("x", "work/d/a.gpg")
            let folder = try mount.look("work/d")
            _ = try mount.look("work/d/a")
            #expect(rename(mount.disk("work/d").string, mount.disk("work/old").string) == 0)
            mkdir(mount.disk("work/d").string, 0o700)
            try mount.encrypt("yy", "work/d/a.gpg")
            #expect(try mount.size("work/d/a") == 2)
            let entry = try mount.look("work/d/a")
            kernel.clear()
            try mount.encrypt("zzz", "work/d/a.gpg")
            #expect(kernel.hears(.attributes(entry.inode)))
            mount.forget(folder)
        }
    }

    @Test func aListingTellsOfEachEntryWhatALookUpTells() throws {
        try TestMount.withKernel { mount, _ in
            try mount.makeDirectory("work/d")
            for name in ["a", "b", "c"] { try mount.save(name, "work/d/" + name) }
            try mount.makeDirectory("work/d/e")
            let folder = try mount.look("work/d")
            let handle = try mount.filesystem.openDirectory(folder.inode, flags: OpenFlags(rawValue: 0))
                .handle
            var told: [String: Entry?] = [:]
            var room = 4
            var next: Int64 = 0
            for more in [4, 10] {
                room = more
                try mount.filesystem.readDirectoryWithEntries(folder.inode, handle: handle, offset: next) {
                    listed, entry, offset in
                    guard room > 0 else { return false }
                    (room, next) = (room - 1, offset)
                    #expect(told.updateValue(entry, forKey: listed.name.string) == nil)
                    #expect(entry == nil || entry?.inode == listed.inode)
                    return true
                }
            }
            mount.filesystem.releaseDirectory(folder.inode, handle: handle)
            #expect(told.keys.sorted() == [".", "..", "a", "b", "c", "e"])
            for (name, entry) in told {
                guard let entry else {
                    #expect(name == "." || name == "..")
                    continue
                }
                let looked = try mount.look("work/d/" + name)
                #expect(looked.inode == entry.inode && looked.attributes.size == entry.attributes.size)
                mount.forget(looked)
                // Each was counted once, also the one that there was no room for.
                mount.forget(entry)
                #expect(throws: Errno.staleNFSFileHandle) { try mount.filesystem.tree.node(entry.inode) }
            }
            mount.forget(folder)
        }
    }

    @Test(arguments: ["system.posix_acl_access", "security.capability", "trusted.x"])
    func accessListsAndLabelsAreNotSupported(_ name: String) throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let failure = mount.failure { () throws(Errno) in
                _ = try mount.at("work/a") { inode throws(Errno) in
                    try mount.filesystem.extendedAttribute(inode, name: Array(name.utf8))
                }
            }
            #expect(failure == .notSupportedOnSocket)
        }
    }
}
