import Fuse
import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Which name a file of a store has in the mount, and what can be made under which name.
@Suite struct NameTests {
    /// What lies on disk, and what the mount lists. A name with a slash at its end is a folder's, one with `@` a link's.
    static let shown: [(disk: [String], mount: [String])] = [
        (["a.gpg"], ["a"]),
        (["a.gpg", "a/"], ["a", "a.gpg"]),
        (["a.gpg", "a"], ["a", "a.gpg"]),
        (["a.gpg", "a@"], ["a", "a.gpg"]),
        (["a.gpg.gpg"], ["a.gpg"]),
        (["a.gpg.gpg", "a.gpg"], ["a", "a.gpg"]),
        (["a.gpg/"], ["a.gpg"]),
        (["a.gpg@"], ["a"]),
        (["a.GPG"], ["a.GPG"]),
        ([".gpg"], [".gpg"]),
        (["README.md", ".gitattributes"], [".gitattributes", "README.md"]),
        ([".git/", "a.gpg"], ["a"]),
        (["a b.gpg", "ä.gpg", "\t.gpg"], ["\t", "a b", "ä"]),
        ([".a.gpg"], [".a"]),
    ]

    @Test(arguments: shown)
    func everyEntryHasOneName(_ disk: [String], _ names: [String]) throws {
        try TestMount.with { mount in
            for name in disk {
                let bare = "work/" + name.filter { $0 != "@" && $0 != "/" }
                if name.hasSuffix("/") {
                    mkdir(mount.disk(bare).string, 0o700)
                } else if name.hasSuffix("@") {
                    symlink("elsewhere.gpg", mount.disk(bare).string)
                } else {
                    try mount.write("", bare)
                }
            }
            #expect(try mount.names() == names)
            // What is listed can be looked up, by the number that the listing tells.
            for entry in try mount.entries("work") where entry.name != "." && entry.name != ".." {
                let found = try mount.look("work/" + entry.name.string)
                #expect(found.inode == entry.inode && found.attributes.kind == entry.kind)
                mount.forget(found)
            }
        }
    }

    /// What no file of a store is shown by.
    @Test(arguments: [".git", ".git/config", "a.gpg", "b", "plain.gpg"])
    func whatIsNotListedIsNotFound(_ name: String) throws {
        try TestMount.with { mount in
            try mount.write("", "work/a.gpg")
            try mount.write("", "work/plain")
            mkdir(mount.disk("work/.git").string, 0o700)
            try mount.write("", "work/.git/config")
            #expect(
                mount.failure { () throws(Errno) in try mount.look("work/" + name) } == .noSuchFileOrDirectory
            )
        }
    }

    /// What becomes of a name that a secret is made under: its file on disk, or why not.
    static let made: [(name: String, result: Result<String, Errno>)] = [
        ("a", .success("a.gpg")),
        ("a.gpg", .success("a.gpg.gpg")),
        ("foo.gpg", .success("foo.gpg.gpg")),
        ("a.b", .success("a.b.gpg")),
        (".a", .success(".a.gpg")),
        ("a b", .success("a b.gpg")),
        ("ü", .success("ü.gpg")),
        ("-", .success("-.gpg")),
        (String(repeating: "n", count: 251), .success(String(repeating: "n", count: 251) + ".gpg")),
        (String(repeating: "n", count: 252), .failure(.fileNameTooLong)),
        (".git", .failure(.notPermitted)),
        (".gpg-id.sig", .failure(.notPermitted)),
        ("folder", .failure(.fileExists)),
        ("plain", .failure(.fileExists)),
    ]

    @Test(arguments: made)
    func aSecretGetsItsSuffix(_ name: String, _ result: Result<String, Errno>) throws {
        try TestMount.with { mount in
            mkdir(mount.disk("work/folder").string, 0o700)
            try mount.write("", "work/plain")
            let before = try mount.onDisk()
            let failure = mount.failure { () throws(Errno) in try mount.makeNode("work/" + name) }
            switch result {
            case .success(let file):
                #expect(failure == nil)
                #expect(try mount.onDisk() == (before + [file]).sorted())
                #expect(try mount.names().contains(name))
            case .failure(let error):
                #expect(failure == error)
                #expect(try mount.onDisk() == before)
            }
        }
    }

    /// A folder gets the name that it is given, whatever that is.
    @Test(arguments: [
        ("d", nil), ("d.gpg", nil), ("a~", nil), (".git", Errno.notPermitted), ("a", .fileExists),
        ("a.gpg", .fileExists),
    ])
    func aFolderKeepsItsName(_ name: String, _ error: Errno?) throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            #expect(mount.failure { () throws(Errno) in try mount.makeDirectory("work/" + name) } == error)
            #expect(try mount.onDisk().contains(name) == (error == nil || name == "a.gpg"))
        }
    }

    /// The kernel looks up a name before it asks for anything else to be done with it.
    @Test func aNameThatIsTooLongIsToldWhenItIsLookedUp() throws {
        try TestMount.with { mount in
            for count in [252, 255, 256] {
                let path = "work/" + String(repeating: "n", count: count)
                #expect(mount.failure { () throws(Errno) in try mount.look(path) } == .fileNameTooLong)
                #expect(
                    mount.failure { () throws(Errno) in try mount.makeDirectory(path) } == .fileNameTooLong)
                #expect(mount.failure { () throws(Errno) in try mount.makeNode(path) } == .fileNameTooLong)
                #expect(mount.failure { () throws(Errno) in try mount.unlink(path) } == .fileNameTooLong)
                #expect(
                    mount.failure { () throws(Errno) in try mount.link(path, to: "a") } == .fileNameTooLong)
            }
            // One that others made is there.
            let long = String(repeating: "n", count: 252)
            mkdir(mount.disk("work/" + long).string, 0o700)
            try mount.save("x", "work/\(long)/a")
        }
    }

    /// Bytes that are no UTF-8 are a name like others.
    @Test func aNameNeedNotBeText() throws {
        try TestMount.with { mount in
            let name = try #require(
                [CChar(bitPattern: 0xFF), 0x61, 0].withUnsafeBufferPointer {
                    Name(platformString: $0.baseAddress!)
                })
            let folder = try mount.look("work")
            defer { mount.forget(folder) }
            let made = try mount.filesystem.makeNode(
                in: folder.inode, name: name, permissions: 0o600, for: mount.caller)
            let found = try mount.filesystem.lookup(in: folder.inode, name: name)
            #expect(made.inode == found.inode)
            mount.forget(made)
            mount.forget(found)
            #expect(try mount.entries("work").contains { $0.name == name })
        }
    }

    /// A secret that is still to be saved has its name on disk already: nothing else may take it.
    @Test(arguments: [true, false])
    func anUnsavedSecretKeepsItsPlaceOnDisk(_ isRename: Bool) throws {
        try TestMount.with { mount in
            let file = try mount.open("work/a", O_RDWR | O_CREAT)
            try file.write("x")
            if isRename { try mount.makeDirectory("work/d") }
            let failure = mount.failure { () throws(Errno) in
                if isRename {
                    try mount.rename("work/d", "work/a.gpg")
                } else {
                    try mount.makeDirectory("work/a.gpg")
                }
            }
            #expect(failure == .fileExists)
            try file.close()
            #expect(try mount.decrypt("work/a.gpg") == "x")
        }
    }

    /// The secret beside a folder of its name goes on being called `foo.gpg` when that has gone.
    @Test func aNameStaysWhenWhatWasInItsWayGoes() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/foo")
            mkdir(mount.disk("work/foo").string, 0o700)
            #expect(try mount.names() == ["foo", "foo.gpg"])
            #expect(try mount.read("work/foo.gpg") == "x")
            try mount.removeDirectory("work/foo")
            #expect(try mount.names() == ["foo.gpg"])
            #expect(
                mount.failure { () throws(Errno) in try mount.look("work/foo") } == .noSuchFileOrDirectory)
            try mount.rename("work/foo.gpg", "work/bar")
            #expect(try mount.names() == ["bar"] && mount.onDisk() == ["bar.gpg"])
        }
    }
}
