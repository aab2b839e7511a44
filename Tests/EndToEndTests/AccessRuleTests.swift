import Foundation
import Glibc
import SystemPackage
import TestKit
import Testing

/// Who may read, with real programs.
@Suite struct AccessRuleTests {
    /// A mounted store with a secret, and the ways to it; the mount is gone at the end.
    private func withMount(
        _ secrets: [String: String] = ["aws/key": "MARK\n"], settings: [String: String] = [:],
        _ body: (TestHome) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            for (path, text) in secrets.sorted(by: { $0.key < $1.key }) { try store.insert(path, text) }
            try home.addStores([store])
            try home.configure(settings)
            try home.mount()
            try body(home)
            try home.unmount()
        }
    }

    private func set(_ home: TestHome, _ words: String...) throws {
        try home.succeed(["passdir", "access", "set"] + words)
    }

    /// The hierarchy of cgroups in which systemd makes its units; nil where this user may make none in it.
    private static let unitHierarchy: FilePath? = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first {
        access("\($0)/cgroup.procs", W_OK) == 0
    }.map { FilePath($0) }

    /// A scope as `systemd-run --user --scope` makes one: what runs in it is known whatever it lets go of.
    @Test(.slow, .enabled(if: unitHierarchy != nil)) func aScopeOfSystemdIsKnown() throws {
        let scope = try #require(Self.unitHierarchy).appending("app-agent-\(getpid()).scope")
        try #require(mkdir(scope.string, 0o755) == 0)
        defer { rmdir(scope.string) }
        try withMount { home in
            let secret = home.visible("work/aws/key").string
            func reads(_ rule: String...) throws -> Bool {
                try home.succeed(["passdir", "access", "set", "work"] + rule)
                let enter = "echo $$ >\(scope)/cgroup.procs; exec setsid --wait nohup cat \(secret)"
                let outcome = try home.run(["sh", "-c", enter])
                #expect(try home.run(["cat", secret]).exitCode == 0)
                try home.succeed(["passdir", "access", "unset", "work"])
                return outcome.exitCode == 0
            }
            #expect(try !reads("--unit", "app-agent*", "--deny"))
            #expect(try !reads("--deny-under", "agent"))
            #expect(try reads("--deny-under", "another"))
            let log = try home.passdir("access", "log").output
            #expect(log.contains("\(scope.lastComponent?.string ?? "")"), "\(log)")
        }
    }

    /// Holds:
    /// - What runs below a program that the rules deny reads neither by an open of its own, a mapping, a copy or a rename, nor by a
    ///   descriptor of the folder, another session or a namespace of its own; looking goes on.
    @Test(.slow) func nothingBelowADeniedProgramReads() throws {
        try withMount { home in
            let folder = home.visible("work/aws").string
            let secret = "\(folder)/key"
            // A program of its own: a copy of bash.
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try set(home, "work/aws", "--deny-under", "agent")
            let python = """
                import mmap, os, shutil, sys
                way, path = sys.argv[1:]
                def out(b): sys.stdout.buffer.write(b)
                if way == "read": out(open(path, "rb").read())
                if way == "mmap":
                    f = open(path, "rb"); out(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])
                if way == "readwrite": out(os.read(os.open(path, os.O_RDWR), 99))
                if way == "sendfile":
                    f = os.open(path, os.O_RDONLY); os.sendfile(os.memfd_create("m"), f, 0, 99); out(b"MARK")
                if way == "path": out(open("/proc/self/fd/%d" % os.open(path, os.O_PATH), "rb").read())
                if way == "folder":
                    d = os.open(os.path.dirname(path), os.O_RDONLY); out(os.read(os.open("key", os.O_RDONLY, dir_fd=d), 99))
                if way == "thread":
                    import threading
                    t = threading.Thread(target=lambda: out(open(path, "rb").read())); t.start(); t.join()
                if way == "fork":
                    if os.fork() == 0:
                        if os.fork() == 0: out(open(path, "rb").read()); sys.stdout.flush()
                        os._exit(0)
                    os.wait(); import time; time.sleep(0.3); sys.stderr.write("forked")
                if way == "uring":
                    # One entry: IORING_OP_OPENAT; io_uring_setup(2), io_uring_enter(2).
                    import ctypes, struct
                    libc = ctypes.CDLL(None, use_errno=True)
                    setup = bytearray(120)
                    ring = libc.syscall(425, 1, (ctypes.c_char * 120).from_buffer(setup))
                    if ring < 0: sys.exit("no io_uring: " + os.strerror(ctypes.get_errno()))
                    tail, index, entry = (struct.unpack_from("I", setup, at)[0] for at in (44, 64, 100))
                    queue = mmap.mmap(ring, 4096, offset=0)
                    slots = mmap.mmap(ring, 4096, offset=0x10000000)
                    done = mmap.mmap(ring, 4096, offset=0x8000000)
                    name = ctypes.create_string_buffer(path.encode())
                    slots[:64] = struct.pack("BBHiQQIIQ24x", 18, 0, 0, -100, 0, ctypes.addressof(name), 0, os.O_RDONLY, 7)
                    struct.pack_into("I", queue, index, 0)
                    struct.pack_into("I", queue, tail, 1)
                    if libc.syscall(426, ring, 1, 1, 1, 0, 0) < 0: sys.exit("enter: " + os.strerror(ctypes.get_errno()))
                    result = struct.unpack_from("QiI", done, entry)
                    assert result[0] == 7, result
                    if result[1] < 0: sys.exit("refused: " + os.strerror(-result[1]))
                    out(os.read(result[1], 99))
                """
            try home.write(python, to: "ways.py")
            let script = home.path("ways.py").string
            let ways =
                [
                    "cat '\(secret)'", "cp '\(secret)' copy && cat copy", "sh -c \"cat '\(secret)'\"",
                    "grep -r . '\(folder)'",
                    "mv '\(secret)' '\(home.visible("work/other").string)' && cat '\(home.visible("work/other").string)'",
                    "mv '\(folder)' '\(home.visible("work/free").string)' && cat '\(home.visible("work/free").string)/key'",
                    "nohup cat '\(secret)'", "(setsid --wait cat '\(secret)')",
                    // The parent is gone, its process group is not.
                    "(sh -c \"sleep 0.1; cat '\(secret)' > orphan\" & ) ; sleep 0.6; cat orphan",
                    "exec 9< '\(folder)'; sh -c 'cat /proc/self/fd/9/key'",
                    "unshare -Ur --fork --pid --mount-proc cat '\(secret)'",
                    "passdir restore work/aws/key --at HEAD --show",
                    "(sh -c \"sleep 0.1; exec passdir restore work/aws/key --at HEAD --show > shown\" & ) ; sleep 1.5; cat shown; cat '\(secret)'",
                ]
                + ["read", "mmap", "readwrite", "sendfile", "path", "folder", "thread", "fork", "uring"].map {
                    "python3 '\(script)' \($0) '\(secret)'"
                }
            for way in ways {
                let tried = try home.run([agent, "-c", way + "; true"])
                #expect(!tried.output.contains("MARK"), "\(way): \(tried)")
                #expect(!tried.errors.isEmpty, "\(way): \(tried)")
            }
            let vim = "vim -u NONE -es -c '%print' -c 'q!' '\(secret)' </dev/null"
            #expect(try home.run(["sh", "-c", vim]).output.contains("MARK"))
            #expect(try !home.run([agent, "-c", vim + "; true"]).output.contains("MARK"))
            let ring = try home.run(["python3", script, "uring", secret])
            #expect(ring.output == "MARK\n" || ring.errors.contains("no io_uring"), "\(ring)")
            // What gets through, as docs/security.md says.
            let through = [
                "exec cat '\(secret)'",
                "(setsid sh -c \"sleep 0.1; cat '\(secret)' > far\" & ); sleep 0.6; cat far",
            ]
            for way in through {
                #expect(try home.run([agent, "-c", way]).output == "MARK\n", "\(way)")
            }
            let looked = try home.run([
                agent, "-c",
                "ls -l '\(folder)'; stat '\(secret)'; echo new > '\(home.visible("work/new").string)'",
            ])
            #expect(looked.exitCode == 0 && looked.output.contains("key"), "\(looked)")
            #expect(try home.succeed(["cat", secret]) == Array("MARK\n".utf8))
            // What was read by others is in memory now, and yet not the agent's.
            #expect(try home.run([agent, "-c", "cat '\(secret)'; true"]).output == "")

            let log = try home.passdir("access", "log", "--json").output
            #expect(
                log.contains("\"outcome\":\"denied\"") && log.contains("\"program\":\"\(agent)\""), "\(log)")
            #expect(log.contains("\"outcome\":\"allowed\""), "\(log)")
            #expect(!log.contains("MARK"))
        }
    }

    /// A rule for one secret holds for the second version that a conflict leaves beside it; and who may not read makes no file
    /// that it can read what others save to.
    @Test(.slow) func neitherAConflictNorANewFileIsAWayIn() throws {
        try withMount { home in
            let key = home.visible("work/aws/key").string
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try set(home, "work/aws/key", "--deny-under", "agent")
            let second = key + ".conflict-host-20261125T200000Z"
            try home.succeed(["cp", key, second])
            #expect(try home.run(["cat", second]).output == "MARK\n")
            let read = try home.run([agent, "-c", "cat '\(second)'; true"])
            #expect(read.output == "" && read.errors.contains("Permission denied"), "\(read)")
            let moved = try home.run([agent, "-c", "mv '\(second)' '\(key).x'; cat '\(key).x'; true"])
            #expect(moved.output == "", "\(moved)")
            // As a command shows it, and as the rules are tested.
            let typed = "work/aws/key.conflict-host-20261125T200000Z"
            try home.waitUntil("it is in the history") {
                try home.passdir("log", typed).output.contains("key.conflict-host")
            }
            let show = ["passdir", "restore", typed, "--at", "HEAD", "--show"]
            #expect(try home.run(show).output == "MARK\n")
            let shown = try home.run([agent, "-c", show.joined(separator: " ") + "; true"])
            #expect(shown.output == "" && shown.errors.contains("the access rules refuse"), "\(shown)")
            let tested = try home.passdir("access", "test", typed, "--as", "cat", "--under", "agent")
            #expect(
                tested.exitCode == 1 && tested.output.contains("a version of work/aws/key: by the rule"),
                "\(tested)")

            try set(home, "work", "--deny-under", "agent")
            let new = home.visible("work/new").string
            #expect(try home.run([agent, "-c", "exec 3<>'\(new)'"]).errors.contains("Permission denied"))
            #expect(access(new, F_OK) != 0)
            try home.succeed([agent, "-c", "echo text > '\(new)'"])
            #expect(try home.run(["cat", new]).output == "text\n")
        }
    }

    /// What a program has open does not take the place of what it may not read: others would save to it, and it would read that.
    @Test func whatIsOpenIsNotPutWhereItMayNotBeRead() throws {
        try withMount { home in
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try set(home, "work/aws", "--deny-under", "agent")
            let program = """
                import os, sys
                way, here, there = sys.argv[1:]
                os.makedirs(here + "/sub")
                with open(here + "/sub/key", "w") as file: file.write("mine")
                held = os.open(here + "/sub/key", os.O_RDONLY) if way != "closed" else None
                pair = (here + "/sub", there + "/sub") if way == "folder" else (here + "/sub/key", there + "/key")
                try: os.rename(*pair)
                except OSError as error: print(error.errno)
                else: print("renamed")
                """
            for (way, expected) in [("file", "18\n"), ("folder", "18\n"), ("closed", "renamed\n")] {
                let tried = try home.run([
                    agent, "-c", "python3 -c '\(program)' \(way) \"$0\" \"$1\"; true",
                    home.visible("work/\(way)").string, home.visible("work/aws").string,
                ])
                #expect(tried.output == expected, "\(way): \(tried)")
            }
            let key = home.visible("work/aws/key").string
            #expect(try home.run(["cat", key]).output == "mine")
        }
    }

    /// Holds:
    /// - What a program has open is not renamed, by anybody, to where other rules of who may read hold: its descriptor would read what
    ///   others save there.
    @Test func whatIsOpenKeepsItsRules() throws {
        try withMount(["aws/key": "MARK\n", "free/text": "text\n"]) { home in
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try set(home, "work/aws", "--deny-under", "agent")
            let (free, aws) = (home.visible("work/free").string, home.visible("work/aws").string)
            let holding = """
                exec 3< "$0"; echo > opened; while [ ! -e go ]; do sleep 0.02; done; cat <&3
                """
            let holder = try home.start([agent, "-c", holding, "\(free)/text"])
            try home.waitUntil("it is open") { access(home.path("opened").string, F_OK) == 0 }
            let rename = "import os, sys; os.rename(sys.argv[1], sys.argv[2])"
            for (from, to) in [
                ("\(free)/text", "\(aws)/text"), ("\(free)/text", "\(aws)/key"), (free, "\(aws)/free"),
            ] {
                let tried = try home.run(["python3", "-c", rename, from, to])
                #expect(tried.exitCode != 0 && tried.errors.contains("Errno 18"), "\(from): \(tried)")
            }
            // mv copies, and the descriptor stays with what it was opened for.
            try home.succeed(["mv", "\(free)/text", "\(aws)/text"])
            try home.succeed(["sh", "-c", "echo MARK > '\(aws)/text'"])
            try home.write("", to: "go")
            let read = try holder.wait(limit: .seconds(20))
            #expect(!read.output.contains("MARK"), "\(read)")
            // Where the same rules hold, what is open is renamed.
            let renaming = """
                import os, sys
                file = open(sys.argv[1]); os.rename(sys.argv[1], sys.argv[2]); print(file.read())
                """
            #expect(
                try home.run(["python3", "-c", renaming, "\(aws)/text", "\(aws)/other"]).output.contains(
                    "MARK"))
        }
    }

    /// A secret that is kept in memory, and by which place it was judged, is judged by the name and the rules of now.
    @Test func whatIsKeptIsJudgedByItsNameOfNow() throws {
        try withMount(["aws/key": "MARK\n", "free/text": "text\n"]) { home in
            let work = home.visible("work").string
            try set(home, "work/aws", "--deny-under", "cat")
            func expect(_ path: String, isRead: Bool) throws {
                // The second open is of what is kept, and so is the one of a program that may.
                for _ in 0..<2 {
                    let tried = try home.run(["cat", "\(work)/\(path)"])
                    #expect(tried.output == (isRead ? "text\n" : ""), "\(path): \(tried)")
                }
                #expect(try home.run(["head", "\(work)/\(path)"]).output == "text\n")
            }
            try expect("free/text", isRead: true)
            try home.succeed(["mv", "\(work)/free/text", "\(work)/aws/text"])
            try expect("aws/text", isRead: false)
            try home.succeed(["mv", "\(work)/aws/text", "\(work)/free/text"])
            try expect("free/text", isRead: true)
            try home.succeed(["mv", "\(work)/free", "\(work)/aws/sub"])
            try expect("aws/sub/text", isRead: false)
            try home.succeed(["mv", "\(work)/aws/sub", "\(work)/free"])
            try expect("free/text", isRead: true)
            try set(home, "work/free", "--deny-under", "cat")
            try expect("free/text", isRead: false)
            try home.succeed(["passdir", "access", "unset", "work/free"])
            try expect("free/text", isRead: true)
        }
    }

    /// Holds:
    /// - A rule that allows a program lets in the file at its path only, whatever a process calls itself.
    @Test(.slow) func aProgramIsTheFileThatItRuns() throws {
        try withMount { home in
            let secret = home.visible("work/aws/key").string
            let tool = home.path("tool").string
            try home.succeed(["cp", "/bin/cat", tool])
            try set(home, "work", "--deny")
            try set(home, "work", "--allow", tool)
            #expect(try home.succeed([tool, secret]) == Array("MARK\n".utf8))
            // Another program under its name, by a link, and as a script.
            for way in [
                "cat '\(secret)'", "exec -a '\(tool)' cat '\(secret)'",
                "bash -c 'read x < \(secret); echo $x'",
            ] {
                let tried = try home.run(["bash", "-c", way])
                #expect(
                    !tried.output.contains("MARK") && tried.errors.contains("Permission denied"),
                    "\(way): \(tried)")
            }
            try home.succeed(["ln", "-s", tool, home.path("link").string])
            #expect(try home.succeed([home.path("link").string, secret]) == Array("MARK\n".utf8))
            // Replaced while it runs: what runs is no longer what lies there.
            let replaced = """
                exec 3< <(sleep 0.5; echo '\(secret)'); '\(tool)' /dev/fd/3 > /dev/null
                cp '\(tool)' new; mkfifo gate
                ( '\(tool)' gate '\(secret)' ) > out 2> err & sleep 0.3; mv new '\(tool)'; echo go > gate; wait
                cat out err
                """
            let tried = try home.run(["bash", "-c", replaced])
            #expect(!tried.output.contains("MARK") && tried.output.contains("Permission denied"), "\(tried)")
            #expect(try home.succeed([tool, secret]) == Array("MARK\n".utf8))
            // A mount namespace in which another program has that path.
            let other = try home.run([
                "unshare", "-Urm", "sh", "-c", "mount --bind /bin/head '\(tool)' && '\(tool)' '\(secret)'",
            ])
            #expect(!other.output.contains("MARK") && !other.errors.isEmpty, "\(other)")
            // A user namespace of its own, where a program may say itself which file it runs.
            let claimed = try home.run(["unshare", "-Ur", tool, secret])
            #expect(!claimed.output.contains("MARK") && !claimed.errors.isEmpty, "\(claimed)")
            let log = try home.passdir("access", "log", "--program", "tool").output
            #expect(log.contains("(uncertain)") && log.contains("allowed"), "\(log)")
        }
    }

    /// What was removed while it is open may have been under any rule of its store, where that has some.
    @Test func whatWasRemovedIsReadWhereNoRulesAre() throws {
        try withMount { home in
            let key = try home.makeKey("b@example.org")
            let free = try home.makeStore("free", recipients: [key])
            try home.addStores([free])
            for name in ["free/text", "work/text"] {
                try home.succeed(["sh", "-c", "echo MARK > mnt/\(name)"])
            }
            try set(home, "work/aws", "--deny")
            func readAgain(_ name: String) throws -> String {
                try home.run(["bash", "-c", "exec 3< mnt/\(name); rm mnt/\(name); cat /dev/fd/3"]).output
            }
            #expect(try readAgain("free/text") == "MARK\n")
            #expect(try readAgain("work/text") == "")
            let log = try home.passdir("access", "log").output.split(separator: "\n")
            #expect(log.contains { $0.contains("denied") && $0.contains(" work ") }, "\(log)")
            #expect(log.contains { $0.contains("allowed") && $0.contains(" free ") }, "\(log)")
        }
    }

    /// Holds:
    /// - A rule that cannot be read changes nothing, and is told.
    @Test func aBrokenRuleKeepsTheOldOnes() throws {
        try withMount { home in
            let secret = home.visible("work/aws/key").string
            try set(home, "work", "--deny", "/bin/cat")
            #expect(try home.run(["cat", secret]).exitCode == 1)
            let file = home.path("config/passdir/config")
            let good = try home.text(of: "config/passdir/config")
            try home.write(good.replacing("deny = ", with: "deny = nobody "), to: "config/passdir/config")
            try home.waitUntil("the broken rule is told") {
                try home.passdir("status").output.contains("cannot be read")
            }
            #expect(try home.run(["cat", secret]).exitCode == 1)
            #expect(try home.run(["head", secret]).output == "MARK\n")
            #expect(try home.passdir("status", "--json").output.contains("the rule 'deny nobody"))
            let shown = try home.passdir("access")
            #expect(
                shown.exitCode == 1 && shown.output.contains("older rules")
                    && shown.output.contains("deny /usr/bin/cat"), "\(shown)")
            #expect(
                try home.passdir("access", "test", "work/aws/key", "--as", "cat").errors.contains("\(file):"))
            // One that is new would not be in force.
            let broken = try home.text(of: "config/passdir/config")
            let refused = try home.run(["passdir", "access", "set", "work/aws", "--deny"])
            #expect(
                refused.exitCode == 1 && refused.errors.contains("the rule 'deny nobody")
                    && refused.errors.split(separator: "\n").count == 1, "\(refused)")
            #expect(try home.text(of: "config/passdir/config") == broken)
            try home.succeed(["passdir", "access", "unset", "work"])
            #expect(try home.run(["cat", secret]).output == "MARK\n")
            #expect(try home.passdir("access").output.hasPrefix("no rules"))
        }
    }

    /// The commands show what holds.
    @Test(.slow) func rulesAreSetShownTestedAndFollowARename() throws {
        try withMount { home in
            try set(home, "work/aws", "--ask")
            try set(home, "work/aws", "cat", "--allow", "--when", "terminal")
            try set(home, "work", "--deny-under", "claude,codex")
            let rules = try home.passdir("access").output
            #expect(
                rules.contains("1  work/aws  allow /")
                    && rules.contains("2  work/aws  ask\n3  work  deny under claude,codex"), "\(rules)")
            func test(_ words: String...) throws -> String {
                try home.run(["passdir", "access", "test"] + words).output
            }
            #expect(try test("work/aws/key", "--as", "cat").hasPrefix("allow"))
            #expect(try test("work/aws/key", "--as", "cat", "--when", "none").hasPrefix("ask"))
            #expect(try test("work/other", "--as", "cat", "--under", "sh,claude").hasPrefix("deny"))
            #expect(try test("work/other", "--as", "cat", "--json").contains("\"outcome\":\"allow\""))
            let script = try home.run([
                "passdir", "access", "set", "work", "--allow", home.path("script").string,
            ])
            #expect(script.exitCode == 1)
            try home.write("#!/bin/sh\n", to: "script", mode: [.ownerReadWriteExecute])
            let refused = try home.run([
                "passdir", "access", "set", "work", "--allow", home.path("script").string,
            ])
            #expect(
                refused.errors.contains("is a script") && refused.errors.contains("/bin/sh"), "\(refused)")
            // A rule that never fits protects nothing.
            for (outcome, way) in [("--deny", "--deny-under script"), ("--ask", "--ask --under script")] {
                let refused = try home.run([
                    "passdir", "access", "set", "work", outcome, home.path("script").string,
                ])
                #expect(
                    refused.exitCode == 1 && refused.errors.contains("is a script")
                        && refused.errors.contains(way), "\(refused)")
            }
            #expect(try home.passdir("access").output == rules)
            // What is not there yet may be denied.
            try set(home, "work", "/usr/bin/not-installed", "--deny")
            try home.succeed(["passdir", "access", "unset", "work", "/usr/bin/not-installed"])
            let own = try home.run(["passdir", "access", "set", "work", "passdir", "--deny"])
            #expect(own.exitCode == 0 && own.errors.contains("judged as what started it"), "\(own)")
            try home.succeed(["passdir", "access", "unset", "work", "passdir"])
            try home.succeed(["passdir", "store", "rename", "work", "job"])
            #expect(try home.passdir("access").output.contains("job/aws  ask"))
        }
    }

    /// A rule is for a name: whoever takes the name away is told, and a place that protects nothing is marked.
    @Test(.slow) func rulesThatStayBehindAreTold() throws {
        try withMount { home in
            try set(home, "work/aws", "--deny-under", "agent")
            try set(home, "work/aws/key", "--deny-under", "agent")
            let moved = try home.run(["passdir", "mv", "work/aws", "work/cloud"])
            #expect(
                moved.exitCode == 0
                    && moved.errors.contains("the access rules of work/aws stay with that name")
                    && moved.errors.contains("work/cloud"), "\(moved)")
            let rules = try home.passdir("access").output
            #expect(rules.contains("work/aws/key  deny under agent  (does not exist)"), "\(rules)")
            #expect(rules.contains("work/aws  deny under agent  (does not exist)"), "\(rules)")
            let silent = try home.run(["passdir", "mv", "work/cloud/key", "work/cloud/key2"])
            #expect(!silent.errors.contains("access rules"), "\(silent)")
            // A link's target has a name of its own.
            try home.succeed(["ln", "-s", "cloud", home.visible("work/desk").string])
            for words in [["set", "work/desk", "--deny"], ["test", "work/desk", "--as", "cat"]] {
                let link = try home.run(["passdir", "access"] + words)
                #expect(link.exitCode == 1 && link.errors.contains("is a symbolic link"), "\(link)")
            }
        }
    }

    /// A name that a script gives itself never allows: no rule is set that could never fit, and `test` says none fits.
    @Test(.slow) func aScriptAllowsNothingBelowIt() throws {
        try withMount { home in
            let script = home.path("agent").string
            try home.write("#!/bin/bash -e\n\"$@\"; true\n", to: "agent", mode: [.ownerReadWriteExecute])
            let before = try home.passdir("access").output
            for under in [script, "/usr/bin/make,\(script)"] {
                let refused = try home.run(["passdir", "access", "set", "work", "--allow", "--under", under])
                #expect(
                    refused.exitCode == 1 && refused.errors.split(separator: "\n").count == 1
                        && refused.errors.contains("\(script) is a script")
                        && refused.errors.contains("interpreter, /bin/bash,"),
                    "\(refused)")
            }
            #expect(try home.passdir("access").output == before)
            try set(home, "work", "--deny")
            func test(_ words: String...) throws -> String {
                try home.run(["passdir", "access", "test", "work/aws/key"] + words).output
            }
            // As an edit of the file can say.
            try home.configure(["access.work/aws.allow": "under '\(script)'"])
            let secret = home.visible("work/aws/key").string
            try home.waitUntil("the edit is followed") {
                try home.passdir("access").output.contains("work/aws  allow under")
            }
            #expect(try home.run([script, "cat", secret]).exitCode != 0)
            #expect(try test("--as", "cat", "--under", script).hasPrefix("deny: "))
            try home.succeed(["passdir", "access", "unset", "work/aws"])
            // A rule that allows its interpreter fits, and one that denies the script does.
            try set(home, "work/aws", "--allow", "--under", "/usr/bin/bash")
            #expect(try home.run([script, "cat", secret]).exitCode == 0)
            #expect(try test("--as", "cat", "--under", script).hasPrefix("allow: "))
            try set(home, "work/aws", "--deny-under", "agent")
            #expect(try home.run([script, "cat", secret]).exitCode != 0)
            #expect(try test("--as", "cat", "--under", script).hasPrefix("deny: "))
            try home.succeed(["passdir", "access", "unset", "work/aws"])
            // The kernel knows no script.
            #expect(try test("--as", script).contains("bash reads work/aws/key"))
        }
    }

    /// A session of its own takes nobody out of the log whom the rule names, and leaves nobody without a starter.
    @Test(.slow) func theLogNamesWhoStartedASession() throws {
        try withMount(settings: ["access.log": "true"]) { home in
            let secret = home.visible("work/aws/key").string
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            func startedBy(_ command: String) throws -> [[String]] {
                let seen = try home.passdir("access", "log", "--json").output.split(separator: "\n").count
                _ = try home.run([agent, "-c", command])
                struct Line: Decodable { var startedBy: [String] }
                return try home.passdir("access", "log", "--json").output.split(separator: "\n").dropFirst(
                    seen
                )
                .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).startedBy }
            }
            let free = try startedBy("setsid -w cat '\(secret)'; true")
            #expect(free.count == 1 && free[0].first == agent, "\(free)")
            try set(home, "work", "--deny-under", "agent")
            for command in [
                "setsid -w cat '\(secret)'; true",
                "setsid -w sh -c \"setsid -w sh -c 'head \(secret); true'; true\"; true",
                "setsid -w sh -c \"sh -c 'sh -c \\\"setsid -w tail \(secret); true\\\"; true'; true\"; true",
            ] {
                let denied = try startedBy(command)
                #expect(denied.count == 1 && denied[0].contains(agent), "\(command): \(denied)")
            }
        }
    }

    /// A folder of its name beside a secret changes the name by which that is shown; the rules on it hold on.
    @Test func aFolderBesideASecretFreesItOfNoRule() throws {
        try withMount(["key": "MARK\n"]) { home in
            try set(home, "work/key", "--deny")
            try home.succeed(["mkdir", home.path("work/key").string])
            try home.succeed(["ls", home.visible("work").string])
            for name in ["key.gpg", "key"] {
                let outcome = try home.run(["cat", home.visible("work/\(name)").string])
                #expect(outcome.exitCode != 0 && !outcome.output.contains("MARK"), "\(name): \(outcome)")
            }
            let shown = home.visible("work/key.gpg").string
            #expect(try home.run(["cat", shown]).errors.contains("Permission denied"))
            let value = home.mountPoint.appending(".passdir").pushing("first/work/key.gpg").string
            #expect(try home.run(["cat", value]).errors.contains("Permission denied"))
            #expect(try home.passdir("show", "work/key.gpg").exitCode != 0)
        }
    }

    /// Step by step, too, nothing is moved to below a place whose own rules allow more.
    @Test func aFolderIsNotMovedToWhereADeeperRuleAllowsMore() throws {
        try withMount(["priv/sub/key": "MARK\n"]) { home in
            let resolved = try home.succeed(["readlink", "-f", "/usr/bin/python3"])
            let python = String(decoding: resolved.dropLast(), as: UTF8.self)
            try set(home, "work", "--deny", python)
            try set(home, "work/team/public", "--allow", python)
            let moves = """
                import os, sys
                top = sys.argv[1]
                for old, new in [("priv/sub", "priv/public"), ("priv", "team")]:
                    try: os.rename(f"{top}/{old}", f"{top}/{new}")
                    except OSError as error: print(error.errno)
                try: print(open(f"{top}/team/public/key").read())
                except OSError as error: print(type(error).__name__)
                """
            let told = String(
                decoding: try home.succeed([python, "-c", moves, home.visible("work").string]), as: UTF8.self)
            #expect(told.contains("18\n") && !told.contains("MARK"), "\(told)")
            let move =
                "import subprocess, sys; sys.exit(subprocess.call(['passdir', 'mv', 'work/priv', 'work/team']))"
            #expect(try home.run([python, "-c", move]).exitCode != 0)
        }
    }

    /// Without rules nothing is looked up and nothing is written.
    @Test func withoutRulesThereIsNoLog() throws {
        try withMount { home in
            try home.succeed(["cat", home.visible("work/aws/key").string])
            #expect(try home.passdir("access", "log").output == "nothing has been logged\n")
            #expect(!FileCalls.exists(home.path("state/passdir/access.sqlite")))
            try home.configure(["access.log": "true"])
            try home.waitUntil("reads are noted") {
                try home.succeed(["cat", home.visible("work/aws/key").string])
                return try home.passdir("access", "log").output.contains("work/aws/key")
            }
            let log = try home.passdir("access", "log", "work/aws", "--json").output
            #expect(log.contains("no rule") || log.contains("\"words\":[\"cat\""), "\(log)")
        }
    }
}
