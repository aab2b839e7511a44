import Glibc
import SystemPackage
import TestKit
import Testing

/// How names on disk and names in the mount belong together.
@Suite struct NameTests {
    /// Holds:
    /// - Every visible store is a directory in the mount point; a secret `a/b.gpg` of the store `work` is the
    ///   file `work/a/b`.
    /// - Where `foo` and `foo.gpg` both are on disk, `foo` keeps its name and the secret is shown as
    ///   `foo.gpg`.
    /// - A directory keeps its name, even one that ends with `.gpg`.
    /// - `.git` and passdir's temporary files are not shown, and nothing can be made under such a name.
    /// - Other files of the store, such as `.gitattributes`, are shown as they are and cannot be written:
    ///   opening one for writing is EACCES.
    @Test func everyEntryHasOneVisibleName() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            for name in ["plain", "both", "both/inner", "dir.gpg/s"] { try store.insert(name, "\(name)\n") }
            try home.write("text\n", to: "work/README.md")
            try home.write("left\n", to: "work/.passdir-1-1.txt")
            try home.addStores([store])
            try home.mount()
            #expect(try FileCalls.names(in: home.mountPoint) == ["work"])
            let names = try FileCalls.names(in: home.visible("work"))
            #expect(
                names == [".gitattributes", ".gpg-id", "README.md", "both", "both.gpg", "dir.gpg", "plain"])
            #expect(try FileCalls.read(home.visible("work/both.gpg")) == Array("both\n".utf8))
            #expect(try FileCalls.read(home.visible("work/both/inner")) == Array("both/inner\n".utf8))
            #expect(try FileCalls.read(home.visible("work/dir.gpg/s")) == Array("dir.gpg/s\n".utf8))
            // Saved under the name that it is shown by, it stays the same file.
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/both.gpg"))
            #expect(try store.show("both") == Array("new\n".utf8))

            #expect(throws: Errno.noSuchFileOrDirectory) {
                try FileCalls.read(home.visible("work/plain.gpg"))
            }
            #expect(throws: Errno.noSuchFileOrDirectory) {
                try FileCalls.names(in: home.visible("work/.git"))
            }
            #expect(throws: Errno.noSuchFileOrDirectory) {
                try FileCalls.read(home.visible("work/.git/config"))
            }
            for name in [".git", ".passdir-9-9.tmp"] {
                #expect(throws: Errno.notPermitted) {
                    try FileCalls.save([1], to: home.visible("work/\(name)"))
                }
                #expect(throws: Errno.notPermitted) {
                    try FileCalls.rename(
                        home.visible("work/plain"), to: home.visible("work/\(name)"))
                }
            }
            #expect(throws: Errno.notPermitted) {
                try FileCalls.makeDirectory(home.visible("work/both/.git"))
            }
            #expect(try FileCalls.read(home.visible("work/README.md")) == Array("text\n".utf8))
            #expect(throws: Errno.permissionDenied) {
                try FileCalls.save([1], to: home.visible("work/README.md"))
            }
            #expect(throws: Errno.notPermitted) { try FileCalls.unlink(home.visible("work/README.md")) }
            try home.unmount()
        }
    }

    /// Holds:
    /// - A name of up to 251 bytes can be given to a secret, as `.gpg` is added on disk; a longer one is
    ///   ENAMETOOLONG.
    /// - Nothing can be made in the mount point itself: EPERM.
    @Test func namesHaveTheirLimits() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try home.addStores([store])
            try home.mount()
            let longest = String(repeating: "n", count: 251)
            try FileCalls.save([1], to: home.visible("work/\(longest)"))
            #expect(try store.show(longest) == [1])
            for length in [252, 255] {
                let name = String(repeating: "n", count: length)
                #expect(throws: Errno.fileNameTooLong) {
                    try FileCalls.save([1], to: home.visible("work/\(name)"))
                }
            }
            #expect(throws: Errno.notPermitted) { try FileCalls.save([1], to: home.visible("file")) }
            #expect(throws: Errno.notPermitted) { try FileCalls.makeDirectory(home.visible("folder")) }
            try home.unmount()
        }
    }
}
