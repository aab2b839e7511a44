import Access
import Contents
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

/// What is made of secrets below `.passdir`.
@Suite struct ControlDirectoryTests {
    private static let uri = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8"
    private static let text = "hunter2\nlogin: ann\nan odd key:  with  spaces \nlogin: eve\n\(uri)\n"

    @Test func itIsEnteredByNameOnly() throws {
        try TestMount.with { mount in
            let listed = try mount.names("")
            #expect(listed == ["home", "work"])
            #expect(try mount.names(".passdir") == ["fields", "first", "otp", "rendered", "run"])
            #expect(try mount.names(".passdir/first") == ["home", "work"])
            #expect(try mount.attributes(".passdir").permissions == 0o500)
            for missing in [".passdir/nosuch", ".passdir/first/nosuch", "work/.passdir"] {
                #expect(
                    mount.failure { () throws(Errno) in try mount.look(missing) } == .noSuchFileOrDirectory)
            }
        }
    }

    @Test func foldersMirrorTheStore() throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/a")
            try mount.save("x", "work/a/s")
            try mount.link("work/l", to: "a/s")
            try mount.write("plain", "work/README.md")
            for view in ["first", "otp", "fields"] {
                #expect(try mount.names(".passdir/\(view)/work") == ["a", "l"])
                #expect(try mount.names(".passdir/\(view)/work/a") == ["s"])
                #expect(try mount.target(".passdir/\(view)/work/l") == "a/s")
            }
            #expect(try mount.attributes(".passdir/first/work/a/s").kind == .regular)
            #expect(try mount.attributes(".passdir/fields/work/a/s").kind == .directory)
            for missing in ["README.md", ".gpg-id", "a/t", "a/s/t"] {
                #expect(
                    throws: Errno.self, "\(missing)"
                ) { try mount.look(".passdir/first/work/\(missing)") }
            }
        }
    }

    @Test func valuesAreExact() throws {
        try TestMount.with { mount in
            try mount.encrypt(Self.text, "work/s.gpg")
            let (first, fields) = (".passdir/first/work/s", ".passdir/fields/work/s")
            let known = try mount.look(first)
            defer { mount.forget(known) }
            #expect(known.attributes.size == 0, "nothing was decrypted")
            #expect(try mount.read(first) == "hunter2")
            #expect(try mount.size(first) == 7)
            #expect(try mount.read(fields + "/login") == "ann")
            #expect(try mount.read(fields + "/LOGIN") == "ann")
            #expect(try mount.read(fields + "/an odd key") == "with  spaces")
            #expect(
                mount.failure { () throws(Errno) in try mount.read(fields + "/nosuch") }
                    == .noSuchFileOrDirectory)
            #expect(try mount.attribute("error", of: fields + "/nosuch") == "it has no field \"nosuch\"")
            #expect(try mount.listFields(fields) == ["an odd key", "login"])
            #expect(try mount.attribute("store", of: first) == "work")

            let file = try mount.open(first, O_RDONLY)
            #expect(try file.attributes.size == 7)
            #expect(try file.read(at: 3, count: 2) == Array("te".utf8))
            #expect(try file.read(at: 7).isEmpty)
            try mount.save("changed\n", "work/s")
            #expect(try file.text == "hunter2", "what is open stays")
            #expect(try mount.read(first) == "changed")
            try file.close()
        }
    }

    @Test(arguments: [O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC]) func nothingIsChangedThere(flags: Int32) throws {
        try TestMount.with { mount in
            try mount.encrypt(Self.text, "work/s.gpg")
            let value = ".passdir/first/work/s"
            let refusals = [
                mount.failure { () throws(Errno) in try mount.open(value, flags) },
                mount.failure { () throws(Errno) in try mount.unlink(value) },
                mount.failure { () throws(Errno) in try mount.truncate(value, to: 0) },
                mount.failure { () throws(Errno) in try mount.makeDirectory(".passdir/first/x") },
                mount.failure { () throws(Errno) in try mount.makeNode(".passdir/first/work/x") },
            ]
            #expect(refusals.allSatisfy { $0 == .readOnlyFileSystem }, "\(refusals)")
            #expect(throws: Errno.self) { try mount.rename("work/s", ".passdir/first/work/t") }
            #expect(throws: Errno.self) { try mount.rename(".passdir", "work/x") }
            #expect(try mount.decrypt("work/s.gpg") == Self.text)
        }
    }

    @Test func aCodeIsOfThisMomentAndLasts() throws {
        try TestMount.with { mount in
            try mount.encrypt("x\n\(Self.uri)&period=2\n", "work/s.gpg")
            try mount.encrypt("x\n", "work/none.gpg")
            try mount.encrypt("x\notpauth://totp/x?secret=1\n", "work/bad.gpg")
            try mount.encrypt("x\notpauth://motp/x?secret=GE\n", "work/other.gpg")
            // A code that is given is still the right one a second later.
            for _ in 0..<6 {
                let before = FileTime.now.seconds + 1
                let code = try mount.read(".passdir/otp/work/s")
                let after = FileTime.now.seconds + 1
                #expect(code.count == 9 && code.last == "\n")
                let expected = try (before / 2...after / 2).map {
                    try mount.code(Self.uri + "&period=2", at: $0 * 2)
                }
                #expect(expected.contains(String(code.dropLast())))
                usleep(170_000)
            }
            #expect(mount.failure { () throws(Errno) in try mount.read(".passdir/otp/work/none") } == .noData)
            #expect(try mount.attribute("error", of: ".passdir/otp/work/none") == "it has no otpauth URI")
            for name in ["bad", "other"] {
                #expect(
                    mount.failure { () throws(Errno) in try mount.read(".passdir/otp/work/\(name)") }
                        == .invalidArgument, "\(name)")
            }
        }
    }

    /// Each reader has the code of another counter, and what is on disk is beyond all of them.
    @Test func countedCodesAreGivenOnce() throws {
        try TestMount.with { mount in
            let uri = "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=8"
            try mount.encrypt("x\n\(uri)\nlast", "work/s.gpg")
            let codes = Mutex<[String]>([])
            let threads = try (0..<8).map { _ in
                try PosixThread(named: "reader") {
                    do throws(Errno) {
                        let code = try mount.read(".passdir/otp/work/s")
                        codes.withLock { $0.append(code) }
                    } catch {
                        codes.withLock { $0.append("\(error)") }
                    }
                }
            }
            for thread in threads { thread.join() }
            let given = codes.withLock { $0 }
            #expect(given.count == 8 && Set(given).count == 8, "\(given)")
            // RFC 4226, appendix D, has the codes of 8 and 9.
            #expect(given.contains("399871\n") && given.contains("520489\n"))
            let left = try mount.decrypt("work/s.gpg")
            #expect(left.contains("counter=16\nlast"), "\(left)")
            #expect(mount.changes.contains(.saved("s.gpg")))
        }
    }

    /// Who looks up a name at the same time is told of the same file. The one that was told of another had "Stale file handle".
    @Test func whoLooksAtOnceFindsTheSame() throws {
        try TestMount.withHistory { mount in
            try mount.encrypt("x", "work/s.gpg")
            for path in [".passdir/first/work/s", ".passdir/at"] {
                for _ in 0..<500 {
                    let found = Mutex<[Entry]>([])
                    let threads = try (0..<4).map { _ in
                        try PosixThread(named: "reader") {
                            guard let entry = try? mount.look(path) else { return }
                            found.withLock { $0.append(entry) }
                        }
                    }
                    for thread in threads { thread.join() }
                    let entries = found.withLock { $0 }
                    let inodes = Set(entries.map(\.inode))
                    try #require(entries.count == 4 && inodes.count == 1, "\(entries.count), \(inodes)")
                    for entry in entries { mount.forget(entry) }
                }
            }
        }
    }

    @Test func aLockForgetsValues() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.encrypt(Self.text, "work/s.gpg")
            let path = ".passdir/first/work/s"
            let entry = try mount.look(path)
            defer { mount.forget(entry) }
            let file = try mount.open(path, O_RDONLY)
            #expect(try file.text == "hunter2")
            kernel.clear()
            mount.lock("work")
            #expect(kernel.heard.contains(.pages(entry.inode)))
            #expect(mount.failure { () throws(Errno) in try file.text } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try mount.read(path) } == .permissionDenied)
            #expect(try mount.names(".passdir/first/work") == ["s"], "looks go on")
            mount.unlock("work")
            #expect(mount.failure { () throws(Errno) in try file.text } == .permissionDenied, "it is wiped")
            try file.close()
            #expect(try mount.read(path) == "hunter2")
            #expect(kernel.hears(.pages(entry.inode)))
        }
    }
}

extension TestMount {
    /// The fields that a secret's folder lists, sorted.
    func listFields(_ path: String) throws(Errno) -> [String] {
        try at(path) { inode throws(Errno) in
            guard try filesystem.openDirectoryAtOnce(inode, flags: OpenFlags(rawValue: 0)) == nil else {
                throw .invalidArgument
            }
            let opened = try value(
                try filesystem.openDirectory(inode, flags: OpenFlags(rawValue: 0), for: caller))
            defer { filesystem.releaseDirectory(inode, handle: opened.handle) }
            var found: [String] = []
            try filesystem.readDirectory(inode, handle: opened.handle, offset: 0) { entry, _ in
                found.append(entry.name.string)
                return true
            }
            return found.filter { ![".", ".."].contains($0) }.sorted()
        }
    }

    /// What an otpauth URI gives at a moment.
    func code(_ uri: String, at seconds: Int64) throws -> String {
        let bytes = Array(uri.utf8)
        let code = try bytes.withUnsafeBytes { try OneTimePassword(uri: $0).code(at: seconds) }
        return code.text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
