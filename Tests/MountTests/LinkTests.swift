import Fuse
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Symbolic links: what they are on disk, what the mount shows of them, and where they may lead.
@Suite struct LinkTests {
    /// A link that is made in `work/d`, and its name and target on disk.
    static let made: [(name: String, target: String, disk: Result<[String], Errno>)] = [
        ("l", "s", .success(["l.gpg", "s.gpg"])),
        ("l", "../a", .success(["l.gpg", "../a.gpg"])),
        ("l", "../plain", .success(["l", "../plain"])),
        ("l", "../d", .success(["l", "../d"])),
        ("l", "later", .success(["l", "later"])),
        ("l.gpg", "s", .success(["l.gpg.gpg", "s.gpg"])),
        ("l", "./s", .success(["l.gpg", "./s.gpg"])),
        ("l", "../../home/a", .failure(.notPermitted)),
        ("l", "/etc/passwd", .failure(.notPermitted)),
        ("l", "s/../../../x", .failure(.notPermitted)),
        ("l", "../.git/config", .failure(.notPermitted)),
        ("l", "", .failure(.notPermitted)),
        ("s", "x", .failure(.fileExists)),
        (".git", "s", .failure(.notPermitted)),
    ]

    @Test(arguments: made)
    func aLinkIsMadeAsPassFollowsIt(_ name: String, _ target: String, _ disk: Result<[String], Errno>) throws
    {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/s")
            try mount.save("x", "work/a")
            try mount.write("", "work/plain")
            let failure = mount.failure { () throws(Errno) in try mount.link("work/d/" + name, to: target) }
            switch disk {
            case .failure(let error): #expect(failure == error)
            case .success(let expected):
                #expect(failure == nil)
                let stored = try mount.keys.home.succeed([
                    "readlink", mount.disk("work/d/" + expected[0]).string,
                ])
                #expect(String(decoding: stored, as: UTF8.self) == expected[1] + "\n")
                #expect(try mount.target("work/d/" + name) == target, "it tells what it was given")
                #expect(try mount.attributes("work/d/" + name).size == Int64(target.utf8.count))
            }
        }
    }

    /// A link on disk that others made, and what it tells.
    static let found: [(target: String, shown: Result<String, Errno>)] = [
        ("s.gpg", .success("s")), ("none.gpg", .success("none")), ("./s.gpg", .success("./s")),
        ("../outside", .success(".passdir-refused/../outside")),
        ("/etc/passwd", .success(".passdir-refused//etc/passwd")),
        (".gpg-id", .success(".passdir-refused/.gpg-id")), ("s~.gpg", .success(".passdir-refused/s~.gpg")),
        (".git/config", .success(".passdir-refused/.git/config")),
        ("STORE/s.gpg", .success("s")), ("STORE/d/t.gpg", .success("d/t")), ("STORE", .success(".")),
        ("STORE/../outside", .success(".passdir-refused/STORE/../outside")),
    ]

    /// Holds:
    /// - A symbolic link that others made and that leads out of its store is shown, with `.passdir-refused/` before its target,
    ///   and is EACCES when it is followed.
    @Test(arguments: found)
    func aLinkTellsNothingOutside(_ target: String, _ shown: Result<String, Errno>) throws {
        try TestMount.with { mount in
            try mount.save("x", "work/s")
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/d/t")
            func inStore(_ text: String) -> String {
                let parts = text.split(separator: "STORE", omittingEmptySubsequences: false)
                return parts.joined(separator: mount.disk("work").string)
            }
            symlink(inStore(target), mount.disk("work/l.gpg").string)
            #expect(Result { () throws(Errno) in try mount.target("work/l") } == shown.map(inStore))
            #expect(try mount.attributes("work/l").kind == .symbolicLink)
            #expect(try mount.attributes("work/l").size == Int64(try mount.target("work/l").utf8.count))
            // What stands before the target of one that is not followed is no name.
            #expect(
                mount.failure { () throws(Errno) in try mount.look("work/.passdir-refused") }
                    == .permissionDenied)
            #expect(
                mount.failure { () throws(Errno) in try mount.link("work/n", to: ".passdir-refused/s") }
                    == .notPermitted)
            #expect(
                mount.failure { () throws(Errno) in try mount.open("work/l") } == .tooManySymbolicLinkLevels)
        }
    }

    /// By a path on disk or in the mount.
    ///
    /// Holds:
    /// - A symbolic link by an absolute path within its store is shown, and made, as a relative one. So a copy of it leads
    ///   elsewhere where it lies deeper or less deep than the link, as a copy of any relative link does.
    @Test func anAbsoluteLinkIsMadeRelative() throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.mountPoint = "/m"
        try TestMount.with(options) { mount in
            try mount.makeDirectory("work/d")
            try mount.save("x", "work/s")
            try mount.link("work/d/one", to: mount.disk("work/s").string)
            try mount.link("work/d/two", to: "/m/work/s")
            #expect(
                mount.failure { () throws(Errno) in try mount.link("work/n", to: "/m/home/s") }
                    == .notPermitted)
            #expect(try mount.onDisk() == ["d", "d/one.gpg", "d/two.gpg", "s.gpg"])
            #expect(try mount.target("work/d/one") == "../s" && mount.target("work/d/two") == "../s")
        }
    }

    /// A secret that is shown with its `.gpg`, because of a folder that has its name, is one for a link, too.
    @Test func aLinkToASecretBesideAFolder() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/s")
            try mount.encrypt("x", "work/s.gpg")
            #expect(try mount.read("work/s.gpg") == "x")
            try mount.link("work/l", to: "s.gpg")
            #expect(try mount.target("work/l") == "s.gpg")
            #expect(try mount.onDisk() == ["l.gpg", "s", "s.gpg"])
        }
    }

    /// A link may come before its secret; it is stored as one to a secret from then on.
    @Test func aLinkBeforeItsSecret() throws {
        try TestMount.with { mount in
            try mount.link("work/l", to: "s")
            #expect(try mount.onDisk() == ["l"])
            try mount.save("x", "work/s")
            #expect(try mount.onDisk() == ["l.gpg", "s.gpg"])
            #expect(try mount.target("work/l") == "s")
            #expect(mount.changes == [.saved("l"), .saved("s.gpg"), .renamed(from: "l", to: "l.gpg")])
        }
    }

    @Test func hardLinksAreRefused() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let failure = mount.failure { () throws(Errno) in
                try mount.at("work/a") { inode throws(Errno) in
                    try mount.at("work") { folder throws(Errno) in
                        try mount.filesystem.link(inode, to: folder, name: "b")
                    }
                }
            }
            #expect(failure == .notPermitted)
            #expect(mount.failure { () throws(Errno) in try mount.target("work/a") } != nil)
        }
    }
}
