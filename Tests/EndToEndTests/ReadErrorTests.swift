import Glibc
import SystemPackage
import TestKit
import Testing

/// What a program sees of a secret that cannot be read, is too large, or changes under it.
@Suite struct ReadErrorTests {
    /// Holds:
    /// - A secret that none of our keys can decrypt is EACCES on open, a damaged one or one that is no
    ///   OpenPGP message is EIO; either can be replaced.
    @Test func aSecretThatCannotBeReadSaysWhy() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            // Not ours: encrypted to a key whose secret part is not here.
            let other = try home.makeKey("other@example.org")
            let secret = try home.succeed(
                ["gpg", "--batch", "-e", "-r", other.fingerprint], input: [1, 2, 3])
            try FileCalls.save(secret, to: store.path.appending("foreign.gpg"))
            try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-keys", other.fingerprint])
            // Damaged in the middle, cut short, no OpenPGP at all, nothing at all.
            try store.insert("good", Array(repeating: 0x61, count: 5000))
            let good = try home.bytes(of: "work/good.gpg")
            var flipped = good
            flipped[good.count - 1000] ^= 0x40
            try FileCalls.save(flipped, to: store.path.appending("flipped.gpg"))
            try FileCalls.save(Array(good.prefix(good.count / 2)), to: store.path.appending("cut.gpg"))
            try FileCalls.save(Array("not encrypted".utf8), to: store.path.appending("text.gpg"))
            try FileCalls.save([], to: store.path.appending("empty.gpg"))
            try home.addStores([store])
            try home.mount()

            #expect(throws: Errno.permissionDenied) { try FileCalls.read(home.visible("work/foreign")) }
            for name in ["flipped", "cut", "text", "empty"] {
                #expect(throws: Errno.ioError, "\(name)") { try FileCalls.read(home.visible("work/\(name)")) }
            }
            #expect(try home.status().store("work").lastError?.contains("empty") == true)
            #expect(try FileCalls.read(home.visible("work/good")).count == 5000)
            // What cannot be read can be replaced.
            for name in ["foreign", "flipped", "empty"] {
                try FileCalls.save([9], to: home.visible("work/\(name)"))
                #expect(try store.show(name) == [9])
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - `passdir status` tells of a file that cannot be read until it can, is replaced, or is gone.
    @Test(
        .slow,
        arguments: [
            "rm mnt/work/s", "rm work/s.gpg", "mv work/s.gpg work/t.gpg", "cp work/good.gpg work/s.gpg",
        ])
    func anErrorGoesWithItsCause(_ deed: String) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try store.insert("good", "text")
            try home.write("not encrypted", to: "work/s.gpg")
            try home.addStores([store])
            try home.mount()
            #expect(throws: Errno.ioError) { try FileCalls.read(home.visible("work/s")) }
            for _ in 0..<2 { #expect(try home.status().store("work").lastError?.hasPrefix("s: ") == true) }
            try home.succeed(["sh", "-c", deed], in: home.folder)
            #expect(try home.status().store("work").lastError == nil)
            try home.unmount()
        }
    }

    /// Holds:
    /// - Of such files it tells twenty at most, the latest ones.
    @Test func everyFileThatCannotBeReadIsTold() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            let names = (0..<21).map { "s\($0)" }
            for name in names { try home.write("not encrypted", to: "work/\(name).gpg") }
            try home.addStores([store])
            try home.mount()
            func told() throws -> [String] {
                let report = try home.status().store("work")
                return ([report.lastError].compactMap(\.self) + (report.otherErrors ?? []))
                    .map { String($0.prefix { $0 != ":" }) }
            }
            for name in names {
                #expect(throws: Errno.ioError) { try FileCalls.read(home.visible("work/\(name)")) }
            }
            #expect(try told() == names.dropFirst().reversed())
            // What others mend, or take away, is told no longer; the rest is, and what is met again comes first.
            try home.succeed(["rm", home.path("work/s20.gpg").string])
            #expect(throws: Errno.ioError) { try FileCalls.read(home.visible("work/s5")) }
            #expect(try told() == ["s5"] + names[1..<20].reversed().filter { $0 != "s5" })
            try home.unmount()
        }
    }

    /// Holds:
    /// - A secret larger than `limits.secret` is EFBIG on write(2), truncate(2) and open(2).
    @Test func aSecretBeyondTheLimitIsRefused() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try store.insert("small", "small\n")
            // One that is large as ciphertext, and one that only grows when it is decompressed.
            try home.write("", to: "zeros")
            try home.succeed(["truncate", "--size", "3M", "zeros"])
            for (name, algorithm) in [("large", "none"), ("bomb", "zlib")] {
                try home.succeed([
                    "gpg", "--batch", "--compress-algo", algorithm, "-r", key.fingerprint, "-o",
                    "work/\(name).gpg",
                    "-e", "zeros",
                ])
            }
            try home.configure(["limits.secret": "1m"])
            try home.addStores([store])
            try home.mount()

            #expect(throws: Errno.fileTooLarge) { try FileCalls.read(home.visible("work/large")) }
            #expect(throws: Errno.fileTooLarge) { try FileCalls.read(home.visible("work/bomb")) }
            let limit = 1 << 20
            try FileCalls.save(Array(repeating: 1, count: limit), to: home.visible("work/exact"))
            #expect(try store.show("exact").count == limit)
            #expect(throws: Errno.fileTooLarge) {
                try FileCalls.save(Array(repeating: 1, count: limit + 1), to: home.visible("work/more"))
            }
            #expect(truncate(home.visible("work/small").string, limit + 1) == -1 && errno == EFBIG)
            #expect(try FileCalls.read(home.visible("work/small")) == Array("small\n".utf8))
            try home.unmount()
        }
    }

    /// Holds:
    /// - What counts for `limits.secret` is the secret, not its ciphertext: armor makes none too large.
    @Test(.slow) func armorMakesNoSecretTooLarge() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            let limit = 5 << 20
            try home.succeed([
                "sh", "-c",
                "head -c \(limit) /dev/zero | gpg --batch -a -z0 -r \(key.fingerprint) -o work/most.gpg -e",
            ])
            // Without optimization, passdir's own way of reading armor takes long.
            try home.configure(["limits.secret": "5m", "openpgp.engine": "gpg"])
            try home.addStores([store])
            try home.mount()
            #expect(try FileCalls.read(home.visible("work/most")).count == limit)
            try home.unmount()
        }
    }

    /// Holds:
    /// - When another program replaces or removes a file of the store, the next open sees it; who has the old
    ///   one open keeps reading the old one.
    @Test(.slow) func theNextOpenSeesWhatOthersDidToTheFile() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("s", "one\n")
            try store.insert("other", "other\n")
            try home.addStores([store])
            try home.mount()
            let file = home.visible("work/s")
            #expect(try FileCalls.read(file) == Array("one\n".utf8))
            try store.insert("s", "two, longer\n")
            #expect(try FileCalls.size(file) == 12)
            #expect(try FileCalls.read(file) == Array("two, longer\n".utf8))
            // While somebody has it open: they keep what they opened, the next open sees the new one.
            let held = try FileDescriptor.open(file, .readOnly)
            try store.insert("s", "three\n")
            #expect(try FileCalls.read(file) == Array("three\n".utf8))
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = try bytes.withUnsafeMutableBytes { try held.read(fromAbsoluteOffset: 0, into: $0) }
            #expect(Array(bytes.prefix(count)) == Array("two, longer\n".utf8))
            try held.close()
            // By another file's ciphertext under the same name and with the same length and time.
            try home.succeed(["cp", "--preserve", "work/other.gpg", "new"])
            try home.succeed(["touch", "--reference", "work/s.gpg", "new"])
            try home.succeed(["mv", "new", "work/s.gpg"])
            #expect(try FileCalls.read(file) == Array("other\n".utf8))
            try store.pass(["rm", "--force", "s"])
            #expect(throws: Errno.noSuchFileOrDirectory) { try FileCalls.read(file) }
            #expect(try FileCalls.names(in: home.visible("work")) == [".gitattributes", ".gpg-id", "other"])
            try store.pass(["mv", "other", "deep/er/other"])
            #expect(try FileCalls.read(home.visible("work/deep/er/other")) == Array("other\n".utf8))
            try store.insert("s", "back\n")
            #expect(try FileCalls.read(file) == Array("back\n".utf8))
            try home.unmount()
        }
    }
}
