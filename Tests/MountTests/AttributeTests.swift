import Fuse
import Glibc
import Stores
import System
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// stat, chmod, chown, utimensat, statvfs and extended attributes.
@Suite struct AttributeTests {
    @Test func modesAndOwnersAreFixed() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            try mount.makeDirectory("work/d")
            try mount.write("x", "work/plain")
            try mount.link("work/l", to: "a")
            for (path, kind, permissions) in [
                ("", FileKind.directory, 0o700 as UInt16), ("work", .directory, 0o700),
                ("work/d", .directory, 0o700), ("work/a", .regular, 0o600), ("work/plain", .regular, 0o400),
                ("work/l", .symbolicLink, 0o777), ("work/.gpg-id", .regular, 0o600),
            ] {
                let found = try mount.attributes(path)
                #expect(found.kind == kind && found.permissions == permissions, "\(path)")
                #expect(found.userID == geteuid() && found.groupID == getegid())
            }
        }
    }

    /// What is asked for and what comes of it, of a secret, a folder and the mount point.
    @Test(
        arguments: [
            ("chmod 600", nil), ("chmod 777", nil), ("chmod 4755", Errno.notPermitted), ("chown me", nil),
            ("chown other", .notPermitted), ("chgrp other", .notPermitted),
        ] as [(String, Errno?)])
    func whatChangesNothingSucceeds(_ call: String, _ error: Errno?) throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            for path in ["work/a", "work", ""] {
                let before = try mount.attributes(path)
                let failure = mount.failure { () throws(Errno) in
                    try mount.change(path) { changes in
                        switch call {
                        case "chmod 600": changes.permissions = 0o600
                        case "chmod 777": changes.permissions = 0o777
                        case "chmod 4755": changes.permissions = 0o4755
                        case "chown me": (changes.userID, changes.groupID) = (geteuid(), getegid())
                        case "chown other": changes.userID = geteuid() &+ 1
                        default: changes.groupID = getegid() &+ 1
                        }
                    }
                }
                #expect(failure == error, "\(path)")
                #expect(try mount.attributes(path).permissions == before.permissions)
            }
        }
    }

    /// Holds:
    /// - lstat(2) of a symbolic link leaves the access time that the mount shows of it; readlink(2) changes it as on any disk.
    @Test func lookingAtALinkReadsItForNobody() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            try mount.link("work/l", to: "a")
            let disk = mount.disk("work/l.gpg")
            // Before its mtime, so that every file system that keeps access times notes the next one.
            try mount.keys.home.succeed(["touch", "-h", "-a", "-d", "@1000000000", disk.string])
            for _ in 0..<3 {
                let found = try mount.attributes("work/l")
                #expect(found.accessTime.seconds == 1_000_000_000 && found.size == 1)
            }
            #expect(try mount.target("work/l") == "a")
            let read = try #require(disk.facts())
            #expect(try mount.attributes("work/l").accessTime == FileTime(read.st_atim))
            // Another target, and somebody else who reads it.
            try mount.keys.home.succeed(["ln", "-sfn", "later.gpg", disk.string])
            try mount.keys.home.succeed(["touch", "-h", "-a", "-d", "@1000000000", disk.string])
            for _ in 0..<2 {
                let found = try mount.attributes("work/l")
                #expect(found.accessTime.seconds == 1_000_000_000 && found.size == 5)
            }
        }
    }

    @Test func timesAreKeptOnDiskAndBeforeASave() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            try mount.change("work/a") { $0.modificationTime = .at(FileTime(seconds: 1000, nanoseconds: 5)) }
            #expect(
                try mount.attributes("work/a").modificationTime == FileTime(seconds: 1000, nanoseconds: 5))
            let file = try mount.open("work/a")
            try file.write("y")
            #expect(try file.attributes.modificationTime.seconds > 1000)
            try mount.change("work/a") {
                ($0.modificationTime, $0.accessTime) = (
                    .at(FileTime(seconds: 2000)), .at(FileTime(seconds: 3000))
                )
            }
            try file.close()
            let saved = try mount.attributes("work/a")
            #expect(saved.modificationTime.seconds == 2000 && saved.accessTime.seconds == 3000)
            try mount.change("work/a") { $0.modificationTime = .now }
            #expect(try mount.attributes("work/a").modificationTime.seconds > 3000)
            // Of a folder and the mount point it is no error.
            try mount.change("work") { $0.modificationTime = .now }
            try mount.change("") { $0.modificationTime = .now }
        }
    }

    /// truncate(2) by name saves at once.
    @Test(
        arguments: [
            ("work/a", 2, nil), ("work/a", 5, nil), ("work/a", 0, nil), ("work/a", -1, Errno.invalidArgument),
            ("work/a", 1 << 20 + 1, .fileTooLarge), ("work/d", 0, .isDirectory), ("work", 0, .isDirectory),
            ("", 0, .isDirectory), ("work/plain", 0, .permissionDenied),
            ("work/none", 0, .noSuchFileOrDirectory),
        ] as [(String, Int64, Errno?)])
    func truncateSavesAtOnce(_ path: String, _ size: Int64, _ error: Errno?) throws {
        try TestMount.with { mount in
            try mount.save("abc", "work/a")
            try mount.makeDirectory("work/d")
            try mount.write("plain", "work/plain")
            #expect(mount.failure { () throws(Errno) in try mount.truncate(path, to: size) } == error)
            let expected = error == nil ? String("abc\0\0".prefix(Int(size))) : "abc"
            #expect(try mount.decrypt("work/a.gpg") == expected)
        }
    }

    @Test func aFoldersLinksAreItsFolders() throws {
        try TestMount.with { mount in
            for name in ["x", "y"] { try mount.makeDirectory("work/" + name) }
            mkdir(mount.disk("work/.git").string, 0o700)
            let onDisk = try #require(
                try mount.keys.home.succeed(["stat", "-c", "%h", mount.disk("work").string]).first)
            // Some file systems do not count them.
            #expect(try mount.attributes("work").linkCount == (onDisk == UInt8(ascii: "5") ? 4 : 1))
        }
    }

    @Test func statvfsLeavesRoomForTheSuffix() throws {
        try TestMount.with { mount in
            for path in ["", "work"] {
                let facts = try mount.at(path) { inode throws(Errno) in try mount.filesystem.statistics(inode)
                }
                #expect(facts.maximumNameLength == 251 && facts.blocks > 0)
            }
        }
        let empty = StoreFilesystem(options: .init())
        #expect(try empty.statistics(.root).maximumNameLength == 251)
    }

    /// Setting the times of what is not saved yet is a change of it, also to those it has.
    @Test(arguments: ["work/a", "work/a~"]) func settingTimesChangesTheFile(_ path: String) throws {
        try TestMount.with { mount in
            let file = try mount.open(path, O_RDWR | O_CREAT)
            try file.write("x")
            let before = try file.attributes
            try mount.change(path) { $0.modificationTime = .at(before.modificationTime) }
            let after = try file.attributes
            #expect(after.modificationTime == before.modificationTime)
            #expect(timespec(after.changeTime).tv_nsec != timespec(before.changeTime).tv_nsec)
            try mount.change(path) { $0.modificationTime = .at(FileTime(seconds: 1000, nanoseconds: 5)) }
            #expect(try file.attributes.modificationTime.seconds == 1000)
            #expect(try file.attributes.changeTime.seconds >= before.changeTime.seconds)
            try file.close()
        }
    }

    /// Which attribute what has.
    @Test func whatThingsTell() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            try mount.save("x", "work/ignored")
            try mount.save("x", "work/a~")
            try mount.makeDirectory("work/d")
            try mount.write("plain", "work/plain")
            let names = ["recipients", "store", "backing", "encrypted-size", "state", "error"]
            for (path, has) in [
                ("work/a", ["recipients", "store", "backing", "encrypted-size", "state"]),
                ("work/a~", ["store", "state"]), ("work/d", ["recipients", "store", "backing"]),
                ("work/plain", ["store", "backing"]), ("", []),
            ] {
                for name in names {
                    let failure = mount.failure { () throws(Errno) in try mount.attribute(name, of: path) }
                    #expect((failure == nil) == has.contains(name), "\(name) of \(path): \(failure as Any)")
                    #expect(failure == nil || failure == Errno(rawValue: ENODATA))
                }
            }
            #expect(try mount.attribute("store", of: "work/a") == "work")
            #expect(try mount.attribute("backing", of: "work/a") == mount.disk("work/a.gpg").string)
            #expect(
                try mount.attribute("recipients", of: "work/a")
                    == "\(mount.keys.ann.fingerprint) ann <ann@example.org>")
            #expect(try mount.attribute("state", of: "work/ignored") == "ignored")
        }
    }

    /// They are listed to nobody, so that no program copies them, and can't be set.
    @Test func attributesAreNotListedOrSet() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let entry = try mount.look("work/a")
            defer { mount.forget(entry) }
            let filesystem = mount.filesystem
            #expect(try filesystem.extendedAttributeNames(entry.inode) == [])
            for (name, removal) in [
                ("user.passdir.store", Errno.notPermitted), ("user.x", Errno(rawValue: ENODATA)),
            ] {
                let name = Array(name.utf8)
                #expect(throws: Errno.notSupportedOnSocket) {
                    try name.withUnsafeBytes { value in
                        try filesystem.setExtendedAttribute(entry.inode, name: name, value: value, flags: [])
                    }
                }
                #expect(throws: removal) { try filesystem.removeExtendedAttribute(entry.inode, name: name) }
            }
            for (name, refusal) in [
                ("user.other", Errno(rawValue: ENODATA)), ("system.posix_acl_access", .notSupportedOnSocket),
                ("security.selinux", .notSupportedOnSocket),
            ] {
                #expect(throws: refusal, "\(name)") {
                    try filesystem.extendedAttribute(entry.inode, name: Array(name.utf8))
                }
            }
        }
    }
}
