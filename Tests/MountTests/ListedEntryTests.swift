import Fuse
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// What a listing brings with each name, so that who looks at all that is in a folder asks once.
@Suite struct ListedEntryTests {
    /// Everything that a folder lists, `room` entries at a time.
    private func list(
        _ mount: TestMount, _ folder: Entry, room: Int
    ) throws -> [String: Entry?] {
        let filesystem = mount.filesystem
        let handle = try filesystem.openFolder(folder.inode, flags: OpenFlags(rawValue: 0)).handle
        defer { filesystem.releaseDirectory(folder.inode, handle: handle) }
        var told: [String: Entry?] = [:]
        var next: Int64 = 0
        var count = -1
        while told.count > count {
            count = told.count
            var left = room
            try filesystem.readDirectoryWithEntries(folder.inode, handle: handle, offset: next) {
                listed, entry, offset in
                guard left > 0 else { return false }
                (left, next) = (left - 1, offset)
                #expect(told.updateValue(entry, forKey: listed.name.string) == nil)
                #expect(entry == nil || entry?.inode == listed.inode)
                return true
            }
        }
        return told
    }

    @Test func aListingTellsOfEachFileWhatALookUpTells() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            for name in ["a", "b", "c"] { try mount.save(name, "work/d/" + name) }
            try mount.makeDirectory("work/d/e")
            try mount.link("work/d/l", to: "a")
            let folder = try mount.look("work/d")
            let told = try list(mount, folder, room: 2)
            #expect(told.keys.sorted() == [".", "..", "a", "b", "c", "e", "l"])
            for (name, entry) in told {
                guard let entry else {
                    #expect([".", ".."].contains(name))
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

    /// The kernel goes on with it for a moment, but for what changes without a word to it.
    @Test func onlyWhatLiesOnDiskIsKept() throws {
        try TestMount.with { mount in
            for name in ["a", "b", "a~"] { try mount.save("x", "work/" + name) }
            let file = try mount.open("work/b", O_RDWR)
            try file.write("edited")
            let store = try mount.look("work")
            let told = try list(mount, store, room: 10)
            let kept = try #require(told["a"] ?? nil)
            #expect((0.01...0.1).contains(kept.entryTimeout) && kept.attributeTimeout == kept.entryTimeout)
            for name in ["b", "a~"] {
                let entry = try #require(told[name] ?? nil)
                #expect(entry.entryTimeout == 0 && entry.attributeTimeout == 0, "\(name)")
            }
            for case let entry? in told.values { mount.forget(entry) }
            mount.forget(store)
            try file.close()
        }
    }

    @Test func aNameThatWentMeanwhileIsListedAlone() throws {
        try TestMount.with { mount in
            for name in ["a", "b", "c"] { try mount.save("x", "work/" + name) }
            let store = try mount.look("work")
            let filesystem = mount.filesystem
            let handle = try filesystem.openFolder(store.inode, flags: OpenFlags(rawValue: 0)).handle
            defer { filesystem.releaseDirectory(store.inode, handle: handle) }
            var told: [String: Entry?] = [:]
            let names = ["a", "b", "c"]
            try filesystem.readDirectoryWithEntries(store.inode, handle: handle, offset: 0) {
                listed, entry, _ in
                told[listed.name.string] = .some(entry)
                // With the first of them the others go.
                guard names.contains(listed.name.string) else { return true }
                for name in names where name != listed.name.string {
                    unlink(mount.disk("work/\(name).gpg").string)
                }
                return true
            }
            let secrets = names.compactMap { told[$0] ?? nil }
            #expect(secrets.count == 1 && names.allSatisfy { told[$0] != nil })
            for entry in secrets { mount.forget(entry) }
            mount.forget(store)
        }
    }
}
