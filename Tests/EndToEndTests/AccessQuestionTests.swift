import Glibc
import SystemPackage
import TestKit
import Testing

/// A person is asked who may read.
@Suite struct AccessQuestionTests {
    /// A pinentry that writes down what it is told, waits for the file `go`, and answers CONFIRM with what the file `answer` holds;
    /// a passphrase it enters when the file `enter` is there.
    private func usePinentry(
        _ home: TestHome, _ answer: String, passphrase: String = "", waits: Bool = false
    ) throws {
        try home.write(answer + "\n", to: "answer")
        if !waits { try home.write("", to: "go") }
        try home.write(
            """
            #!/bin/sh
            echo 'OK Pleased to meet you'
            while read -r word rest; do
                echo "$word $rest" >> '\(home.path("told"))'
                case "$word" in
                CONFIRM) while [ ! -e '\(home.path("go"))' ]; do sleep 0.02; done; cat '\(home.path("answer"))' ;;
                GETPIN) while [ ! -e '\(home.path("enter"))' ]; do sleep 0.02; done; echo 'D \(passphrase)'; echo OK ;;
                BYE) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done

            """, to: "pinentry", mode: [.ownerReadWriteExecute])
        try home.write("pinentry-program \(home.path("pinentry"))\n", to: "gnupg/gpg-agent.conf")
    }

    private func questions(_ home: TestHome) -> Int {
        (try? home.text(of: "told"))?.split(separator: "\n").count { $0.hasPrefix("CONFIRM") } ?? 0
    }

    private func withMount(
        _ secrets: [String], settings: [String: String] = [:], _ body: (TestHome) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            for path in secrets { try store.insert(path, "MARK\n") }
            try home.addStores([store])
            try home.configure(settings)
            try usePinentry(home, "OK")
            try home.mount()
            try body(home)
            try home.unmount()
        }
    }

    /// Holds what each answer is worth.
    @Test func anAnswerHoldsAsLongAsItSays() throws {
        try withMount(["aws/key", "aws/other", "free"]) { home in
            let (key, other) = (home.visible("work/aws/key").string, home.visible("work/aws/other").string)
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            // No: for every file that this run opens, and for the same program a while.
            try usePinentry(home, "ERR 83886179 cancelled")
            let refused = try home.run(["cat", key, other])
            #expect(refused.exitCode == 1 && refused.output == "" && questions(home) == 1, "\(refused)")
            #expect(try home.run(["cat", key]).exitCode == 1 && questions(home) == 1)
            // Once: for this run.
            try usePinentry(home, "ERR 83886194 not confirmed")
            #expect(
                try home.run(["grep", "-rh", ".", home.visible("work/aws").string]).output == "MARK\nMARK\n")
            #expect(questions(home) == 2)
            #expect(try home.run(["grep", "-rh", ".", home.visible("work/aws").string]).exitCode == 0)
            #expect(questions(home) == 3)
            // Until lock: for the program.
            try usePinentry(home, "OK")
            for _ in 0..<3 { #expect(try home.run(["head", "-q", key, other]).output == "MARK\nMARK\n") }
            #expect(questions(home) == 4)
            #expect(try home.run(["tail", home.visible("work/free").string]).output == "MARK\n")
            #expect(questions(home) == 4)
            // Looking asks nothing.
            try home.succeed(["ls", "-lR", home.visible("work").string])
            #expect(questions(home) == 4)
            // A command of ours reads for who has started it.
            #expect(
                try home.run(["sh", "-c", "passdir restore work/aws/key --at HEAD --show; true"]).output
                    == "MARK\n")
            #expect(questions(home) == 5)
            let told = try home.text(of: "told")
            #expect(
                told.contains(
                    "wants to read \"work/aws/key\".%0AThe answer applies to everything in work/aws."),
                "\(told)")
            #expect(told.contains("SETOK Allow until lock") && told.contains("SETCANCEL Refuse"), "\(told)")

            try home.succeed(["passdir", "access", "set", "work/aws", "--ask", "--every-time"])
            for number in 6...7 {
                #expect(try home.run(["head", "-q", key, other]).output == "MARK\nMARK\n")
                #expect(questions(home) == number)
            }
            let log = try home.passdir("access", "log", "--json").output
            #expect(
                log.contains("\"outcome\":\"declined\"") && log.contains("\"outcome\":\"agreed\""), "\(log)")
        }
    }

    /// A key without a passphrase: a person says whether a locked store is read again, once for all who wait.

    /// What a shell may be shown once is not what a program that it starts may have shown to it: that becomes the command, which the
    /// shell has started as far as anybody can tell.
    @Test(.slow) func anAnswerToACommandIsForThatCommand() throws {
        try withMount(["aws/key", "aws/other"]) { home in
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            try usePinentry(home, "ERR 83886194 not confirmed")
            let shown = try home.run([
                "bash", "-c", "passdir show work/aws/key; passdir show work/aws/other; :",
            ])
            #expect(shown.output == "MARK\nMARK\n" && questions(home) == 2, "\(shown)")
            #expect(try home.text(of: "told").contains("It reads through the command: passdir show"))
            // A command that reads much asks once.
            #expect(try home.run(["bash", "-c", "passdir grep MARK; :"]).exitCode == 0)
            #expect(questions(home) == 3)
            // Until lock, through a command: for all commands of that program, and not for what it reads itself.
            try usePinentry(home, "OK")
            let script =
                "passdir show work/aws/key; passdir show work/aws/other; read -r line <$1; echo $line"
            let key = home.visible("work/aws/key").string
            let read = try home.run(["bash", "-c", script, "bash", key])
            #expect(read.output == "MARK\nMARK\nMARK\n" && questions(home) == 5, "\(read)")
            #expect(try home.passdir("access", "log", "work/aws/key").output.contains("passdir show"))
        }
    }

    @Test func aLockedStoreIsUnlockedByAnAnswer() throws {
        try withMount(["one", "two"]) { home in
            let paths = ["one", "two"].map { home.visible("work/\($0)").string }
            try home.succeed(["passdir", "lock"])
            try usePinentry(home, "ERR 83886179 cancelled")
            let refused = try home.run(["cat", paths[0]])
            #expect(refused.exitCode == 1 && questions(home) == 1, "\(refused)")
            #expect(try home.passdir("status").output.contains("work is locked; passdir unlock work"))
            try usePinentry(home, "OK", waits: true)
            unlink(home.path("go").string)
            let readers = try (0..<20).map { try home.start(["cat", paths[$0 % 2]]) }
            try home.waitUntil("a question is asked") { questions(home) == 2 }
            for reader in readers { try home.waitUntilBlocked(reader) }
            try home.write("", to: "go")
            for reader in readers { #expect(try reader.wait().output == "MARK\n") }
            #expect(try home.run(["cat"] + paths).output == "MARK\nMARK\n" && questions(home) == 2)
            let told = try home.text(of: "told")
            #expect(told.contains("work is locked.") && told.contains("SETOK Unlock"), "\(told)")
        }
    }

    /// Holds:
    /// - Who found the store locked, and comes to ask when it is unlocked, is not asked.
    @Test func whoComesToAskAfterTheAnswerIsNotAsked() throws {
        try withMount(["one"]) { home in
            let unlock = #"""
                my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!;
                $socket->syswrite("{\"method\":\"org.passdir.Control.Unlock\",\"parameters\":{}}\0");
                $socket->sysread(my $answer, 1000);
                exit($answer =~ /error/);
                """#
            let answer = try home.succeed(["gpg-connect-agent", "GETINFO pid", "/bye"])
            let agent = try #require(
                String(decoding: answer, as: UTF8.self).split(separator: "\n").first.flatMap {
                    pid_t($0.dropFirst(2))
                })
            try home.succeed(["cat", home.visible("work/one").string])
            try home.succeed(["passdir", "lock"])
            // The reader has seen the lock, and waits for what the agent says of its key.
            kill(agent, SIGSTOP)
            defer { kill(agent, SIGCONT) }
            let reader = try home.start(["cat", home.visible("work/one").string])
            try home.waitUntilBlocked(reader)
            let socket = home.path("run/passdir/control").string
            try home.succeed(["perl", "-MIO::Socket::UNIX", "-e", unlock, socket])
            kill(agent, SIGCONT)
            #expect(try reader.wait().output == "MARK\n" && questions(home) == 0)
        }
    }

    /// Many readers see one question, which holds up nothing else; who gives up is gone, and so is a question that nobody waits
    /// for.
    @Test func manyReadersSeeOneQuestion() throws {
        try withMount(["aws/key", "free"]) { home in
            let key = home.visible("work/aws/key").string
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            unlink(home.path("go").string)
            let readers = try (0..<50).map { _ in try home.start(["cat", key]) }
            try home.waitUntil("one question is asked") { questions(home) == 1 }
            for reader in readers { try home.waitUntilBlocked(reader) }
            #expect(try home.run(["cat", home.visible("work/free").string]).output == "MARK\n")
            try home.succeed([
                "sh", "-c",
                "ls -l '\(home.visible("work/aws").string)'; echo new > '\(home.visible("work/new").string)'",
            ])
            kill(readers[0].pid, SIGKILL)
            kill(readers[1].pid, SIGINT)
            for reader in readers.prefix(2) { #expect(try reader.wait(limit: .seconds(20)).exitCode != 0) }
            try home.write("", to: "go")
            for reader in readers.dropFirst(2) {
                #expect(try reader.wait(limit: .seconds(20)).output == "MARK\n")
            }
            // Where one of those two was shown the question, the next was asked.
            let asked = questions(home)
            #expect(asked <= 3)

            unlink(home.path("go").string)
            let last = try home.start(["head", key])
            try home.waitUntil("another question is asked") { questions(home) == asked + 1 }
            kill(last.pid, SIGKILL)
            #expect(try last.wait(limit: .seconds(20)).exitCode != 0)
            try home.waitUntil("the question that nobody waits for is gone") {
                try home.run(["pgrep", "-f", home.path("pinentry").string]).exitCode == 1
            }
            #expect(
                try home.passdir("access", "log", "--json").output.contains("\"outcome\":\"interrupted\""))
        }
    }

    /// Holds:
    /// - A question ends with the program that it is about: with another one in its place, nobody is asked for that.
    @Test func aProgramThatExecsWhileAskedIsNotLetIn() throws {
        try withMount(["aws/key"]) { home in
            let key = home.visible("work/aws/key").string
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            try usePinentry(home, "OK", waits: true)
            unlink(home.path("go").string)
            let program = """
                import os, sys, threading, time
                threading.Thread(target=lambda: open(sys.argv[1]).read(), daemon=True).start()
                while not os.path.exists(sys.argv[2]): time.sleep(0.01)
                os.execv("/bin/cat", ["cat", sys.argv[1]])
                """
            let exec = home.path("exec").string
            let reader = try home.start(["python3", "-c", program, key, exec])
            try home.waitUntil("a question is asked") { questions(home) == 1 }
            try home.write("", to: "exec")
            // The thread is gone, and cat is asked about anew.
            try home.waitUntil("another question is asked") { questions(home) == 2 }
            let told = try home.text(of: "told")
            #expect(told.contains("python") && told.contains("/cat"), "\(told)")
            try home.write("ERR 83886179 cancelled\n", to: "answer")
            try home.write("", to: "go")
            let ended = try reader.wait(limit: .seconds(20))
            #expect(ended.output == "" && ended.errors.contains("Permission denied"), "\(ended)")
            let log = try home.passdir("access", "log", "--json").output
            #expect(log.contains("\"outcome\":\"interrupted\"") && log.contains("\"outcome\":\"declined\""))
            #expect(!log.contains("\"outcome\":\"agreed\""), "\(log)")
        }
    }

    /// Holds:
    /// - What was agreed for one run of a program is not for another process that gets its number.
    @Test(.enabled(if: geteuid() == 0, "only root chooses process ids"))
    func aProcessIDThatIsUsedAgainIsAnotherRun() throws {
        try withMount(["aws/key"]) { home in
            let key = home.visible("work/aws/key").string
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask", "--every-time"])
            try usePinentry(home, "OK")
            // Both are the first process of a namespace of their own in turn, started with the number that the first one had.
            let program = """
                import os, sys
                def run(path):
                    child = os.fork()
                    if child == 0: os.execv("/bin/cat", ["cat", path])
                    os.waitpid(child, 0)
                    return child
                first = run(sys.argv[1])
                for _ in range(200):
                    with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(first - 1))
                    if run(sys.argv[1]) == first: sys.exit(0)
                sys.exit("never the same number")
                """
            let result = try home.run(["python3", "-c", program, key])
            #expect(result.exitCode == 0, "\(result)")
            let reads = result.output.split(separator: "\n").count
            #expect(reads >= 2 && questions(home) == reads, "\(reads) reads, \(questions(home)) questions")
        }
    }

    /// Holds:
    /// - A rule that is set while a question is shown counts: whoever waits is let in only if it lets them in, too.
    @Test(.slow, arguments: ["--deny", "--ask --every-time"]) func aRuleThatIsSetMeanwhileCounts(
        _ rule: String
    )
        throws
    {
        try withMount(["aws/key"]) { home in
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            try usePinentry(home, "OK", waits: true)
            unlink(home.path("go").string)
            let reader = try home.start(["cat", home.visible("work/aws/key").string])
            try home.waitUntil("a question is asked") { questions(home) == 1 }
            try home.succeed(["sh", "-c", "passdir access set work/aws \(rule)"])
            try home.write("", to: "go")
            let ended = try reader.wait(limit: .seconds(20))
            let log = try home.passdir("access", "log").output
            if rule == "--deny" {
                #expect(ended.output == "" && ended.errors.contains("Permission denied"), "\(ended)")
                #expect(
                    questions(home) == 1 && log.contains("denied") && log.contains("rule work/aws: deny"),
                    "\(log)")
            } else {
                #expect(ended.output == "MARK\n" && questions(home) == 2, "\(ended)")
                #expect(log.contains("agreed") && log.contains("rule work/aws: ask every-time"), "\(log)")
            }
        }
    }

    /// Whoever changes the recipients of a folder could read it: that is asked, too, however it is done.
    @Test func aChangeOfRecipientsIsAsked() throws {
        try withMount(["aws/key"]) { home in
            let other = try home.makeKey("b@example.org").fingerprint
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask", "--every-time"])
            let list = home.path("work/aws/.gpg-id")
            try home.succeed(["sh", "-c", "cat '\(home.path("work/.gpg-id"))' > list; echo \(other) >> list"])
            let ways = [
                ("dd if=list of='\(home.visible("work/.gpg-id").string)'", "work"),
                ("passdir recipients add work/aws \(other) --yes", "work/aws"),
            ]
            for (way, folder) in ways {
                let before = questions(home)
                try usePinentry(home, "ERR 83886179 cancelled")
                let refused = try home.run(["sh", "-c", "(\(way))"])
                #expect(refused.exitCode != 0 && questions(home) == before + 1, "\(way): \(refused)")
                #expect(access(list.string, F_OK) != 0, "\(way)")
                let told = try home.text(of: "told")
                #expect(told.contains("wants to change who can read everything in \"\(folder)\""), "\(told)")
            }
            // A refusal holds for the program for a while: another one asks.
            try usePinentry(home, "OK")
            let before = questions(home)
            try home.succeed(["bash", "-c", "(passdir recipients add work/aws \(other) --yes)"])
            #expect(questions(home) == before + 1)
            #expect(access(list.string, F_OK) == 0)
            let log = try home.passdir("access", "log").output
            #expect(log.contains("agreed  work/aws/.gpg-id"), "\(log)")
        }
    }

    /// Holds:
    /// - No call that holds a folder in the kernel asks whether a list of recipients may be changed: it fails at once where a person
    ///   would have to be asked, and `status` names the commands that ask.
    @Test(.slow) func noCallThatHoldsAFolderAsks() throws {
        try withMount(["aws/key", "aws/sub/deep", "free/x"]) { home in
            let other = try home.makeKey("b@example.org").fingerprint
            try home.succeed([
                "sh", "-c",
                """
                cat work/.gpg-id > list; echo \(other) >> list
                cp list work/aws/sub/.gpg-id; mkdir mnt/work/free/made; cp list mnt/work/free/made/.gpg-id
                cp list mnt/work/aws/list~
                """,
            ])
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            unlink(home.path("go").string)
            func code(_ call: String) throws -> Int32 {
                let program =
                    "import os, sys\ntry: \(call)\nexcept OSError as error: sys.exit(error.errno)"
                let ended = try home.run(["python3", "-c", program], limit: .seconds(60))
                #expect(!ended.timedOut, "\(call): \(ended)")
                return ended.exitCode
            }
            let remove = "os.unlink('mnt/work/aws/sub/.gpg-id')"
            let rename = "os.rename('mnt/work/aws/list~', 'mnt/work/aws/.gpg-id')"
            let calls = [
                "open('mnt/work/aws/.gpg-id', 'w')", "os.mknod('mnt/work/aws/.gpg-id')", rename,
                "os.symlink('../.gpg-id', 'mnt/work/aws/.gpg-id')", "os.truncate('mnt/work/.gpg-id', 0)",
                "os.rename('mnt/work/free/made', 'mnt/work/aws/made')", remove,
            ]
            for call in calls {
                #expect(try code(call) == EACCES, "\(call)")
                let status = try home.passdir("status").output
                #expect(
                    status.contains(".gpg-id: a rule asks before anybody changes who can read work")
                        && status.contains("use passdir recipients, which asks"), "\(call): \(status)")
            }
            #expect(questions(home) == 0)
            let told = try home.run([
                "getfattr", "--only-values", "-n", "user.passdir.error", "mnt/work/aws/sub/.gpg-id",
            ])
            #expect(told.output.contains("passdir access set work/aws/sub"), "\(told)")
            #expect(try home.passdir("access", "log").output.contains("unanswered"))

            // The command asks.
            try usePinentry(home, "OK")
            try home.succeed(["sh", "-c", "(passdir recipients add work/aws/sub \(other) --yes)"])
            // An answer that stands counts.
            #expect(try code("open('mnt/work/aws/key').read()") == 0)
            let before = questions(home)
            #expect(try code(remove) == 0 && code(rename) == 0)
            #expect(questions(home) == before)
            #expect(!(try home.passdir("status").output.contains("a rule asks before")))
        }
    }

    /// Holds:
    /// - A rule that is set while a passphrase is asked for counts for everybody who waits for it.
    @Test(
        .slow, arguments: ["work/aws/key", ".passdir/at/HEAD/work/aws/key", ".passdir/first/work/aws/key"],
        [false, true])
    func aRuleThatIsSetAtAPassphrasePromptCounts(_ name: String, isLocked: Bool) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("aws/key", "MARK\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            try home.mount()
            if isLocked { try home.succeed(["passdir", "lock"]) }
            let readers = try ["cat", "head"].map { try home.start([$0, home.visible(name).string]) }
            try home.waitUntil("a passphrase is asked for") { pinentry.promptCount() == 1 }
            for reader in readers { try home.waitUntilBlocked(reader) }
            try home.succeed(["passdir", "access", "set", "work/aws", "--deny-under", "cat"])
            try pinentry.release()
            let (cat, head) = (try readers[0].wait(), try readers[1].wait())
            #expect(cat.output == "" && cat.errors.contains("Permission denied"), "\(cat)")
            #expect(head.output.hasPrefix("MARK") && pinentry.promptCount() == 1, "\(head)")
            let log = try home.passdir("access", "log").output
            #expect(log.contains("rule work/aws: deny under cat"), "\(log)")
            #expect(log.split(separator: "\n").count { $0.contains("denied") } == 1, "\(log)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - A rule that is set while a command asks for a passphrase counts for the command, and so does a lock: nothing of the
    ///   secret is printed, copied or told.
    @Test(.slow, arguments: [true, false]) func aRuleThatIsSetAtTheCommandsPromptCounts(_ isMounted: Bool)
        throws
    {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("aws/key", "MARK\notpauth://totp/x?secret=JBSWY3DPEHPK3PXP\n")
            try home.addStores([store])
            try home.write("passdir://work/aws/key#first\n", to: "template")
            if isMounted { try home.mount() }
            let commits = try store.git("rev-list", "--count", "HEAD")
            /// - Parameter change: what is done while the prompt is open.
            func read(_ command: String, during change: [String]) throws -> ProgramResult {
                let pinentry = try home.usePinentry(.block("correct horse"))
                defer { try? pinentry.release() }
                let before = pinentry.promptCount()
                // What starts the command reads.
                let reader = try home.start(
                    ["sh", "-c", "passdir \(command); exit $?"], extra: ["EDITOR": "cat"])
                try home.waitUntil("\(command) asks for the passphrase") {
                    pinentry.promptCount() == before + 1
                }
                try home.succeed(["passdir"] + change)
                try pinentry.release()
                let ended = try reader.wait(limit: .seconds(20))
                #expect(pinentry.promptCount() == before + 1, "\(command)")
                return ended
            }
            let commands = [
                "show work/aws/key", "show work/aws/key --otp", "show work/aws/key --at HEAD", "grep MARK",
                "otp work/aws/key", "render template",
                "run --env X=passdir://work/aws/key#first -- printenv X",
                "restore work/aws/key --at HEAD --show",
                "cp work/aws/key work/copy", "generate --in-place work/aws/key", "health",
            ]
            for command in commands + (isMounted ? ["edit work/aws/key"] : []) {
                let ended = try read(command, during: ["access", "set", "work/aws", "--deny-under", "sh"])
                #expect(ended.exitCode == 1 && !ended.output.contains("MARK"), "\(command): \(ended)")
                #expect(
                    ended.errors.contains("the access rules refuse reading work/aws/key"),
                    "\(command): \(ended)")
                try home.succeed(["passdir", "access", "unset", "work/aws"])
            }
            #expect(try store.git("rev-list", "--count", "HEAD") == commits)
            // One that lets it in lets it in, and nobody is asked for what is as it was.
            let other = try read(
                "show work/aws/key", during: ["access", "set", "work", "--deny-under", "cat"])
            #expect(other.output.hasPrefix("MARK"), "\(other)")
            if isMounted {
                try home.configure(["lock.agent": "false"])
                let locked = try read("show work/aws/key", during: ["lock"])
                #expect(
                    locked.output == "" && locked.errors == "passdir: work is locked; passdir unlock work\n",
                    "\(locked)")
                try home.unmount()
            }
        }
    }

    /// Holds:
    /// - Who has agreed to an open is asked no second time for it where other rules change, also of a program that cannot be
    ///   seen, of which no answer is kept.
    @Test(
        .slow, .enabled(if: geteuid() == 0, "only root makes a namespace of processes without one of users"),
        arguments: ["work/aws/key", ".passdir/at/HEAD/work/aws/key"], ["", "correct horse"])
    func whoHasAgreedIsNotAskedAgain(_ name: String, passphrase: String) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: passphrase)
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("aws/key", "MARK\n")
            try home.addStores([store])
            // It knows the passphrase from making the key.
            try home.succeed(["gpgconf", "--kill", "gpg-agent"])
            try home.mountOutOfSight()
            try usePinentry(home, "OK", passphrase: passphrase, waits: true)
            unlink(home.path("go").string)
            try home.succeed(["passdir", "access", "set", "work/aws", "--ask"])
            let reader = try home.start(["cat", home.visible(name).string])
            try home.waitUntil("a question is asked") { questions(home) == 1 }
            #expect(try home.text(of: "told").contains("cannot be seen from here"))
            func setAnother(_ number: Int) throws {
                try home.succeed(["passdir", "access", "set", "work/other\(number)", "--deny"])
            }
            try setAnother(1)
            try home.write("", to: "go")
            if !passphrase.isEmpty {
                try home.waitUntil("a passphrase is asked for") {
                    try home.text(of: "told").contains("GETPIN")
                }
                try setAnother(2)
                try home.write("", to: "enter")
            }
            let ended = try reader.wait(limit: .seconds(20))
            #expect(ended.output == "MARK\n" && questions(home) == 1, "\(ended)")
            try home.unmount()
        }
    }

    /// As above, of the question whether a locked store is to be read again.
    @Test func aRuleThatIsSetBeforeAStoreIsUnlockedCounts() throws {
        try withMount(["aws/key"]) { home in
            let key = home.visible("work/aws/key").string
            try home.succeed(["passdir", "lock"])
            unlink(home.path("go").string)
            let readers = try ["cat", "head"].map { try home.start([$0, key]) }
            try home.waitUntil("a question is asked") { questions(home) == 1 }
            for reader in readers { try home.waitUntilBlocked(reader) }
            try home.succeed(["passdir", "access", "set", "work/aws", "--deny-under", "cat"])
            try home.write("", to: "go")
            let (cat, head) = (try readers[0].wait(), try readers[1].wait())
            #expect(cat.output == "" && cat.errors.contains("Permission denied"), "\(cat)")
            #expect(head.output == "MARK\n" && questions(home) == 1, "\(head)")
        }
    }

    /// Who asks, and how the question ends, and the exit status of the reader then.
    private static let endings: [(question: String, reader: [String], ending: String, code: Int32)] = [
        ("rule", ["cat", "mnt/work/key"], "answer", 0), ("unlock", ["cat", "mnt/work/key"], "answer", 0),
        ("rule", ["cat", "mnt/work/key"], "signal", 130), ("unlock", ["cat", "mnt/work/key"], "signal", 130),
        ("rule", ["cat", "mnt/work/key"], "time", 1), ("unlock", ["cat", "mnt/work/key"], "time", 1),
        ("unlock", ["cat", "mnt/work/key"], "lock", 1), ("unlock", ["cat", "mnt/work/key"], "unlock", 0),
        ("rule", ["passdir", "show", "work/key"], "answer", 0),
        ("rule", ["passdir", "show", "work/key"], "signal", 130),
        ("unmounted", ["passdir", "show", "work/key"], "answer", 0),
        ("unmounted", ["passdir", "show", "work/key"], "signal", 130),
        ("rule", ["passdir", "recipients", "add", "work", "b@example.org", "-y"], "signal", 130),
    ]

    /// Holds:
    /// - So it is with a question whether a program may read, or a store is to be unlocked, also when that was answered or its time
    ///   is over, for a command as for an open.
    @Test(.slow, arguments: endings.indices) func theReaderGoesOnWhenTheQuestionIsGone(_ index: Int) throws {
        let (question, words, ending, code) = Self.endings[index]
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("key", "MARK\n")
            if words.contains("recipients") { _ = try home.makeKey("b@example.org") }
            try home.addStores([store])
            let pinentry = try home.usePinentry(ending == "answer" ? .agreeAndEndSlowly : .endSlowly)
            if ending == "time" { try home.configure(["access.timeout": "2s"]) }
            if question != "unmounted" { try home.mount() }
            if question == "unlock" {
                try home.succeed(["cat", home.visible("work/key").string])
                try home.succeed(["passdir", "lock"])
            } else {
                try home.succeed(["passdir", "access", "set", "work", "--ask"])
            }
            let reader = try home.start(words)
            try home.waitUntil("a question is asked") { pinentry.promptCount() == 1 || reader.hasEnded }
            switch ending {
            case "signal": reader.signal(SIGINT)
            case "lock", "unlock": try home.succeed(["passdir", ending])
            default: break
            }
            let ended = try reader.wait(limit: .seconds(20))
            #expect(pinentry.hasEnded())
            #expect(ended.exitCode == code, "\(ended)")
            #expect(ended.output.contains("MARK") == (code == 0), "\(ended)")
            if words.contains("recipients") {
                #expect(ended.errors.isEmpty, "\(ended)")
                #expect(try store.recipientKeyIDs(of: "key").count == 1)
            }
            if question != "unmounted" { try home.unmount() }
        }
    }

    /// Holds:
    /// - When the one in whose terminal a question is shown gives up, the next of those who wait for its answer is asked.
    @Test(.slow, arguments: ["rule", "unlock"]) func theNextIsAskedWhenTheFirstGivesUp(_ question: String)
        throws
    {
        try withMount(["key"]) { home in
            let key = home.visible("work/key").string
            if question == "rule" {
                try home.succeed(["passdir", "access", "set", "work", "--ask"])
            } else {
                try home.succeed(["passdir", "lock"])
            }
            try usePinentry(home, "OK", waits: true)
            unlink(home.path("go").string)
            let first = try home.start(["cat", key])
            try home.waitUntil("a question is asked") { questions(home) == 1 }
            let others = try (0..<3).map { _ in try home.start(["cat", key]) }
            for reader in others { try home.waitUntilBlocked(reader) }
            first.signal(SIGINT)
            #expect(try first.wait(limit: .seconds(20)).exitCode == 128 + SIGINT)
            try home.waitUntil("the next is asked") { questions(home) == 2 }
            let processes = try home.text(of: "told").split(separator: "Process: ").dropFirst()
            #expect(processes.last.map { told in others.contains { told.hasPrefix("\($0.pid)\n") } } == true)
            try home.write("", to: "go")
            for reader in others { #expect(try reader.wait(limit: .seconds(20)).output == "MARK\n") }
            #expect(questions(home) == 2)
        }
    }

    /// Nobody answers: EACCES within access.timeout.
    @Test(.slow) func nobodyAnswers() throws {
        try withMount(["key"], settings: ["access.timeout": "1s"]) { home in
            try home.succeed(["passdir", "access", "set", "work", "--ask"])
            unlink(home.path("go").string)
            let tried = try home.run(["cat", home.visible("work/key").string], limit: .seconds(10))
            #expect(tried.exitCode == 1 && tried.errors.contains("Permission denied"), "\(tried)")
            #expect(try home.passdir("access", "log").output.contains("unanswered"))
        }
    }

    /// pinentry-curses asks in the reader's own terminal, while the daemon has none.
    @Test func theQuestionComesInTheReadersTerminal() throws {
        try withMount(["key"]) { home in
            let found = try home.run(["sh", "-c", "command -v pinentry-curses"])
            try #require(found.exitCode == 0, "pinentry-curses is a package that the tests need")
            try home.write(
                "pinentry-program \(found.output)", to: "gnupg/gpg-agent.conf")
            try home.succeed(["passdir", "access", "set", "work", "--ask"])
            let secret = home.visible("work/key").string
            let agreed = try home.onTerminal(
                ["cat", secret], [TerminalStep(at: "Refuse", type: "\r")],
                extra: ["TERM": "xterm", "LANG": "C.UTF-8"])
            #expect(agreed.exitCode == 0 && agreed.output.contains("MARK"), "\(agreed.output)")
            #expect(agreed.output.contains("wants to read") && agreed.output.contains("Allow until lock"))
            // The third button refuses.
            let refused = try home.onTerminal(
                ["head", secret], [TerminalStep(at: "Refuse", type: "\t\t\r")],
                extra: ["TERM": "xterm", "LANG": "C.UTF-8"])
            #expect(refused.exitCode == 1 && !refused.output.contains("MARK"), "\(refused.output)")
            // Ctrl-C ends the question.
            let ended = try home.onTerminal(
                ["tail", secret], [TerminalStep(at: "Refuse", type: "\u{3}")],
                extra: ["TERM": "xterm", "LANG": "C.UTF-8"])
            #expect(ended.exitCode != 0 && !ended.output.contains("MARK"), "\(ended.output)")
            // What the shell finds then shows what is typed.
            for reader in ["tail '\(secret)'", "passdir show work/key"] {
                let script = "trap : INT; \(reader); stty -a"
                let after = try home.onTerminal(
                    ["bash", "-c", script], [TerminalStep(at: "Refuse", type: "\u{3}")],
                    extra: ["TERM": "xterm", "LANG": "C.UTF-8"])
                let modes = after.output.split(whereSeparator: \.isWhitespace)
                #expect(modes.contains("icanon") && modes.contains("echo"), "\(reader): \(after.output)")
                #expect(!after.output.contains("MARK"))
            }
        }
    }

    /// A job in the background is not asked about on its terminal, where a person types to other programs.
    @Test(arguments: ["cat mnt/work/key", "passdir show work/key"])
    func aJobInTheBackgroundAsksNothingOnItsTerminal(_ reader: String) throws {
        try withMount(["key"]) { home in
            let found = try home.run(["sh", "-c", "command -v pinentry-curses"])
            try home.write("pinentry-program \(found.output)", to: "gnupg/gpg-agent.conf")
            try home.succeed(["passdir", "access", "set", "work", "--ask"])
            let shown = try home.onTerminal(
                ["bash", "-mc", "\(reader) & wait $!; echo ended with $?; \(reader)"],
                [TerminalStep(at: "Refuse", type: "\r")], extra: ["TERM": "xterm", "LANG": "C.UTF-8"])
            #expect(shown.output.contains("ended with 1"), "\(shown.output)")
            #expect(shown.exitCode == 0 && shown.output.contains("MARK"), "\(shown.output)")
            #expect(try home.passdir("access", "log").output.contains("unanswered"))
        }
    }
}

extension TestHome {
    /// Mounts with a daemon in a namespace of processes of its own, which sees none of those that open its files.
    fileprivate func mountOutOfSight() throws {
        let daemon = try start(
            ["unshare", "--pid", "--fork", "passdir", "mount", "--foreground", mountPoint.string])
        try waitUntil("the stores are mounted") {
            if daemon.hasEnded { throw TestFailure("the daemon has ended") }
            return try passdir("status").exitCode == 0
        }
    }
}
