import Fuse
import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Every kind of rename: what is moved, over what, with which flags.
@Suite struct RenameTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var from: String
        var to: String
        var flags: RenameFlags = []
        /// nil: it succeeds.
        var error: Errno?
        /// What lies on disk afterwards; nil: as before.
        var disk: [String]?

        var testDescription: String { "\(from) to \(to) \(flags.rawValue)" }
    }

    /// On disk before: `a.gpg`, `b.gpg`, `d/`, `d/in.gpg`, `e/`, `l.gpg` (a link to `a.gpg`), `plain`, `bob/` with Bob's own
    /// list, and the scratch file `s~` in memory.
    static let before = ["a.gpg", "b.gpg", "bob", "bob/.gpg-id", "d", "d/in.gpg", "e", "l.gpg", "plain"]

    static func after(_ gone: String, _ new: String? = nil) -> [String] {
        (before.filter { $0 != gone } + (new.map { [$0] } ?? [])).sorted()
    }

    static let cases = [
        Case(from: "work/a", to: "work/n", disk: after("a.gpg", "n.gpg")),
        Case(from: "work/a", to: "work/a", disk: before),
        Case(from: "work/a", to: "work/n.gpg", disk: after("a.gpg", "n.gpg.gpg")),
        Case(from: "work/a", to: "work/b", disk: after("a.gpg")),
        Case(from: "work/a", to: "work/d/n", disk: after("a.gpg", "d/n.gpg")),
        Case(from: "work/d/in", to: "work/in", disk: after("d/in.gpg", "in.gpg")),
        Case(from: "work/a", to: "work/bob/a", disk: after("a.gpg", "bob/a.gpg")),
        Case(from: "work/a", to: "work/l", disk: after("a.gpg")),
        Case(from: "work/l", to: "work/a", disk: after("l.gpg")),
        Case(from: "work/l", to: "work/m", disk: after("l.gpg", "m.gpg")),
        Case(from: "work/e", to: "work/f", disk: after("e", "f")),
        Case(from: "work/e", to: "work/d", error: .directoryNotEmpty),
        Case(from: "work/d", to: "work/e", disk: after("d").filter { $0 != "d/in.gpg" } + ["e/in.gpg"]),
        Case(from: "work/d", to: "work/d/x", error: .invalidArgument),
        Case(from: "work/e", to: "work/d/e", disk: after("e", "d/e")),
        Case(
            from: "work/bob", to: "work/d/bob",
            disk: after("bob").filter { $0 != "bob/.gpg-id" } + ["d/bob", "d/bob/.gpg-id"]),
        Case(from: "work/d", to: "work/bob/d", error: .improperLink),
        Case(from: "work/s~", to: "work/n", disk: before + ["n.gpg"]),
        Case(from: "work/s~", to: "work/a", disk: before),
        Case(from: "work/s~", to: "work/t~", disk: before),
        Case(from: "work/s~", to: "work/d", error: .isDirectory),
        Case(from: "work/a", to: "work/s~", disk: before),
        Case(from: "work/a", to: "work/d", error: .isDirectory),
        Case(from: "work/d", to: "work/a", error: .notDirectory),
        Case(from: "work/a", to: "work/plain", error: .notPermitted),
        Case(from: "work/plain", to: "work/n", error: .notPermitted),
        Case(from: "work/l", to: "work/n~", error: .notPermitted),
        Case(from: "work/.gpg-id", to: "work/n", error: .notPermitted),
        Case(from: "work/a", to: "work/.git", error: .notPermitted),
        Case(from: "work/a", to: "work/.gpg-id.sig", error: .notPermitted),
        Case(from: "work/a", to: "work/" + String(repeating: "n", count: 252), error: .fileNameTooLong),
        Case(from: "work/none", to: "work/n", error: .noSuchFileOrDirectory),
        Case(from: "work/a", to: "home/a", error: .improperLink),
        Case(from: "work/d", to: "home/d", error: .improperLink),
        Case(from: "work/a", to: "work/b", flags: .noReplace, error: .fileExists),
        Case(from: "work/d", to: "work/e", flags: .noReplace, error: .fileExists),
        Case(from: "work/s~", to: "work/a", flags: .noReplace, error: .fileExists),
        Case(from: "work/a", to: "work/n", flags: .noReplace, disk: after("a.gpg", "n.gpg")),
        Case(from: "work/a", to: "work/b", flags: .exchange, disk: before),
        Case(from: "work/d", to: "work/e", flags: .exchange, disk: after("d/in.gpg", "e/in.gpg")),
        Case(from: "work/a", to: "work/d", flags: .exchange, error: .invalidArgument),
        Case(from: "work/a", to: "work/s~", flags: .exchange, disk: before),
        Case(from: "work/s~", to: "work/a", flags: .exchange, disk: before),
        Case(from: "work/d", to: "work/s~", flags: .exchange, error: .invalidArgument),
        Case(from: "work/a", to: "work/.gpg-id", flags: .exchange, error: .invalidArgument),
        Case(from: "work/a", to: "work/none", flags: .exchange, error: .noSuchFileOrDirectory),
        Case(from: "work/a", to: "home/a", flags: .exchange, error: .improperLink),
    ]

    @Test(arguments: cases)
    func renames(_ rename: Case) throws {
        try TestMount.with { mount in
            for name in ["a", "b"] { try mount.save(name, "work/\(name)") }
            for name in ["d", "e", "bob"] { try mount.makeDirectory("work/\(name)") }
            try mount.write(mount.keys.bob.fingerprint + "\n", "work/bob/.gpg-id")
            try mount.save("in", "work/d/in")
            symlink("a.gpg", mount.disk("work/l.gpg").string)
            try mount.write("plain", "work/plain")
            try mount.save("s", "work/s~")
            #expect(try mount.onDisk() == Self.before)
            let from = FilePath(rename.from).lastComponent?.string ?? ""
            let held = try? mount.look(rename.from)
            let was = ["a", "b", "in", "s~"].contains(from) ? try mount.read(rename.from) : nil
            let wasThere = rename.flags == .exchange && rename.error == nil ? try? mount.read(rename.to) : nil

            #expect(
                mount.failure { () throws(Errno) in try mount.rename(rename.from, rename.to, rename.flags) }
                    == rename.error)
            #expect(try mount.onDisk() == (rename.disk ?? Self.before).sorted())
            if rename.error == nil {
                // The same thing, under its new name, with what it held.
                #expect(try mount.at(rename.to) { $0 } == held?.inode)
                if let was { #expect(try mount.read(rename.to) == was) }
                if let wasThere { #expect(try mount.read(rename.from) == wasThere) }
                if rename.flags != .exchange, rename.from != rename.to {
                    #expect(
                        mount.failure { () throws(Errno) in try mount.look(rename.from) }
                            == .noSuchFileOrDirectory)
                }
            } else if let was {
                #expect(try mount.read(rename.from) == was)
            }
            if let held { mount.forget(held) }
        }
    }

    /// What is in the way of a rename is told, whatever else would be in the way on disk.
    @Test func whatIsInTheWayIsTold() throws {
        try TestMount.with { mount in
            for name in ["d", "d.gpg"] { try mount.makeDirectory("work/" + name) }
            try mount.save("x", "work/a")
            try mount.save("x", "work/s~")
            for name in ["a", "s~"] {
                #expect(
                    mount.failure { () throws(Errno) in try mount.rename("work/" + name, "work/d") }
                        == .isDirectory)
                #expect(
                    mount.failure { () throws(Errno) in try mount.rename("work/d", "work/" + name, .noReplace)
                    }
                        == .fileExists)
            }
        }
    }

    /// Where other recipients apply, the ciphertext is theirs.
    @Test func aSecretIsEncryptedForItsNewPlace() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            try mount.makeDirectory("work/bob")
            try mount.write(mount.keys.bob.fingerprint + "\n", "work/bob/.gpg-id")
            try mount.rename("work/a", "work/bob/a")
            #expect(try mount.attribute("recipients", of: "work/bob/a").hasPrefix(mount.keys.bob.fingerprint))
            #expect(try mount.decrypt("work/bob/a.gpg") == "x")
        }
    }

    /// What must be decrypted and cannot be without a passphrase is not renamed: mv(1) copies.
    @Test func aRenameNeverAsks() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/l")
            try mount.write(mount.keys.locked.fingerprint + "\n", "work/l/.gpg-id")
            try mount.encrypt("x", "work/l/a.gpg", to: mount.keys.locked)
            for name in ["work/a", "work/l/a~"] {
                let failure = mount.failure { () throws(Errno) in try mount.rename("work/l/a", name) }
                #expect(failure != nil, "\(name)")
            }
            try mount.rename("work/l/a", "work/l/b")
            #expect(try mount.names("work/l") == ["b"])
        }
    }

    /// A folder moves with all that is open in it, and what is written then is saved where it is now.
    @Test func openFilesFollowTheirFolder() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            let file = try mount.open("work/d/a", O_RDWR | O_CREAT)
            try file.write("before")
            try mount.rename("work/d", "work/e")
            try file.write("behind", at: 6)
            try file.close()
            #expect(try mount.onDisk() == ["e", "e/a.gpg"])
            #expect(try mount.read("work/e/a") == "beforebehind")
        }
    }

    /// A save goes to the name that the file has then, whichever it was opened by.
    @Test func anOpenFileIsSavedUnderItsNewName() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/a")
            let file = try mount.open("work/a", O_WRONLY | O_TRUNC)
            try file.write("new")
            try mount.rename("work/a", "work/b")
            try file.close()
            #expect(try mount.onDisk() == ["b.gpg"])
            #expect(try mount.decrypt("work/b.gpg") == "new")
        }
    }

    /// What is replaced while it is open can be read to its end, and is saved nowhere.
    @Test func whatIsReplacedIsNotSaved() throws {
        try TestMount.with { mount in
            try mount.save("a", "work/a")
            try mount.save("b", "work/b")
            let file = try mount.open("work/b")
            try file.write("B")
            try mount.rename("work/a", "work/b")
            #expect(try file.text == "B")
            #expect(try file.attributes.linkCount == 0)
            try file.close()
            #expect(try mount.onDisk() == ["b.gpg"] && mount.read("work/b") == "a")
        }
    }

    /// An exchange that is refused leaves what is being written as it is.
    @Test func aRefusedExchangeSavesNothing() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/bob")
            try mount.write(mount.keys.bob.fingerprint + "\n", "work/bob/.gpg-id")
            try mount.save("b", "work/bob/b")
            let file = try mount.open("work/a", O_WRONLY | O_CREAT)
            try file.write("x")
            let failure = mount.failure { () throws(Errno) in
                try mount.rename("work/a", "work/bob/b", .exchange)
            }
            #expect(failure == .invalidArgument)
            #expect(try mount.attribute("state", of: "work/a") == "unsaved")
            try file.close()
        }
    }

    /// A link takes the name of a file that no save has put on disk yet, which is gone then.
    @Test(arguments: ["work/d/l", "work/d/l.gpg"], [true, false])
    func aLinkReplacesAFileThatIsNotSavedYet(_ link: String, _ isWritten: Bool) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/a")
            symlink(link.hasSuffix(".gpg") ? "a.gpg" : "../d", mount.disk(link).string)
            let file = try mount.open("work/n", O_RDWR | O_CREAT)
            if isWritten { try file.write("new") }
            try mount.rename("work/d/l", "work/n")
            #expect(try mount.attributes("work/n").kind == .symbolicLink)
            try file.close()
            #expect(
                try mount.onDisk() == ["d", "d/a.gpg", link.hasSuffix(".gpg") ? "n.gpg" : "n"])
            #expect(try mount.names() == ["d", "n"])
        }
    }

    /// As on any disk, by way of a backup's name, too.
    @Test func whatWasNotEditedKeepsItsTime() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/a")
            try mount.change("work/a") { $0.modificationTime = .at(FileTime(seconds: 1000, nanoseconds: 5)) }
            try mount.rename("work/a", "work/a~")
            #expect(
                try mount.attributes("work/a~").modificationTime == FileTime(seconds: 1000, nanoseconds: 5))
            try mount.rename("work/a~", "work/d/b")
            #expect(
                try mount.attributes("work/d/b").modificationTime == FileTime(seconds: 1000, nanoseconds: 5))
            #expect(try mount.read("work/d/b") == "x")
        }
    }

    /// What is empty and open waits for its close, but not where it replaces a link: that would go on being shown.
    @Test(arguments: ["work/n", "work/n~"], ["l", "l.gpg"])
    func anOpenEmptyFileReplacesALink(_ name: String, _ link: String) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            symlink("d", mount.disk("work/" + link).string)
            #expect(try mount.attributes("work/l").kind == .symbolicLink)
            let file = try mount.open(name, O_WRONLY | O_CREAT)
            try mount.rename(name, "work/l")
            #expect(try mount.names() == ["d", "l"])
            #expect(try mount.attributes("work/l").kind == .regular)
            try file.write("x")
            try file.close()
            #expect(try mount.onDisk() == ["d", "l.gpg"] && mount.read("work/l") == "x")
        }
    }
}
