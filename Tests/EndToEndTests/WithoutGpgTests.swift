import Glibc
import SystemPackage
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
            try store.insert("other", "text\n")
            let health = try withoutGpg(["health"])
            let words = "gpg is missing or too old: install GnuPG 2.2 or newer"
            #expect(health.errors.contains("not looked at: work/mail, work/other: \(words)"), "\(health)")
            #expect(!health.errors.contains("crypto engine"), "\(health)")
        }
    }

    /// Where nothing is mounted, `status` looks once: what it does not wait for would never be told.
    @Test(.slow, .enabled(if: geteuid() == 0, "only root replaces a program in a namespace of its own"))
    func aSlowGpgIsWaitedForWhereNothingIsMounted() throws {
        try TestHome.with { home in
            let (own, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            try home.addStores([try home.makeStore("work", recipients: [own])])
            try home.succeed(["passdir", "recipients", "show", "work"])
            try home.write("\(own.fingerprint)\n\(other.fingerprint)\n", to: "work/.gpg-id")
            try home.succeed(["cp", "/usr/bin/gpg", "gpg-itself"])
            let itself = home.path("gpg-itself").string
            try home.write("#!/bin/sh\nsleep 0.4\nexec \(itself) \"$@\"\n", to: "gpg-slow")
            try home.succeed(["chmod", "+x", "gpg-slow"])
            let replace = "mount --bind gpg-slow /usr/bin/gpg; exec passdir status"
            let told = try home.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", replace])
            #expect(told.output.contains("you have not approved it"), "\(told)")
        }
    }

    /// What is not waited for any longer is not called ready.
    @Test(.slow, .enabled(if: geteuid() == 0, "only root replaces a program in a namespace of its own"))
    func aLookThatIsNotWaitedForIsTold() throws {
        try TestHome.with { home in
            let own = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [own])])
            try home.succeed(["passdir", "recipients", "show", "work"])
            try home.succeed(["cp", "/usr/bin/gpg", "gpg-itself"])
            let itself = home.path("gpg-itself").string
            try home.write(
                "#!/bin/sh\ncase \"$*\" in *--list-keys*|*--list-secret-keys*) sleep 8 ;; esac\nexec \(itself) \"$@\"\n",
                to: "gpg-slow")
            try home.succeed(["chmod", "+x", "gpg-slow"])
            for (words, sign) in [
                ("status", "still looking at its lists"), ("status --json", "\"canSave\":null"),
            ] {
                let replace = "mount --bind gpg-slow /usr/bin/gpg; exec passdir \(words)"
                let told = try home.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", replace])
                let output = told.output.replacing("\"canSave\" : null", with: "\"canSave\":null")
                #expect(output.contains(sign), "\(told)")
                try home.waitUntil("the slow gpg has ended") {
                    try home.run(["pgrep", "-f", itself]).exitCode == 1
                }
            }
        }
    }

    /// Lists that others push may hold any number of names that nobody bears: not each of them starts a gpg.
    @Test(.enabled(if: geteuid() == 0, "only root replaces a program in a namespace of its own"))
    func unknownNamesStartFewPrograms() throws {
        try TestHome.with { home in
            let own = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [own])])
            try home.succeed(["mkdir", "work/sub"])
            let names = (0..<200).map { "nobody\($0)@example.org\nword\($0)\n" }.joined()
            try home.write(names + "\(own.fingerprint)\n", to: "work/sub/.gpg-id")
            try home.succeed(["cp", "/usr/bin/gpg", "gpg-itself"])
            let (itself, count) = (home.path("gpg-itself").string, home.path("count").string)
            try home.write("#!/bin/sh\necho >>\(count)\nexec \(itself) \"$@\"\n", to: "gpg-counted")
            try home.succeed(["chmod", "+x", "gpg-counted"])
            for words in ["keys work", "recipients check work"] {
                try home.write("", to: "count")
                let replace = "mount --bind gpg-counted /usr/bin/gpg; exec passdir \(words)"
                let told = try home.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", replace])
                #expect(told.output.contains("more"), "\(words)")
                let starts = try home.text(of: "count").count
                #expect((1...60).contains(starts), "\(words): \(starts)")
            }
        }
    }
}
