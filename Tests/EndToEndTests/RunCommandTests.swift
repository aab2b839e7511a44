import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir run`.
@Suite struct RunCommandTests {
    /// Made anew each time, so that no file of the test itself has it.
    private static func makeMarker() -> String {
        "mk" + (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }

    private func withStore(_ body: (TestHome, _ marker: String) throws -> Void) throws {
        try TestHome.guarded { home in
            let marker = Self.makeMarker()
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("db", "\(marker) $HOME passdir://work/db#user\nuser: me\n")
            try store.insert("counted", "pw\notpauth://hotp/x?secret=JBSWY3DPEHPK3PXP&counter=7\n")
            try home.addStores([store])
            try body(home, marker)
        }
    }

    /// Holds:
    /// - Variables come from env files and arguments, byte for byte, the last one counts, and all others stay.
    @Test func valuesAreInTheEnvironment() throws {
        try withStore { home, marker in
            try home.write(
                "# passdir://work/none\nA=passdir://work/db#user\nB=\"x passdir://work/db#user $USER\" # b\n",
                to: "a.env")
            try home.write("export A='later'\nWHOLE=passdir://work/db\n", to: "b.env")
            let done = try home.run(
                [
                    "passdir", "run", "--env-file", "a.env", "--env-file", "b.env", "--env",
                    "C=passdir://work/db#first", "--env", "USER=passdir://work/db#user", "--", "sh", "-c",
                    "printf '%s|' \"$@\" \"$A\" \"$B\" \"$C\" \"$USER\" \"$WHOLE\" \"$KEPT\"; cat; exit 7",
                    "sh",
                    "--", "-q",
                ],
                input: Array("input".utf8), extra: ["KEPT": "as it was"])
            let line = "\(marker) $HOME passdir://work/db#user"
            #expect(
                done.output == "--|-q|later|x me $USER|\(line)|me|\(line)\nuser: me\n|as it was|input",
                "\(done)")
            #expect(done.exitCode == 7 && done.errors.isEmpty, "\(done)")
        }
    }

    /// Holds:
    /// - A command sees no difference to one that is run without passdir: arguments, descriptors, signals, processes.
    ///
    /// 32 and 33 are glibc's own signals, which it handles in every process with threads, and lets nobody set.
    @Test func aCommandIsAsWithoutUs() throws {
        try withStore { home, _ in
            let probe = """
                tr '\\0' '|' </proc/$$/cmdline; echo
                grep -E '^(SigBlk|Umask|PPid)' /proc/$$/status | sed "s/\\b$PPID$/parent/"
                ignored=$(sed -n 's/^SigIgn:.//p' /proc/$$/status)
                printf '%x\\n' $((0x$ignored & ~0x180000000))
                cd /proc/self/fd && for number in *; do test -e "$number" && echo "$number"; done
                test "$(ps -o pgid= -p $$)" -eq "$PPID" && echo same group
                env -u C -u _ | sort | sed 's/=.*//'
                """
            try home.write(probe, to: "probe.sh")
            func run(_ prefix: String) throws -> String {
                let script = """
                    trap '' QUIT HUP PIPE USR1
                    exec 7</dev/null
                    \(prefix) sh probe.sh $'a\\xff\\xfe' '' ' b'; exit $?
                    """
                let done = try home.run(["bash", "-c", script])
                #expect(done.exitCode == 0 && done.errors.isEmpty, "\(done)")
                return String(decoding: done.standardOutput.map { $0 < 128 ? $0 : 63 }, as: UTF8.self)
            }
            let plain = try run("")
            #expect(plain.contains("sh|probe.sh|a??|| b|"), "\(plain)")
            #expect(plain.contains("same group"), "\(plain)")
            let ours = try run("passdir run --env C=passdir://work/db#first --")
            #expect(ours == plain, "\(ours)\nand without us\n\(plain)")
        }
    }

    /// Holds:
    /// - A signal reaches the command itself and ends it; its arguments and the disk have nothing of the values.
    /// - `passdir run` leaves the values in the command's environment only: not in arguments, files or the log.
    @Test(.slow, arguments: [SIGTERM, SIGINT]) func aSignalEndsTheCommand(number: Int32) throws {
        try withStore { home, marker in
            try home.write("A=\"passdir://work/db\"\n", to: "a.env")
            let program = try home.start([
                "passdir", "run", "--env-file", "a.env", "--env", "B=passdir://work/db#first", "--", "sh",
                "-c",
                "touch ready; exec sleep 60",
            ])
            try home.waitUntil("the command runs") { FileCalls.exists(home.path("ready")) }
            try home.waitUntil("sleep runs") {
                try FileCalls.read(FilePath("/proc/\(program.pid)/cmdline"))
                    == Array("sleep\u{0}60\u{0}".utf8)
            }
            // That is where the values are, and only the same user reads it.
            let variables = try FileCalls.read(FilePath("/proc/\(program.pid)/environ"))
            #expect(String(decoding: variables, as: UTF8.self).contains("\u{0}B=\(marker)"))
            #expect(try home.run(["grep", "-a", "-r", "-l", "-F", marker, home.folder.string]).output == "")
            #expect(try home.run(["ps", "-ww", "-eo", "args"]).output.contains(marker) == false)
            program.signal(number)
            #expect(try program.wait().exitCode == 128 + number)
        }
    }

    /// Holds:
    /// - The terminal is the command's: its size, its input, Ctrl-C, and stopping it from a shell.
    @Test func theTerminalIsTheCommands() throws {
        try withStore { home, _ in
            let run = "passdir run --env A=passdir://work/db#user --"
            let words = run.split(separator: " ").map(String.init)
            let typed = try home.onTerminal(
                words + ["sh", "-c", "test -t 0 && stty rows 33 cols 77; stty size; read x; echo got $x $A"],
                [TerminalStep(at: "33 77", type: "text\n")])
            #expect(typed.exitCode == 0 && typed.output.contains("got text me"), "\(typed)")
            let broken = try home.onTerminal(
                words + ["sh", "-c", "echo ready; exec sleep 60"],
                [TerminalStep(at: "ready", type: "\u{3}")])
            #expect(broken.exitCode == 128 + SIGINT, "\(broken)")
            let stopped = try home.onTerminal(
                ["bash", "--norc", "-i"],
                [
                    TerminalStep(
                        at: "bash-", type: "PS1='> '; \(run) sh -c 'echo rea\"\"dy; sed -u s/^/got:/'\n"),
                    // Once it reads: a key that comes while the shell hands the terminal over is lost.
                    TerminalStep(at: "ready", type: "one\n"), TerminalStep(at: "got:one", type: "\u{1A}"),
                    // What is typed once more, and comes late, is another line to the command, and does no harm.
                    TerminalStep(at: "> ", type: "jobs\n", insists: true),
                    // At the prompt: what is typed before is in the queue without an echo when sed goes on.
                    TerminalStep(at: "Stopped", type: ""),
                    TerminalStep(at: "> ", type: "fg\n", insists: true),
                    TerminalStep(at: "fg\r\n", type: ""),
                    TerminalStep(at: "got:/'", type: "back\n"),
                    // A key that the prompt lost may come first.
                    TerminalStep(at: "got:", type: "\u{4}"),
                    TerminalStep(at: "> ", type: "exit 5\n", insists: true),
                ])
            #expect(stopped.exitCode == 5, "\(stopped)")
        }
    }

    /// Holds:
    /// - A full-screen program has the terminal, and hears of its size.
    @Test func aFullScreenProgramWorks() throws {
        try withStore { home, _ in
            let done = try home.onTerminal(
                [
                    "passdir", "run", "--env", "A=passdir://work/db#user", "--", "sh", "-c",
                    "stty rows 24 cols 80; tty > terminal; exec vim -u NONE -i NONE -n made",
                ],
                [
                    // The last line of the text, before and after the terminal has grown.
                    TerminalStep(
                        at: "\u{1B}[23;1H~", run: "stty -F \"$(cat terminal)\" rows 31 cols 91", type: ""),
                    TerminalStep(at: "\u{1B}[30;1H~", type: "i\u{12}=$A\r\u{1B}:wq\r"),
                ], extra: ["TERM": "xterm"])
            #expect(done.exitCode == 0, "\(done)")
            #expect(try FileCalls.read(home.path("made")) == Array("me\n".utf8))
        }
    }

    /// Holds:
    /// - Where a reference has no value, nothing is run; what cannot be run is said as a shell says it, with its status.
    @Test(.slow) func nothingIsRunHalfway() throws {
        try withStore { home, marker in
            try home.write("A=1\nB=passdir://work/none\n", to: "none.env")
            try home.write("A=1\nB='\(marker)\n", to: "open.env")
            let big = String(repeating: "x", count: 200_000)
            try home.write("A=\(big)\n", to: "big.env")
            let fine = "A=passdir://work/db#first"
            for (words, status, said) in [
                (
                    ["--env-file", "none.env", "--", "touch", "ran"], 1 as Int32,
                    "none.env: there is no value for passdir://work/none in line 2: there is no secret \"none\""
                ),
                (
                    ["--env-file", "open.env", "--", "touch", "ran"], 1,
                    "line 2 has a quote that is never closed"
                ),
                (["--env", "A=passdir://work/db#x", "--", "touch", "ran"], 1, "work/db has no field \"x\""),
                (
                    ["--env", "A=passdir://work/counted?otp", "--", "touch", "ran"], 1,
                    "passdir otp work/counted"
                ),
                (["--env", "A=word", "--", "touch", "ran"], 64, "the value of A is no reference"),
                (
                    ["--env", fine, "--", "no-such-command"], 127,
                    "passdir: no-such-command: command not found"
                ),
                (["--env", fine, "--", "./none"], 127, "passdir: ./none: No such file or directory"),
                (["--env", fine, "--", "./none.env"], 126, "passdir: ./none.env: Permission denied"),
                (["--env-file", "big.env", "--", "touch", "ran"], 126, "passdir: touch: its arguments and"),
                (["--env", fine], 64, "name the command behind '--'"),
            ] {
                let done = try home.run(["passdir", "run"] + words)
                #expect(done.exitCode == status && done.output.isEmpty, "\(words): \(done)")
                #expect(done.errors.contains(said) && !done.errors.contains(marker), "\(words): \(done)")
                #expect(status == 64 || done.errors.filter(\.isNewline).count == 1, "\(words): \(done)")
            }
            #expect(!FileCalls.exists(home.path("ran")))
        }
    }

    /// Holds:
    /// - The files of `passdir run --files` are in `run/ID` until the command has ended, and are judged for the program that
    ///   opens them.
    @Test func valuesAreInFilesOfTheMount() throws {
        try withStore { home, marker in
            let words = [
                "run", "--files", "--env", "A=passdir://work/db#first", "--env", "B=passdir://work/db",
            ]
            let unmounted = try home.run(["passdir"] + words + ["--", "touch", "ran"])
            #expect(
                unmounted.exitCode == 1
                    && unmounted.errors
                        == "passdir: --files needs the mount, and nothing is mounted: passdir mount\n",
                "\(unmounted)")
            try home.mount()
            // What executes something else is the same command; a child of its own reads, too.
            let script = """
                cat "$A"; echo "|$(ls "${A%/*}" | tr '\n' ' ')|"; tail -n 1 "$B"; echo "$LITERAL"
                stat -c %a "$A"; tr '\\0' '\\n' </proc/$$/environ | grep -c "$MARKER"; echo "$A" >path
                exec bash -c 'cat "$A" >/dev/null && echo again; exit 5'
                """
            try home.write("LITERAL=word\n", to: "a.env")
            let done = try home.run(
                ["passdir"] + words + [
                    "--env-file", "a.env", "--", "env", "MARKER=^[AB]=.*\(marker)", "bash", "-c", script,
                ])
            let first = "\(marker) $HOME passdir://work/db#user"
            #expect(done.output == "\(first)|A B |\nuser: me\nword\n400\n0\nagain\n", "\(done)")
            #expect(done.exitCode == 5)
            let path = try home.text(of: "path").dropLast()
            #expect(path.hasPrefix(home.visible(".passdir/run/").string))
            #expect(!FileCalls.exists(FilePath(String(path))))
            #expect(!FileCalls.exists(FilePath(String(path)).removingLastComponent()))
            #expect(try home.succeed(["ls", "mnt/.passdir/run"]).isEmpty)

            let missing = try home.passdir(
                "run", "--files", "--env", "A=passdir://work/no", "--", "touch", "ran")
            #expect(missing.exitCode == 1)
            #expect(
                missing.errors.contains("there is no value for passdir://work/no: there is no secret"),
                "\(missing)")
            try home.write("A=\"x passdir://work/db\"\n", to: "b.env")
            let mixed = try home.passdir("run", "--files", "--env-file", "b.env", "--", "touch", "ran")
            #expect(
                mixed.exitCode == 1 && mixed.errors.contains("must be a reference and nothing else"),
                "\(mixed)")
            #expect(!FileCalls.exists(home.path("ran")))

            // Who opens the file is judged, not who ran passdir.
            try home.succeed(["cp", "/bin/cat", "denied"])
            try home.succeed(["passdir", "access", "set", "work", "--deny", home.path("denied").string])
            let judged = try home.run(
                [
                    "passdir", "run", "--files", "--env", "A=passdir://work/db#user", "--", "bash", "-c",
                    "./denied $A; cat $A",
                ])
            #expect(judged.output == "me" && judged.errors.contains("Permission denied"), "\(judged)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - `unmount` refuses while a command of `passdir run --files` runs, and names it; its files stay.
    @Test func theFilesOfACommandKeepTheMount() throws {
        try withStore { home, marker in
            try home.mount()
            let words = ["run", "--files", "--env", "A=passdir://work/db#first", "--", "bash", "-c"]
            try home.succeed(["mkfifo", "go"])
            let command = try home.start(
                ["passdir"] + words + [": >ready; read -r _ <go; cat $A"])
            try home.waitUntil("the command runs") { FileCalls.exists(home.path("ready")) }
            let refused = try home.passdir("unmount")
            #expect(
                refused.exitCode == 1
                    && refused.errors.contains("is in use by commands of passdir run --files")
                    && refused.errors.contains(" bash: has files of passdir run --files"), "\(refused)")
            #expect(try home.passdir("status", "--json").output.contains("\"filesFor\":["))
            try home.succeed(["sh", "-c", "echo >go"])
            let done = try command.wait(limit: .seconds(60))
            #expect(done.exitCode == 0 && done.output.hasPrefix(marker), "\(done)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - A secret is read once for all references that lead to it.
    @Test func aSecretIsReadOnce() throws {
        try withStore { home, _ in
            func reads(_ words: [String]) throws -> Int {
                try home.succeed(
                    ["strace", "-f", "-o", "trace", "-e", "trace=openat,openat2", "passdir", "run"] + words
                        + [
                            "--", "true",
                        ])
                let trace = String(decoding: try FileCalls.read(home.path("trace")), as: UTF8.self)
                return trace.split(separator: "\n").count {
                    $0.contains("db.gpg\"") && $0.contains("O_RDONLY")
                }
            }
            let one = try reads(["--env", "A=passdir://work/db"])
            #expect(one > 0)
            try home.write(
                "A=passdir://work/db#first passdir://work/db\nB=passdir://work/db#user\n", to: "a.env")
            #expect(try reads(["--env-file", "a.env", "--env", "C=passdir://work/db"]) == one)
        }
    }
}
