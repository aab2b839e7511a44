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

/// Templates as files with their values, below `.passdir/rendered`.
@Suite struct RenderedFileTests {
    private static let uri = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8&period=2"

    /// What is made of a text, by its name.
    private static func register(_ text: String, _ name: Name, for kind: Escaping = .raw, in mount: TestMount)
        throws
    {
        try mount.write(text, "\(name).tpl")
        mount.filesystem.setTemplates([
            RegisteredTemplate(name: name, file: mount.disk("\(name).tpl"), kind: kind)
        ])
    }

    private static let path = ".passdir/rendered/env"

    @Test func aFileHasTheValuesOfSeveralStores() throws {
        try TestMount.with { mount in
            try mount.encrypt("p'w#x\nuser: ann\n\(Self.uri)\n", "work/a.gpg")
            try mount.encrypt("passdir://work/a#first", "home/b.gpg")
            try mount.makeDirectory("work/folder")
            #expect(mkdir(mount.disk("work/a").string, 0o700) == 0)
            try mount.link("work/folder/l", to: "../a.gpg")
            try Self.register(
                """
                # passdir://work/none
                A="passdir://work/a#first"
                B=passdir://home/b
                C=passdir://work/a.gpg#user
                D=passdir://work/folder/l#user
                E=passdir://work/a?otp

                """, "env", for: .dotenv, in: mount)
            #expect(try mount.names(".passdir/rendered") == ["env"])
            let known = try mount.look(Self.path)
            defer { mount.forget(known) }
            #expect(
                known.attributes.size == 0 && known.attributes.permissions == 0o400, "nothing was decrypted")
            let before = FileTime.now.seconds + 1
            let text = try mount.read(Self.path)
            let after = FileTime.now.seconds + 1
            let codes = try (before / 2...after / 2).map { try mount.code(Self.uri, at: $0 * 2) }
            let possible = codes.map {
                """
                # passdir://work/none
                A="p'w#x"
                B='passdir://work/a#first'
                C='ann'
                D='ann'
                E='\($0)'

                """
            }
            #expect(possible.contains(text), "\(text)")
            #expect(try mount.size(Self.path) == Int64(text.utf8.count))

            let file = try mount.open(Self.path, O_RDONLY)
            #expect(try file.attributes.size == Int64(text.utf8.count))
            #expect(try file.read(at: 2, count: 7) == Array("passdir".utf8))
            try file.close()
        }
    }

    @Test func itChangesWithItsTemplateAndItsSecrets() throws {
        try TestMount.with { mount in
            try mount.encrypt("one", "work/a.gpg")
            try Self.register("x passdir://work/a y", "env", in: mount)
            let file = try mount.open(Self.path, O_RDONLY)
            #expect(try file.text == "x one y")
            let first = try mount.attributes(Self.path).modificationTime
            try mount.save("three", "work/a")
            #expect(try file.text == "x one y", "what is open stays")
            #expect(try mount.read(Self.path) == "x three y")
            #expect(try mount.size(Self.path) == 9)
            #expect(try mount.attributes(Self.path).modificationTime != first)
            try file.close()
            try mount.write("z passdir://work/a#first", "env.tpl")
            #expect(try mount.read(Self.path) == "z three")
            mount.filesystem.setTemplates([])
            #expect(try mount.names(".passdir/rendered").isEmpty)
            #expect(
                mount.failure { () throws(Errno) in try mount.look(Self.path) } == .noSuchFileOrDirectory)
            for refusal in [
                mount.failure { () throws(Errno) in try mount.makeNode(".passdir/rendered/x") },
                mount.failure { () throws(Errno) in try mount.makeDirectory(".passdir/rendered/x") },
            ] {
                #expect(refusal == .readOnlyFileSystem)
            }
        }
    }

    /// Holds:
    /// - Why a rendered file could not be made names nothing of a secret's text, and a lock forgets it.
    @Test func aSentenceTellsNothingOfTheText() throws {
        try TestMount.with { mount in
            try mount.encrypt("pw\nRecovery A1-B2: c\n", "work/a.gpg")
            try Self.register("passdir://work/a#nosuch", "env", in: mount)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .ioError)
            let sentence = try mount.attribute("error", of: Self.path)
            #expect(
                sentence.contains("has no field \"nosuch\"") && !sentence.contains("Recovery"), "\(sentence)")
            #expect(!mount.filesystem.renderingFailures.isEmpty)
            mount.lock("work")
            #expect(mount.filesystem.renderingFailures.isEmpty)
            #expect(
                mount.failure { () throws(Errno) in try mount.attribute("error", of: Self.path) } == .noData)
        }
    }

    /// What /proc shows would be this process's own.
    @Test func aTemplateIsNoFileOfProc() throws {
        try TestMount.with { mount in
            try mount.encrypt("pw\n", "work/a.gpg")
            try Self.register("passdir://work/a", "env", in: mount)
            let file = mount.disk("env.tpl").string
            #expect(unlink(file) == 0 && symlink("/proc/self/environ", file) == 0)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .ioError)
            #expect(try mount.attribute("error", of: Self.path).contains("is no regular file"))
        }
    }

    @Test(arguments: [
        (
            "a\npassdir://work/none#x",
            "passdir://work/none#x in line 2: there is no secret \"none\" in the store"
        ),
        ("passdir://away/a", "the mount shows no store \"away\""),
        ("passdir://work/a#url", "work/a has no field \"url\""),
        ("passdir://work/a?otp", "work/a has no otpauth URI"),
        ("passdir://work/counted?otp", "work/counted counts its codes"),
        ("passdir://work/../home/a", "has \"..\" in it"),
        ("passdir://work/.gpg-id", "there is no secret"),
        ("passdir://work", "the reference passdir://work in line 1 names no secret"),
    ]) func aFileWithoutAllValuesIsNone(text: String, sentence: String) throws {
        try TestMount.with { mount in
            try mount.encrypt("hidden\nuser: ann\n", "work/a.gpg")
            try mount.encrypt(
                "x\notpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=8\n", "work/counted.gpg")
            try Self.register("passdir://work/a#user \(text)", "env", in: mount)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .ioError)
            let told = try mount.attribute("error", of: Self.path)
            #expect(told.contains(sentence) && !told.contains("hidden"), "\(told)")
            #expect(mount.filesystem.renderingFailures.map(\.sentence) == [told])
            #expect(try mount.decrypt("work/counted.gpg").contains("counter=8"))
            try mount.write("passdir://work/a#user", "env.tpl")
            #expect(try mount.read(Self.path) == "ann")
            #expect(mount.filesystem.renderingFailures.isEmpty)
            #expect(
                mount.failure { () throws(Errno) in try mount.attribute("error", of: Self.path) } == .noData)
        }
    }

    /// A pipe would keep its reader waiting; what is no file says so.
    @Test func onlyRegularFilesAreTemplates() throws {
        try TestMount.with { mount in
            try Self.register("x", "env", in: mount)
            unlink(mount.disk("env.tpl").string)
            #expect(mkfifo(mount.disk("env.tpl").string, 0o600) == 0)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .ioError)
            #expect(try mount.attribute("error", of: Self.path).hasSuffix("env.tpl is no regular file"))
            unlink(mount.disk("env.tpl").string)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .ioError)
            #expect(try mount.attribute("error", of: Self.path).hasSuffix("No such file or directory"))
        }
    }

    @Test func aLockForgetsIt() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.encrypt("one", "work/a.gpg")
            try mount.encrypt("two", "home/b.gpg")
            try Self.register("passdir://work/a passdir://home/b", "env", in: mount)
            let entry = try mount.look(Self.path)
            defer { mount.forget(entry) }
            let file = try mount.open(Self.path, O_RDONLY)
            #expect(try file.text == "one two")
            kernel.clear()
            mount.lock("home")
            #expect(kernel.heard.contains(.pages(entry.inode)))
            #expect(mount.failure { () throws(Errno) in try file.text } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try mount.read(Self.path) } == .permissionDenied)
            let told = try mount.attribute("error", of: Self.path)
            #expect(
                told.contains("passdir://home/b in line 1: home is locked; passdir unlock home"), "\(told)")
            mount.unlock("home")
            #expect(mount.filesystem.renderingFailures.isEmpty, "its cause is gone")
            try file.close()
            #expect(try mount.read(Self.path) == "one two")
        }
    }
}
