import Fuse
import Glibc
import Stores
import System
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Files that live in memory only, and secrets that an editor renames away for a moment.
@Suite struct ScratchTests {
    @Test(arguments: [
        ".a.swp", "a~", ".#a", "#a#", ".goutputstream-ABC123", "4914~", ".~lock.a#", "lu12.tmp",
    ])
    func aScratchFileReachesNoDisk(_ name: String) throws {
        try TestMount.with { mount in
            let path = "work/" + name
            try mount.save("draft", path)
            #expect(try mount.read(path) == "draft")
            #expect(try mount.names() == [name] && mount.onDisk() == [])
            #expect(try mount.attribute("state", of: path) == "scratch")
            try mount.truncate(path, to: 3)
            #expect(try mount.read(path) == "dra" && mount.size(path) == 3)
            try mount.unlink(path)
            #expect(try mount.names() == [])
            #expect(mount.changes == [])
        }
    }

    @Test(arguments: ["a", "a.swp", "sedAbCdEf", ".a.AbCdEf", "a.tmp", "a.bak", "~a", "#a"])
    func whatMayBeASecretsNameIsSaved(_ name: String) throws {
        try TestMount.with { mount in
            try mount.save("secret", "work/" + name)
            #expect(try mount.onDisk() == [name + ".gpg"])
        }
    }

    @Test func allScratchFilesShareTheirMemory() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.scratchLimit = 1000
        try TestMount.with(options) { mount in
            try mount.save(String(repeating: "x", count: 900), "work/a~")
            #expect(
                mount.failure { () throws(Errno) in
                    try mount.save(String(repeating: "x", count: 101), "home/b~")
                } == .noSpace)
            try mount.save(String(repeating: "x", count: 100), "home/b~")
            try mount.unlink("work/a~")
            try mount.save(String(repeating: "x", count: 900), "home/c~")
            // What becomes a secret gives its memory back.
            try mount.rename("home/c~", "home/c")
            try mount.save(String(repeating: "x", count: 900), "work/a~")
        }
    }

    @Test func ownPatternsCount() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.scratchPatterns = ["*.draft"]
        try TestMount.with(options) { mount in
            try mount.save("x", "work/a.draft")
            #expect(try mount.onDisk() == [])
        }
    }

    @Test func aFolderWithAScratchFileIsNotEmpty() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/a~")
            #expect(
                mount.failure { () throws(Errno) in try mount.removeDirectory("work/d") }
                    == .directoryNotEmpty)
            try mount.unlink("work/d/a~")
            try mount.removeDirectory("work/d")
        }
    }

    /// As vim saves: the file becomes a backup, a new one takes its place. That is one edit.
    @Test func aBackupAndANewFileAreOneEdit() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/f")
            try mount.rename("work/f", "work/f~")
            #expect(try mount.names() == ["f~"], "its name is gone")
            #expect(try mount.onDisk() == ["f.gpg"], "its ciphertext is not")
            try mount.save("new", "work/f")
            try mount.unlink("work/f~")
            #expect(try mount.onDisk() == ["f.gpg"] && mount.decrypt("work/f.gpg") == "new")
            #expect(mount.changes == [.saved("f.gpg"), .saved("f.gpg")])
        }
    }

    /// An editor that gives up takes its backup back: nothing has changed.
    @Test func aBackupThatComesBackIsTheSecret() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/f")
            let before = try mount.attributes("work/f")
            try mount.rename("work/f", "work/f~")
            try mount.rename("work/f~", "work/f")
            #expect(
                try mount.attributes("work/f").modificationTime.seconds == before.modificationTime.seconds)
            #expect(mount.changes == [.saved("f.gpg")])
        }
    }

    /// A folder has the name of what was renamed away: what is made as `f.gpg` beside it keeps that name.
    @Test func aFolderInThePlaceOfABackedUpSecretEndsItsGrace() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/f")
            try mount.rename("work/f", "work/f~")
            #expect(
                mount.failure { () throws(Errno) in try mount.makeDirectory("work/f.gpg") } == .fileExists)
            try mount.makeDirectory("work/d")
            #expect(
                mount.failure { () throws(Errno) in try mount.rename("work/d", "work/f.gpg") } == .fileExists)
            try mount.removeDirectory("work/d")
            try mount.makeDirectory("work/f")
            #expect(try mount.onDisk() == ["f"])
            try mount.save("other", "work/f.gpg")
            #expect(try mount.names() == ["f", "f.gpg", "f~"])
            #expect(try mount.read("work/f.gpg") == "other" && mount.read("work/f~") == "old")
        }
    }

    /// What was renamed away does not come back with its folder.
    @Test func anExchangedFolderShowsNothingThatWasRenamedAway() throws {
        try TestMount.with { mount in
            for name in ["d", "e"] { try mount.makeDirectory("work/" + name) }
            try mount.save("old", "work/d/f")
            try mount.rename("work/d/f", "work/f~")
            try mount.rename("work/d", "work/e", .exchange)
            #expect(try mount.names("work/d") == [] && mount.names("work/e") == [])
            #expect(try mount.read("work/f~") == "old")
        }
    }

    /// A folder that shows nothing can be replaced, whatever was renamed away from it.
    @Test func aFolderThatWasBackedUpFromIsReplaced() throws {
        try TestMount.with { mount in
            for name in ["d", "e"] { try mount.makeDirectory("work/" + name) }
            try mount.save("old", "work/d/f")
            try mount.save("in", "work/e/in")
            try mount.rename("work/d/f", "work/f~")
            try mount.rename("work/e", "work/d")
            #expect(try mount.names("work/d") == ["in"] && mount.onDisk() == ["d", "d/in.gpg"])
        }
    }

    /// As a save does, a link takes the place of what was renamed away.
    @Test func aLinkInThePlaceOfABackedUpSecret() throws {
        try TestMount.with { mount in
            try mount.save("other", "work/a")
            try mount.save("old", "work/f")
            try mount.rename("work/f", "work/f~")
            try mount.link("work/f", to: "a")
            #expect(try mount.names() == ["a", "f", "f~"] && mount.onDisk() == ["a.gpg", "f.gpg"])
            #expect(try mount.target("work/f") == "a" && mount.read("work/f~") == "old")
            try mount.unlink("work/f")
            #expect(try mount.names() == ["a", "f~"] && mount.onDisk() == ["a.gpg"])
        }
    }

    /// Holds:
    /// - RENAME_EXCHANGE of a secret and a scratch file encrypts what the scratch file held, and keeps the rest in memory.
    @Test(arguments: [true, false]) func aScratchFileIsExchangedWithASecret(_ isScratchFirst: Bool) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("old", "work/d/f")
            let editing = try mount.open("work/d/f")
            try editing.write("OLD")
            try mount.save("new", "work/f~")
            let (one, other) = isScratchFirst ? ("work/f~", "work/d/f") : ("work/d/f", "work/f~")
            try mount.rename(one, other, .exchange)
            #expect(try mount.onDisk() == ["d", "d/f.gpg"] && mount.decrypt("work/d/f.gpg") == "new")
            #expect(try mount.read("work/d/f") == "new" && mount.read("work/f~") == "OLD")
            #expect(try mount.attribute("state", of: "work/f~") == "scratch")
            // Who has the old one open goes on with it, in memory.
            try editing.write("OLDER")
            try editing.close()
            #expect(try mount.read("work/f~") == "OLDER" && mount.decrypt("work/d/f.gpg") == "new")
            try mount.unlink("work/f~")
            #expect(try mount.names() == ["d"] && mount.names("work/d") == ["f"])
            #expect(mount.changes == [.saved("d/f.gpg"), .saved("d/f.gpg")])
        }
    }

    @Test func scratchFilesAreExchangedInMemory() throws {
        try TestMount.with { mount in
            try mount.save("a", "work/a~")
            try mount.save("b", "work/b~")
            try mount.rename("work/a~", "work/b~", .exchange)
            #expect(try mount.read("work/a~") == "b" && mount.read("work/b~") == "a")
            #expect(mount.changes == [])
        }
    }

    /// Nothing is exchanged where the secret would have to stay in memory without room for it.
    @Test func anExchangeWithoutRoomChangesNothing() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.scratchLimit = 10
        try TestMount.with(options) { mount in
            try mount.save("longer than ten bytes", "work/f")
            try mount.save("new", "work/f~")
            #expect(
                mount.failure { () throws(Errno) in try mount.rename("work/f", "work/f~", .exchange) }
                    == .noSpace)
            #expect(try mount.decrypt("work/f.gpg") == "longer than ten bytes")
            #expect(try mount.read("work/f") == "longer than ten bytes" && mount.read("work/f~") == "new")
        }
    }

    /// What was not asked to go stays on disk for its grace time.
    @Test func aRemovalThatFailsEndsNoGrace() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/f")
            try mount.rename("work/f", "work/f~")
            #expect(
                mount.failure { () throws(Errno) in try mount.removeDirectory("work/f.gpg") }
                    == .noSuchFileOrDirectory)
            #expect(try mount.onDisk() == ["f.gpg"])
        }
    }

    /// What was edited and not saved when it was renamed away is not lost when it comes back.
    @Test func aBackupWithEditsComesBackWithThem() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/f")
            let file = try mount.open("work/f")
            try file.write("new")
            try mount.rename("work/f", "work/f~")
            try mount.rename("work/f~", "work/f")
            try file.close()
            #expect(try mount.read("work/f") == "new" && mount.decrypt("work/f.gpg") == "new")
        }
    }

    @Test func aSecretThatStaysAwayIsRemovedAfterTheGrace() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.grace = .zero
        try TestMount.with(options) { mount in
            try mount.save("old", "work/f")
            try mount.rename("work/f", "work/f~")
            try mount.keys.home.waitUntil("it is removed") { try mount.onDisk() == [] }
            #expect(try mount.read("work/f~") == "old")
            try mount.keys.home.waitUntil("that is told") {
                mount.changes == [.saved("f.gpg"), .removed("f.gpg")]
            }
        }
    }

    /// An editor's lock is a link to a name that is no file's.
    @Test func aLockIsALinkInMemory() throws {
        try TestMount.with { mount in
            try mount.link("work/.#a", to: "me@host.123:456")
            #expect(try mount.target("work/.#a") == "me@host.123:456" && mount.onDisk() == [])
            #expect(mount.failure { () throws(Errno) in try mount.link("work/.#a", to: "x") } == .fileExists)
            #expect(
                mount.failure { () throws(Errno) in try mount.link("work/.#b", to: "/etc/passwd") }
                    == .notPermitted)
            // `mv` makes the link anew then; it lives in memory, and this name is a file's.
            #expect(
                mount.failure { () throws(Errno) in try mount.rename("work/.#a", "work/a") }
                    == .improperLink)
            try mount.rename("work/.#a", "work/.#c")
            // As `cp -a` does.
            try mount.change("work/.#c") { $0.modificationTime = .now }
            let held = try mount.look("work/.#c")
            try mount.unlink("work/.#c")
            #expect(try mount.names() == [])
            #expect(try mount.filesystem.attributes(of: held.inode, handle: nil).0.linkCount == 0)
            mount.forget(held)
        }
    }
}
