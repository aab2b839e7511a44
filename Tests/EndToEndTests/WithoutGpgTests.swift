import Glibc
import TestKit
import Testing

/// A machine whose gpg is gone: what needs no key goes on, and all else says what is missing.
@Suite struct WithoutGpgTests {
    @Test(.enabled(if: geteuid() == 0, "only root hides a program in a namespace of its own"))
    func whatNeedsNoKeyWorksAndTheRestSaysWhy() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            try home.addStores([store])
            try store.insert("mail", "text\n")
            func withoutGpg(_ words: [String]) throws -> ProgramResult {
                let hide = "mount --bind /bin/false /usr/bin/gpg; exec passdir \"$@\""
                return try home.run(
                    ["unshare", "-m", "--propagation", "private", "sh", "-ec", hide, "sh"] + words)
            }
            let log = try withoutGpg(["log", "work/mail"])
            let usual = try home.passdir("log", "work/mail").output
            #expect(log.exitCode == 0 && log.output == usual, "\(log)")
            #expect(!log.output.isEmpty)
            for words in [
                ["recipients", "show", "work"], ["restore", "work/mail", "--at", "HEAD"], ["keys", "work"],
            ] {
                let failed = try withoutGpg(words)
                #expect(
                    failed.exitCode == 1 && failed.errors.contains("gpg is missing or too old"),
                    "\(words) \(failed)")
            }
            #expect(try store.git("status", "--porcelain") == "")
        }
    }
}
