import Glibc
import SystemPackage
import TestKit
import Testing

/// What was read is not decrypted again for a while, whatever has become of the key meanwhile.
@Suite struct KeptContentMountTests {
    /// Holds:
    /// - A secret of up to 1 MiB that was read is kept, 4 MiB of them at most, in locked memory and in the kernel for
    ///   `cache.time` after the last close (60 s; `0s`: not at all): an open in that time decrypts nothing, as long as the
    ///   ciphertext is the same file.
    @Test func whatWasReadIsNotDecryptedAgain() throws {
        try Mounted.with { mounted in
            for name in ["a", "b"] { try mounted.store.insert(name, "text of \(name)") }
            #expect(try mounted.read("a") == "text of a")
            let keys = mounted.home.path("gnupg/private-keys-v1.d").string
            try mounted.home.succeed(["mv", keys, keys + ".away"])
            try mounted.home.succeed(["gpgconf", "--kill", "gpg-agent"])
            #expect(try mounted.read("a") == "text of a")
            #expect(try mounted.run("cat b").errors.contains("denied"))
            // The same bytes in another file are not known to be the same.
            try mounted.bash("cp $S/a.gpg $S/new; mv $S/new $S/a.gpg")
            #expect(try mounted.run("cat a").errors.contains("denied"))
            // The agent has made a new folder.
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
            #expect(try mounted.read("a") == "text of a")
        }
        try Mounted.with(["cache.time": "0s"]) { mounted in
            try mounted.store.insert("a", "text")
            #expect(try mounted.read("a") == "text")
            let keys = mounted.home.path("gnupg/private-keys-v1.d").string
            try mounted.home.succeed(["mv", keys, keys + ".away"])
            try mounted.home.succeed(["gpgconf", "--kill", "gpg-agent"])
            #expect(try mounted.run("cat a").errors.contains("denied"))
            // The agent has made a new folder.
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
        }
    }
}
