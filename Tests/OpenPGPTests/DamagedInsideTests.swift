import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// Messages of which gpg 2.2 says that it decrypted them, and whose exit status alone says that it did not: both engines
/// give what gpg gives, or nothing.
@Suite struct DamagedInsideTests {
    /// Of these only gpg has its own idea.
    private static let leftToGpg: Set = [
        "good-nothing-inside", "good-to-the-end", "good-zip-and-more", "good-zlib-twice",
        "good-zlib-and-text", "good-zlib-without-sum", "good-message-inside", "good-bzip2",
        "good-uncompressed",
    ]

    @Test func whatGpgFailsAtIsNoPlaintext() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("ann@example.org")
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let message = "\(folder.path)/message"
        try home.gpg(["-e", "-r", key.description, "--cipher-algo", "AES256", "-o", message], input: [7])
        let said = try Program.run(
            "gpg", ["--homedir", home.path, "--batch", "--show-session-key", "-d", message])
        let session = try #require(said.errors.firstMatch(of: #/'(9:[0-9A-F]{64})'/#)?.1)
        mkdir("\(folder.path)/made", 0o700)
        let script = FilePath(#filePath).removingLastComponent().appending("Programs/damaged.py").string
        let made = try Program.run("python3", [script, message, String(session), "\(folder.path)/made"])
        try #require(made.status == 0, "\(made.errors)")
        let engine = try home.engine
        let gpg = OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)
        let names = String(decoding: try Program.run("ls", ["\(folder.path)/made"]).output, as: UTF8.self)
            .split(separator: "\n").map(String.init)
        #expect(names.count == 113)
        for name in names {
            let path = "\(folder.path)/made/\(name)"
            let isGood = name.hasPrefix("good-")
            let decrypted = try Program.run("gpg", ["--homedir", home.path, "--batch", "-qd", path])
            #expect((decrypted.status == 0) == isGood, "gpg, \(name)")
            let message = try File.read(path)
            let isDirect =
                isGood && !Self.leftToGpg.contains(name) && !name.hasPrefix("good-armor-without")
                && !name.hasPrefix("good-armor-and")
            let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: 1 << 20))
            #expect((direct != nil) == isDirect, "directly, \(name)")
            for (way, engine) in [("direct", engine), ("gpg", gpg)] {
                do throws(OpenPGPError) {
                    let plaintext = try engine.decrypt(message, limit: 1 << 20)
                    #expect(isGood, "\(way), \(name): \(plaintext.count) bytes")
                    if isGood { #expect(plaintext.array == decrypted.output, "\(way), \(name)") }
                } catch {
                    #expect(error.code == .corrupt && !isGood, "\(way), \(name): \(error)")
                }
            }
        }
    }

    /// gpg then exits with 2 whatever it decrypts.
    @Test func aKeyringThatIsGoneIsNamed() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("ann@example.org")
        let message = try home.passEncrypt([7], to: [key.description])
        try File.write("keyring /nonexistent/other.kbx\n", to: "\(home.path)/gpg.conf")
        let error = #expect(throws: OpenPGPError.self) { try home.engine.decrypt(message, limit: 9) }
        #expect(error?.message.contains("gpg.conf") == true)
    }
}
