import Glibc
import SystemPackage
import TestKit
import Testing

/// What was read is not decrypted again for a while, whatever has become of the key meanwhile.
@Suite struct KeptContentMountTests {
    /// The running mount follows `cache.time`: what is kept for longer than it says now is forgotten.
    private func withChangingTime() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("a", "text")
            let keys = mounted.home.path("gnupg/private-keys-v1.d").string
            func hideKeys() throws {
                try mounted.home.succeed(["mv", keys, keys + ".away"])
                try mounted.home.succeed(["gpgconf", "--kill", "gpg-agent"])
            }
            func set(_ time: String) throws {
                try mounted.bash("git config -f \"$XDG_CONFIG_HOME/passdir/config\" cache.time '\(time)'")
                // When this returns the mount has read the configuration.
                try mounted.bash("passdir store set $(basename \"$PWD\") userName me")
            }
            #expect(try mounted.read("a") == "text")
            try hideKeys()
            #expect(try mounted.read("a") == "text")
            try set("0 s")
            #expect(try mounted.run("cat a").errors.contains("denied"))
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
            try set("1 h")
            #expect(try mounted.read("a") == "text")
            try hideKeys()
            #expect(try mounted.read("a") == "text")
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
        }
    }

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
        try withChangingTime()
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
