import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// Messages of which gpg 2.2 says that it decrypted them, and whose exit status alone says that it did not.
@Suite struct DamagedInsideTests {
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
        let names = String(decoding: try Program.run("ls", ["\(folder.path)/made"]).output, as: UTF8.self)
            .split(separator: "\n")
        #expect(names.count == 43)
        for name in names {
            let path = "\(folder.path)/made/\(name)"
            let status = try Program.run("gpg", ["--homedir", home.path, "--batch", "-qd", path]).status
            #expect((status == 0) == name.hasPrefix("good-"), "gpg, \(name)")
            let message = try File.read(path)
            // Nothing inside at all is gpg's own idea.
            let isDirect = name.hasPrefix("good-") && name != "good-nothing-inside"
            let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: 1 << 20))
            #expect((direct != nil) == isDirect, "directly, \(name)")
            do throws(OpenPGPError) {
                let plaintext = try engine.decrypt(message, limit: 1 << 20)
                #expect(name.hasPrefix("good-"), "\(name): \(plaintext.count) bytes")
                let expected =
                    switch name {
                    case "good-authenticated-long": 256 * 300
                    case "good-empty", "good-nothing-inside": 0
                    default: 6
                    }
                #expect(plaintext.count == expected, "\(name)")
            } catch {
                #expect(error.code == .corrupt && !name.hasPrefix("good-"), "\(name): \(error)")
            }
        }
    }
}
