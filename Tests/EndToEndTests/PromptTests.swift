import Glibc
import SystemPackage
import TestKit
import Testing

/// Passphrases are asked for where a person sees the question.
@Suite struct PromptTests {
    /// A pinentry that works in terminals, and says how a question there cannot be shown. It gives the passphrase, and writes down
    /// which terminal it was to use.
    private func usePinentry(_ home: TestHome) throws {
        try home.write(
            """
            #!/bin/sh
            echo 'OK Pleased to meet you'
            while read -r word rest; do
                case "$word" in
                OPTION) case "$rest" in ttyname=*) tty="${rest#ttyname=}" ;; esac; echo OK ;;
                GETPIN)
                    if [ -z "$tty" ]; then echo 'ERR 83918950 Inappropriate ioctl for device <Pinentry>'
                    elif [ ! -e "$tty" ]; then echo 'ERR 83918929 No such file or directory <Pinentry>'
                    else echo "$tty" >> '\(home.path("asked"))'; echo 'D sesame'; echo OK; fi ;;
                BYE) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done

            """, to: "pinentry", mode: [.ownerReadWriteExecute])
        try home.configureAgent("pinentry-program \(home.path("pinentry"))\n")
        try home.succeed(["gpgconf", "--kill", "gpg-agent"])
    }

    /// A refusal is EACCES; where there is nobody to refuse, the errno is the same as without the lock.
    @Test func aLockedStoreWhosePassphraseCanBeAskedForNowhereIsENOTTY() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org", passphrase: "sesame")])
            try store.insert("one", "text\n")
            try home.addStores([store])
            try usePinentry(home)
            try home.succeed(["setsid", "--wait", "passdir", "mount", home.mountPoint.string])
            try home.succeed(["passdir", "lock"])
            let read = try home.run(["setsid", "--wait", "cat", home.visible("work/one").string])
            #expect(
                read.exitCode == 1 && read.errors.contains("Inappropriate ioctl for device"), "\(read)")
            try home.unmount()
        }
    }

    /// gpg-agent opens one prompt at a time, and an earlier one may have been left behind on a terminal that is gone.
    @Test(.slow) func unlockTellsOfAPromptThatIsInItsWay() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org", passphrase: "sesame")])
            try store.insert("one", "text\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("sesame"))
            let first = try home.start(["gpg", "--batch", "-d", store.path.appending("one.gpg").string])
            try home.waitUntil("the first asks") { pinentry.promptCount() == 1 }
            let second = try home.start(["sh", "-c", "passdir unlock work 2> told"])
            try home.waitUntil("the other prompt is told of") {
                (try? home.text(of: "told"))?.contains("another prompt (pinentry, process ") == true
            }
            try pinentry.release()
            #expect(try first.wait(limit: .seconds(60)).exitCode == 0)
            #expect(try second.wait(limit: .seconds(60)).exitCode == 0)
            #expect(
                try home.text(of: "told").contains(": answer it, or, where nobody sees it, end it with kill"))
        }
    }

    /// Holds:
    /// - A passphrase is asked for in the terminal, or on the display, of the program that reads; where it has neither, in the
    ///   terminal that passdir was mounted in, also where GPG_TTY is not set.
    /// - Where the question cannot be shown, as that terminal is gone, an open is ENOTTY, and `passdir status` names
    ///   `passdir unlock`, which asks in the terminal where it is typed; reading goes on after it.
    @Test(.slow) func thePassphraseIsAskedForWhereTheReaderSits() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "sesame")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "text\n")
            try home.addStores([store])
            try home.configure(["cache.time": "0s"])
            try usePinentry(home)
            let secret = home.visible("work/one").string
            let forget = ["gpgconf", "--kill", "gpg-agent"]

            // The terminal of the mount is there while its shell is, and the second reader's is another one.
            let other = "import pty, sys; pty.spawn(['sh', '-c', 'tty > tty2; cat \(secret)'])"
            let script = """
                tty > tty; passdir mount mnt && cat \(secret)
                gpgconf --kill gpg-agent; setsid --wait cat \(secret) </dev/null 2>&1 | cat
                gpgconf --kill gpg-agent; python3 -c "\(other)"
                """
            let first = try home.onTerminal(["sh", "-c", script], [], extra: ["GPG_TTY": ""])
            #expect(first.output.split(separator: "text").count == 4, "\(first)")
            let (mounts, readers) = (try home.text(of: "tty"), try home.text(of: "tty2"))
            #expect(mounts != readers)
            #expect(try home.text(of: "asked") == mounts + mounts + readers)

            try home.succeed(forget)
            let gone = try home.run(["setsid", "--wait", "cat", secret])
            #expect(gone.exitCode == 1 && gone.errors.contains("Inappropriate ioctl"), "\(gone)")
            let told = try home.passdir("status").output
            #expect(told.contains("one: no pinentry could ask") && told.contains("passdir unlock"), "\(told)")

            let unlocked = try home.onTerminal(
                ["sh", "-c", "tty > tty; passdir unlock work"], [], extra: ["GPG_TTY": ""])
            #expect(unlocked.exitCode == 0, "\(unlocked)")
            #expect(try home.text(of: "asked").hasSuffix(home.text(of: "tty")))
            #expect(try home.succeed(["cat", secret]) == Array("text\n".utf8))
            #expect(try !home.passdir("status").output.contains("pinentry"))

            let stranger = try home.makeKey("b@example.org")
            try home.addStores([try home.makeStore("empty", recipients: [stranger])])
            let none = try home.passdir("unlock", "empty")
            #expect(
                none.exitCode == 1 && none.errors.contains("has no secret that any of your keys"), "\(none)")
            try home.unmount()
        }
    }

    /// Who just presses Enter has declined.
    @Test func nothingEnteredIsSaid() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "sesame")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "text\n")
            try home.addStores([store])
            try home.mount()
            try home.usePinentry(.answer(""))
            try home.succeed(["gpgconf", "--kill", "gpg-agent"])
            let read = try home.run(["cat", home.visible("work/one").string])
            #expect(read.exitCode == 1 && read.errors.contains("Permission denied"), "\(read)")
            let told = try home.passdir("status").output
            #expect(told.contains("one: no passphrase was entered"), "\(told)")
            for words in [["unlock", "work"], ["show", "work/one"]] {
                let said = try home.run(["passdir"] + words)
                #expect(said.exitCode == 1 && said.errors.contains("no passphrase was entered"), "\(said)")
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - A passphrase is asked for once for all who wait for a secret; when the one who is asked gives up, the next is.
    @Test(.slow, arguments: ["work/one", ".passdir/first/work/one", ".passdir/at/HEAD/work/one"])
    func thePromptMovesToWhoStillWaits(_ name: String) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "sesame")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "text\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("sesame"))
            try home.mount()
            let secret = home.mountPoint.pushing(FilePath(name)).string
            let first = try home.start(["cat", secret])
            try home.waitUntil("the first is asked") { pinentry.promptCount() == 1 }
            let second = try home.start(["cat", secret])
            try home.waitUntilBlocked(second)
            first.signal(SIGINT)
            #expect(try first.wait(limit: .seconds(20)).exitCode == 128 + SIGINT)
            try home.waitUntil("the second is asked") { pinentry.promptCount() == 2 }
            try pinentry.release()
            let read = try second.wait(limit: .seconds(60))
            #expect(read.exitCode == 0 && read.output.hasPrefix("text"), "\(read)")
            #expect(pinentry.promptCount() == 2)
            try home.unmount()
        }
    }

    /// Holds:
    /// - A signal that ends a command ends the prompt that it has had opened, which would go on taking keys in the terminal.
    @Test(
        .slow,
        arguments: sampled(
            tableCases(
                [
                    ["unlock", "work"], ["restore", "work/one", "--at", "HEAD", "--show"],
                    ["restore", "work/one", "--at", "HEAD~1"],
                ], [SIGINT, SIGTERM, SIGHUP])))
    func aCommandThatIsEndedLeavesNoPrompt(_ words: [String], _ signal: Int32) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "sesame")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "text\n")
            try store.insert("one", "another text\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("sesame"))
            defer { try? pinentry.release() }
            let command = try home.start(["passdir"] + words)
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            kill(command.pid, signal)
            let ended = try command.wait(limit: .seconds(20))
            #expect(ended.exitCode == 128 + signal && ended.output == "" && ended.errors == "", "\(ended)")
            try home.waitUntil("the prompt is gone") {
                try home.run(["pgrep", "-f", home.path("pinentry").string]).exitCode == 1
            }
        }
    }

    private func makeLockedStore(_ home: TestHome) throws -> TestStore {
        let store = try home.makeStore(
            "work", recipients: [try home.makeKey("a@example.org", passphrase: "sesame")])
        try store.insert("one", "text\n")
        try home.addStores([store])
        return store
    }

    /// Holds:
    /// - Where a lock or a signal ends the wait for a passphrase, the program goes on when the prompt is gone and has given the
    ///   terminal back, two seconds later at most.
    @Test(.slow, arguments: ["auto", "gpg"], [true, false])
    func theReaderGoesOnWhenThePromptIsGone(_ engine: String, _ byLock: Bool) throws {
        try TestHome.guarded { home in
            _ = try makeLockedStore(home)
            try home.configure(["openpgp.engine": engine])
            let pinentry = try home.usePinentry(.endSlowly)
            try home.mount()
            let reader = try home.start(["cat", home.visible("work/one").string])
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            if byLock { try home.succeed(["passdir", "lock"]) } else { reader.signal(SIGINT) }
            let ended = try reader.wait(limit: .seconds(20))
            #expect(pinentry.hasEnded())
            #expect(ended.exitCode == (byLock ? 1 : 128 + SIGINT), "\(ended)")
            #expect(!byLock || ended.errors.contains("Permission denied"), "\(ended)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - `passdir unmount` names the programs that wait for an open in the mount, as for a passphrase.
    @Test func unmountNamesWhoWaitsAtAPrompt() throws {
        try TestHome.guarded { home in
            _ = try makeLockedStore(home)
            let pinentry = try home.usePinentry(.block("sesame"))
            try home.mount()
            let reader = try home.start(["cat", home.visible("work/one").string])
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            let refused = try home.passdir("unmount")
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("\n  \(reader.pid) cat: waits to open work/one\n"), "\(refused)")
            #expect(!refused.errors.contains("another user"), "\(refused)")
            try pinentry.release()
            #expect(try reader.wait(limit: .seconds(60)).exitCode == 0)
            try home.unmount()
        }
    }

    /// Holds:
    /// - `passdir status` tells of a passphrase that was not entered until the file is read or `passdir unlock` succeeds.
    @Test(.slow, arguments: ["auto", "gpg"]) func anUnlockEndsWhatPromptsHaveLeft(_ engine: String) throws {
        try TestHome.guarded { home in
            _ = try makeLockedStore(home)
            try home.configure(["openpgp.engine": engine])
            try home.usePinentry(.cancel)
            try home.mount()
            #expect(try home.run(["cat", home.visible("work/one").string]).exitCode == 1)
            #expect(try home.passdir("status").output.contains("one: the passphrase prompt was closed"))
            #expect(try home.passdir("unlock").exitCode == 1)
            #expect(try home.passdir("status").output.contains("one: the passphrase prompt was closed"))
            try home.usePinentry(.answer("sesame"))
            #expect(try home.passdir("unlock").exitCode == 0)
            let status = try home.passdir("status").output
            #expect(!status.contains("one:") && !status.contains("prompt"), "\(status)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - A `pinentry-program` of `gpg-agent.conf` that is not there is named by `passdir status`, `user.passdir.error` and
    ///   `passdir unlock`.
    @Test(.slow, arguments: ["auto", "gpg"]) func aPinentryThatIsMissingIsNamed(_ engine: String) throws {
        try TestHome.guarded { home in
            _ = try makeLockedStore(home)
            try home.configure(["openpgp.engine": engine])
            try home.configureAgent("pinentry-program /nowhere/pinentry-x\n")
            try home.succeed(["gpgconf", "--kill", "gpg-agent"])
            try home.mount()
            let secret = home.visible("work/one").string
            let read = try home.run(["cat", secret])
            #expect(read.errors.contains("Inappropriate ioctl"), "\(read)")
            let sentence = "the pinentry program /nowhere/pinentry-x is not there"
            for words in [
                ["passdir", "status"], ["getfattr", "--only-values", "-n", "user.passdir.error", secret],
                ["passdir", "unlock"], ["passdir", "show", "one"],
            ] {
                let told = try home.run(words)
                #expect((told.output + told.errors).contains(sentence), "\(words): \(told)")
            }
            try home.unmount()
        }
    }
}
