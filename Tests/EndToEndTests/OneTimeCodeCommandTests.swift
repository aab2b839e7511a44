import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir otp`, the fields of `show`, and QR codes.
@Suite struct OneTimeCodeCommandTests {
    private static let secret = "JBSWY3DPEHPK3PXP"
    private static let timed = "otpauth://totp/Mail:me?secret=\(secret)&issuer=Mail"
    private static let counted = "otpauth://hotp/Mail:me?secret=\(secret)&counter="

    private func withStore(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.addStores([store])
            try body(home, store)
        }
    }

    /// Holds:
    /// - A code is that of oathtool; a URI is added to what is there, replaced only when that was said, and never half.
    @Test(.slow) func codesAreThoseOfOathtool() throws {
        try withStore { home, store in
            try store.insert("mail", "pw\nuser: me")
            #expect(try home.passdir("otp", "mail").errors.contains("passdir otp add work/mail"))
            try home.succeed(["passdir", "otp", "add", "mail"], input: Array("\(Self.timed)\n".utf8))
            #expect(try store.show("mail") == Array("pw\nuser: me\n\(Self.timed)\n".utf8))
            // Both within one period: tried again where it has ended in between.
            var (ours, theirs) = ("", "-")
            for _ in 0..<5 where ours != theirs {
                ours = try home.passdir("otp", "mail").output
                theirs = try home.run(["oathtool", "--totp", "-b", Self.secret]).output
            }
            #expect(ours == theirs)
            #expect(try home.passdir("show", "--otp", "mail").output.count == 7)
            #expect(try home.passdir("otp", "uri", "mail").output == Self.timed + "\n")
            let again = try home.passdir("otp", "add", "mail", Self.counted + "1")
            #expect(again.exitCode == 1 && again.errors.contains("--force"), "\(again)")
            let wrong = try home.passdir("otp", "add", "-f", "mail", "otpauth://totp/x?secret=1")
            #expect(wrong.exitCode == 1 && !wrong.errors.contains("secret=1"), "\(wrong)")
            try home.succeed(["passdir", "otp", "insert", "new", Self.timed])
            #expect(try store.show("new") == Array("\(Self.timed)\n".utf8))
            #expect(
                try store.git("log", "--format=%s", "-n", "2").split(separator: "\n") == [
                    "Add given OTP secret for new to store.", "Append given OTP secret for mail to store.",
                ])
        }
    }

    /// Holds:
    /// - A counted code is given once, also to several who ask at the same moment, and its number is saved before.
    @Test(.slow) func countedCodesAreGivenOnce() throws {
        try withStore { home, store in
            try store.insert("mail", "pw\n\(Self.counted)5\nuser: me\n")
            let programs = try (0..<6).map { _ in try home.start(["passdir", "otp", "mail"]) }
            let codes = try programs.map { try $0.wait().output }
            let wanted = try (5..<11).map {
                try home.run(["oathtool", "--hotp", "-b", "-c", "\($0)", Self.secret]).output
            }
            #expect(codes.sorted() == wanted.sorted())
            #expect(try store.show("mail") == Array("pw\n\(Self.counted)11\nuser: me\n".utf8))
            #expect(try store.git("status", "--porcelain").isEmpty)
        }
    }

    /// Holds:
    /// - A field is found by its name, and one that is not there is told with those that are; no value is.
    @Test func aFieldIsShown() throws {
        try withStore { home, store in
            try store.insert("mail", "MARKER\nuser: me\nRecovery Code:  a b \n")
            #expect(try home.passdir("show", "--field", "user", "mail").output == "me\n")
            #expect(try home.passdir("show", "--field", "recovery code", "mail").output == "a b\n")
            let none = try home.passdir("show", "--field", "url", "mail")
            #expect(none.exitCode == 1 && none.errors.contains("it has: user, Recovery Code"), "\(none)")
            #expect(!none.errors.contains("MARKER") && !none.errors.contains("a b"), "\(none)")
        }
    }

    /// Holds:
    /// - A QR code holds the bytes of the line that was asked for, and is read by another program.
    @Test func aQRCodeIsReadByAScanner() throws {
        try withStore { home, store in
            try store.insert("mail", "p w;:\"$\nsecond line\n")
            for (option, text) in [("--qr", "p w;:\"$"), ("--qrcode=2", "second line")] {
                let drawn = try home.succeed(["passdir", "show", option, "mail"])
                try home.succeed(["python3", "-c", Self.picture, "code.pgm"], input: drawn)
                let read = try home.run(["zbarimg", "-q", "--raw", "code.pgm"])
                #expect(read.output == text + "\n", "\(read)")
            }
            let long = String(repeating: "x", count: 3000)
            try store.insert("long", long)
            let refused = try home.passdir("show", "--qr", "long")
            #expect(refused.exitCode == 1 && refused.errors.contains("too long for a QR code"), "\(refused)")
        }
    }

    /// Holds:
    /// - A URI is read from the QR code in a PNG file; where that does not go, one sentence says why, and nothing is changed.
    @Test(.slow) func aURIIsReadFromAPicture() throws {
        try withStore { home, store in
            for (name, text) in [("code", Self.timed), ("counted", Self.counted + "1"), ("other", "MARKER")] {
                try home.succeed(["qrencode", "-o", "\(name).png"], input: Array(text.utf8))
            }
            try home.succeed(["passdir", "otp", "add", "mail", "--image", "code.png"])
            #expect(try store.show("mail") == Array("\(Self.timed)\n".utf8))
            try home.succeed(["sh", "-c", "passdir otp add -f mail < counted.png"])
            let saved = Array("\(Self.counted)1\n".utf8)
            #expect(try store.show("mail") == saved)
            try home.write("MARKER", to: "text.png")
            let away =
                "PATH=/nonexistent exec \(try TestHome.passdirBinary()) otp add -f mail --image code.png"
            for (words, said) in [
                ("passdir otp add -f mail --image other.png", "no QR code of an otpauth URI"),
                ("passdir otp add -f mail --image text.png", "no PNG file"),
                ("passdir otp add -f mail --image none.png", "none.png"),
                ("cat code.png | passdir otp add -f mail", "--image"), (away, "install zbar-tools"),
            ] {
                let done = try home.run(["sh", "-c", words])
                #expect(done.exitCode == 1 && done.errors.contains(said), "\(words): \(done)")
                #expect(done.output.isEmpty && !done.errors.contains("MARKER"), "\(words): \(done)")
                #expect(done.errors.filter(\.isNewline).count == 1, "\(words): \(done)")
            }
            #expect(try store.show("mail") == saved)
        }
    }

    /// Half blocks as a picture of 8 points a module.
    private static let picture = """
        import sys
        rows = []
        for line in sys.stdin.read().splitlines():
            rows.append([c in "█▀" for c in line]); rows.append([c in "█▄" for c in line])
        scale = 8
        with open(sys.argv[1], "wb") as f:
            f.write(b"P5 %d %d 255\\n" % (len(rows[0]) * scale, len(rows) * scale))
            for row in rows:
                f.write(b"".join((b"\\xff" if light else b"\\0") * scale for light in row) * scale)
        """
}
