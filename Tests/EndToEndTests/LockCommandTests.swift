import Glibc
import SystemPackage
import TestKit
import Testing

/// What `passdir lock` and `passdir unlock` do, as a user sees it.
@Suite struct LockCommandTests {
    /// Holds:
    /// - Reading a locked store is EACCES, also through a descriptor that was open before; `passdir status` and
    ///   `user.passdir.error` name `passdir unlock`. Listing and saving go on.
    @Test(.slow) func aLockedStoreIsNotRead() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let stores = try ["one", "two"].map { try home.makeStore($0, recipients: [key]) }
            for store in stores { try store.insert("mail/imap", "sesame\n") }
            try home.addStores(stores)
            try home.mount()
            let script = """
                set -e
                cd mnt/one
                exec 5< mail/imap
                cat mail/imap ../two/mail/imap
                passdir lock one
                ! cat <&5 2>> ~/errors
                ! cat mail/imap 2>> ~/errors
                ! cp mail/imap ~/copy 2>> ~/errors
                ls -l mail | grep -c ' 7 .* imap$'
                getfattr --only-values -n user.passdir.error mail/imap; echo
                cat ../two/mail/imap
                echo new > mail/new; echo more > mail/imap
                ! echo appended >> mail/imap
                """
            let result = try home.run(["bash", "-c", script])
            #expect(
                result.output
                    == "sesame\nsesame\n1\none is locked; passdir unlock one\nsesame\n", "\(result.errors)")
            #expect(result.exitCode == 0)
            let errors = try home.text(of: "errors").split(separator: "\n")
            #expect(errors.count == 3 && errors.allSatisfy { $0.contains("Permission denied") }, "\(errors)")
            #expect(try stores[0].show("mail/imap") == Array("more\n".utf8))
            #expect(try stores[0].show("mail/new") == Array("new\n".utf8))
            let status = try home.passdir("status")
            #expect(status.output.contains("(passdir lock): passdir unlock one"), "\(status.output)")
            #expect(status.output.contains("mail/imap: one is locked; passdir unlock one"))
            let lock = try #require(try home.status().store("one").locked)
            #expect(try lock.reason == "command" && home.status().store("two").locked == nil)
            let list = try home.passdir("store", "list").output.split(separator: "\n")
            #expect(list.contains { $0.hasPrefix("one ") && $0.contains(" locked ") }, "\(list)")

            #expect(try home.passdir("unlock", "one").exitCode == 0)
            #expect(try home.succeed(["cat", home.visible("one/mail/imap").string]) == Array("more\n".utf8))
            let after = try home.passdir("status").output
            #expect(!after.contains("locked"), "\(after)")
            let wrong = try home.passdir("lock", "three")
            #expect(wrong.exitCode == 1 && wrong.errors.contains("no store \"three\" in the mount"))
            try home.unmount()
        }
    }

    /// Holds:
    /// - On a terminal, `show`, `edit`, `otp`, `generate --in-place` and `restore` of a locked store ask for the passphrase as
    ///   `passdir unlock` does, or, where none would be asked for, whether to unlock it, and go on; listing asks nothing.
    @Test(.slow, arguments: ["", "sesame"]) func aCommandAtATerminalUnlocks(_ passphrase: String) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: passphrase)
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("a", "text\notpauth://totp/x?secret=JBSWY3DPEHPK3PXP\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.answer(passphrase))
            try home.mount()
            let question = "work is locked. Unlock it? [y/N] "
            func typed(_ words: [String], answer: String = "y\n") throws -> ProgramResult {
                try home.succeed(["passdir", "lock"])
                return try home.onTerminal(
                    ["passdir"] + words, [TerminalStep(at: question, type: answer)],
                    extra: ["EDITOR": "cat"])
            }
            var prompts = pinentry.promptCount()
            for words in [
                ["show", "a"], ["show", "a", "--line", "1"], ["show", "a", "--otp"],
                ["show", "a", "--at", "HEAD"],
                ["edit", "a"], ["otp", "a"], ["otp", "uri", "a"], ["restore", "a", "--at", "HEAD", "--show"],
                ["generate", "--in-place", "a"], ["restore", "a", "--at", "HEAD~1"],
            ] {
                let done = try typed(words)
                #expect(done.exitCode == 0, "\(words): \(done)")
                #expect(done.output.contains(question) == passphrase.isEmpty, "\(words): \(done)")
                #expect(try home.status().store("work").locked == nil, "\(words)")
                #expect(pinentry.promptCount() == prompts + (passphrase.isEmpty ? 0 : 1), "\(words)")
                prompts = pinentry.promptCount()
            }
            // Whoever does not agree is told so, and where nobody can be asked, what to do.
            if passphrase.isEmpty {
                let no = try typed(["show", "a"], answer: "n\n")
                #expect(no.exitCode == 1 && no.output.hasSuffix("passdir: work is still locked\n"), "\(no)")
            } else {
                try home.usePinentry(.cancel)
                let no = try typed(["show", "a"])
                #expect(no.exitCode == 1 && no.output.contains("work cannot be unlocked"), "\(no)")
            }
            for words in [["show", "work"], ["list"], ["log", "a"], ["status"]] {
                let looked = try typed(words)
                #expect(!looked.output.contains("Unlock"), "\(words): \(looked)")
                #expect(try home.status().store("work").locked != nil, "\(words)")
            }
            for words in [["show", "a"], ["restore", "a", "--at", "HEAD~1"]] {
                let before = (pinentry.promptCount(), try store.git("rev-parse", "HEAD"))
                let nobody = try home.run(["passdir"] + words)
                #expect(
                    nobody.exitCode == 1 && nobody.errors == "passdir: work is locked; passdir unlock work\n",
                    "\(words): \(nobody)")
                #expect(try before == (pinentry.promptCount(), store.git("rev-parse", "HEAD")), "\(words)")
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - On a terminal, `cp`, `mv`, `grep`, `health`, `render` and `run` unlock the stores that they read, too: with one question where
    ///   no passphrase would be asked for. `grep` and `health` go on without what stays locked, and name it. Where nothing is
    ///   read, nothing is asked.
    @Test(.slow, arguments: ["", "sesame"]) func aCommandOfManySecretsUnlocks(_ passphrase: String) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: passphrase)
            let stores = try ["private", "work"].map { try home.makeStore($0, recipients: [key]) }
            for (name, store) in zip(["private", "work"], stores) {
                for secret in ["a", "b"] { try store.insert(secret, "monkey\nfrom \(name)/\(secret)\n") }
            }
            try home.addStores(stores)
            try home.write("passdir://private/a#first passdir://work/a#first\n", to: "template")
            var pinentry = try home.usePinentry(.answer(passphrase))
            try home.mount()
            func typed(_ words: [String], locked: [String] = [], answer: String = "y\n") throws
                -> ProgramResult
            {
                try home.succeed(["passdir", "lock"] + locked)
                return try home.onTerminal(
                    ["passdir"] + words, [TerminalStep(at: " [y/N] ", type: answer)])
            }
            func isLocked(_ store: String) throws -> Bool { try home.status().store(store).locked != nil }
            let (one, both) = (
                "work is locked. Unlock it? [y/N] ", "private, work are locked. Unlock them? [y/N] "
            )
            let reading: [([String], String)] = [
                (["cp", "work/a", "work/c"], one), (["mv", "work/c", "private/c"], one),
                (["grep", "from"], both),
                (["render", "template"], both), (["health", "work"], one), (["health"], both),
                (["run", "--env", "X=passdir://work/a#first", "--", "printenv", "X"], one),
            ]
            for (words, question) in reading {
                let prompts = pinentry.promptCount()
                let done = try typed(words)
                // The passwords are weak.
                #expect(done.exitCode == (words[0] == "health" ? 1 : 0), "\(words): \(done)")
                #expect(!done.output.contains("is locked;"), "\(words): \(done)")
                #expect(done.output.contains(question) == passphrase.isEmpty, "\(words): \(done)")
                #expect(try !isLocked("work") && isLocked("private") == (question == one), "\(words)")
                // One prompt a key, however many stores.
                #expect(pinentry.promptCount() == prompts + (passphrase.isEmpty ? 0 : 1), "\(words)")
            }
            // Only names change, or are looked at.
            for words in [["mv", "work/b", "work/renamed"], ["health", "--names-only"]] {
                let done = try typed(words)
                #expect(done.exitCode == 0 && !done.output.contains("Unlock"), "\(words): \(done)")
                #expect(try isLocked("work"), "\(words)")
            }
            try home.succeed(["passdir", "mv", "work/renamed", "work/b"])
            // Whoever does not agree.
            if !passphrase.isEmpty { pinentry = try home.usePinentry(.cancel) }
            for words in [["cp", "work/a", "work/d"], ["render", "template"]] {
                let no = try typed(words, answer: "n\n")
                #expect(
                    no.exitCode == 1
                        && no.output.contains(passphrase.isEmpty ? "still locked" : "cannot be unlocked")
                        && !no.output.contains("monkey"), "\(words): \(no)")
            }
            if passphrase.isEmpty {
                try home.succeed(["passdir", "unlock"])
                let found = try typed(["grep", "from"], locked: ["work"], answer: "n\n")
                #expect(
                    found.exitCode == 1 && found.output.contains("private/a:\n")
                        && found.output.contains("passdir: work is locked; passdir unlock work\n")
                        && !found.output.contains("work/a:\n"), "\(found)")
                let looked = try typed(["health"], locked: ["work"], answer: "n\n")
                #expect(
                    looked.exitCode == 1 && looked.output.contains("private/a")
                        && looked.output.contains("not looked at: work/a, work/b: work is locked"),
                    "\(looked)")
            } else {
                let found = try typed(["grep", "from"])
                #expect(
                    found.exitCode == 1 && found.output.contains("work cannot be unlocked")
                        && found.output.contains("passdir: work is locked; passdir unlock work\n"), "\(found)"
                )
            }
            // Without a terminal they say what to do.
            for words in [["cp", "work/a", "work/d"], ["grep", "from"], ["render", "template"]] {
                let nobody = try home.run(["passdir"] + words)
                #expect(
                    nobody.exitCode == 1 && nobody.errors.contains("is locked; passdir unlock"), "\(nobody)")
            }
            try home.unmount()
        }
    }

    /// Whoever is added could read all of it.
    @Test(.slow) func recipientsOfALockedStoreStay() throws {
        try TestHome.guarded { home in
            let (key, other) = (try home.makeKey("a@example.org"), try home.makeKey("b@example.org"))
            let store = try home.makeStore("one", recipients: [key])
            try store.insert("mail/imap", "sesame\n")
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "lock"])
            let list = try home.succeed(["cat", store.path.appending(".gpg-id").string])
            for words in [
                ["add", "one", other.fingerprint], ["set", "one", key.fingerprint, other.fingerprint],
                ["set", "one", other.fingerprint, "--lock-me-out"],
            ] {
                let result = try home.run(["passdir", "recipients"] + words + ["-y"])
                #expect(result.exitCode == 1 && result.errors.contains("one is locked; passdir unlock one"))
                // No plan is shown that is refused anyway.
                #expect(result.output.isEmpty, "\(result)")
            }
            #expect(try home.succeed(["cat", store.path.appending(".gpg-id").string]) == list)
            try home.succeed(["passdir", "unlock", "one"])
            try home.succeed(["passdir", "recipients", "add", "one", other.fingerprint, "-y"])
            try home.unmount()
        }
    }

    /// A change of recipients has to read what is below: it is kept, and made as soon as that may be read.
    @Test func aListThatIsSavedMeanwhileCountsWhenUnlocked() throws {
        try TestHome.guarded { home in
            let keys = try ["a@example.org", "b@example.org"].map { try home.makeKey($0) }
            let store = try home.makeStore("work", recipients: [keys[0]])
            try store.insert("a", "text\n")
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "lock"])
            let list = home.visible("work/.gpg-id").string
            let text = keys.map { $0.fingerprint + "\n" }.joined()
            let saving = try home.run(["tee", list], input: Array(text.utf8))
            #expect(saving.errors.contains("Permission denied"), "\(saving)")
            #expect(try home.text(of: "work/.gpg-id") != text)
            let unsaved = try home.status().store("work").unsaved
            #expect(unsaved.map(\.error) == ["work is locked; passdir unlock work"])
            try home.succeed(["passdir", "unlock"])
            try home.waitUntil("the list is saved") { try home.text(of: "work/.gpg-id") == text }
            #expect(try home.status().store("work").unsaved.isEmpty)
            try home.unmount()
        }
    }

    /// Holds:
    /// - After `passdir lock` gpg-agent has forgotten the passphrases (`lock.agent`), and the next open asks for one: who
    ///   enters it unlocks the store. With `lock.agent = false` it has not, and pinentry asks whether to unlock it.
    @Test func aPassphraseUnlocks() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key])
            for name in ["a", "b"] { try store.insert(name, "text of \(name)\n") }
            try home.addStores([store])
            let pinentry = try home.usePinentry(.answer("correct horse"))
            try home.mount()
            func read(_ name: String) throws -> ProgramResult {
                try home.run(["cat", home.visible("work/" + name).string])
            }
            #expect(try read("a").output == "text of a\n" && pinentry.promptCount() == 1)
            try home.succeed(["passdir", "lock"])
            #expect(try read("a").output == "text of a\n" && pinentry.promptCount() == 2)
            #expect(try home.status().store("work").locked == nil)
            #expect(try read("b").output == "text of b\n" && pinentry.promptCount() == 2)

            // Nobody enters it: it stays locked, and each open asks.
            try home.succeed(["passdir", "lock", "work"])
            let refusing = try home.usePinentry(.cancel)
            #expect(try read("a").errors.contains("Permission denied") && refusing.promptCount() == 3)
            #expect(try home.status().store("work").locked != nil)
            try home.succeed(["ls", "-lR", home.mountPoint.string])
            #expect(refusing.promptCount() == 3, "a look asks nothing")

            let answering = try home.usePinentry(.answer("correct horse"))
            try home.succeed(["passdir", "unlock"])
            #expect(try read("a").output == "text of a\n" && answering.promptCount() == 4)
            try home.configure(["lock.agent": "false"])
            // The pinentry says yes, too.
            try home.waitUntil("the daemon keeps the passphrases") {
                try home.succeed(["passdir", "lock"])
                let count = answering.promptCount()
                return try read("a").output == "text of a\n" && answering.promptCount() == count
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - While a store is locked, a merge asks for no passphrase: it waits until the key is unlocked.
    @Test func aMergeAsksNobodyForALockedStore() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            let pinentry = try home.usePinentry(.answer("correct horse"))
            try store.insert("a", "one\ntwo\nthree\nfour\n")
            try store.git("push", "-q")
            try home.addStores([store])
            try home.configure(["commit.delay": "100ms", "sync.interval": "0s"])
            try home.mount()
            let file = home.visible("work/a").string
            try home.succeed(["cat", file])
            try home.succeed(["git", "clone", "-q", home.path("work.git").string, home.path("other").string])
            let change = """
                printf '%s\\n' 'one of theirs' two three four | gpg --batch --yes --trust-model always -e \
                -r \(key.fingerprint) -o a.gpg && git commit -qam theirs && git push -q
                """
            try home.succeed(["bash", "-c", change], in: home.path("other"))
            try home.succeed(["passdir", "lock"])
            let asked = pinentry.promptCount()
            try home.succeed(["bash", "-c", "printf '%s\\n' one two three 'four of ours' > '\(file)'"])
            let waiting = try home.passdir("sync", "work")
            #expect(waiting.exitCode == 1 && pinentry.promptCount() == asked, "\(waiting)")
            try home.succeed(["passdir", "unlock"])
            try home.succeed(["passdir", "sync", "work"])
            #expect(
                try home.succeed(["cat", file]) == Array("one of theirs\ntwo\nthree\nfour of ours\n".utf8))
            try home.unmount()
        }
    }

    /// Holds:
    /// - When nothing has been read for `lock.idle`, all stores are locked.
    @Test(.slow) func nobodyReadsForAWhile() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("a", "text\n")
            try home.addStores([store])
            try home.configure(["lock.idle": "1s"])
            try home.mount()
            try home.succeed(["passdir", "unlock"])
            try home.waitUntil("it is locked") { try home.status().store("work").locked?.reason == "idle" }
            #expect(
                try home.run(["cat", home.visible("work/a").string]).errors.contains("Permission denied"))
            // Who reads on is not locked out.
            try home.succeed(["passdir", "unlock"])
            let reading = "for i in $(seq 40); do cat \"$0\" || exit 1; sleep 0.05; done"
            let read = try home.run(["bash", "-c", reading, home.visible("work/a").string])
            #expect(read.exitCode == 0 && read.output.split(separator: "\n").count == 40, "\(read.errors)")
            try home.unmount()
        }
    }
}
