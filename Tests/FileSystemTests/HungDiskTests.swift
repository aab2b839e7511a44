import Glibc
import SystemPackage
import TestKit
import Testing

/// A store on a disk that does not answer: bindfs shows its folder, and is stopped.
@Suite struct HungDiskTests {
    /// Looks for a file in the folder in which it was started, once it is told to.
    private static let looker = """
        : > "$1.started"
        while [ ! -e "$2" ]; do sleep 0.05; done
        : > "$1.looking"
        [ ! -e nothing ]
        """

    /// Many more than the mount has receivers, each in a folder of its own: the kernel looks up one name of a folder at a
    /// time.
    private static let lookers = 32

    /// Adds two stores, `hung` and `other`, and runs `body`, in which the disk of `hung` can be stopped, and goes on at the end.
    /// - Parameter folders: as many lie in `hung`.
    private func withDisk(folders: Int, _ body: (TestHome, Program) throws -> Void) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let hung = try home.makeStore("hung", recipients: [key])
            let other = try home.makeStore("other", recipients: [key])
            try hung.insert("one", "first\n")
            try other.insert("one", "first\n")
            let folder = home.path("disk")
            try home.succeed(["mkdir", folder.string])
            try home.succeed(["mkdir"] + (0..<folders).map { "hung/\($0)" })
            let disk = try home.start([
                "bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", hung.path.string, folder.string,
            ])
            // What a stopped process serves can neither be read nor unmounted.
            defer { disk.signal(SIGCONT) }
            try home.waitUntil("the disk is mounted") { home.mountPoints().contains(folder.string) }
            try home.succeed(["passdir", "store", "add", "hung", "--path", folder.string])
            try home.addStores([other])
            try body(home, disk)
            disk.signal(SIGCONT)
            if home.mountPoints().contains(home.mountPoint.string) { try home.unmount() }
            try home.succeed(["fusermount3", "-u", folder.string])
            #expect(try disk.wait(limit: .seconds(120)).exitCode == 0)
        }
    }

    /// Mounts, and waits for what is done in the background after a mount.
    private func mount(_ home: TestHome) throws {
        try home.mount()
        try home.succeed(["passdir", "sync"])
        try home.succeed(["passdir", "status"])
    }

    /// Mounts, and runs `body` while the disk of `hung` does not answer and programs wait for it.
    private func withHungDisk(_ body: (TestHome) throws -> Void) throws {
        try withDisk(folders: Self.lookers) { home, disk in
            try mount(home)
            let marks = (0..<Self.lookers).map { home.path("looker\($0)").string }
            let waiting = try (0..<Self.lookers).map { number in
                try home.start(
                    ["sh", "-c", Self.looker, "sh", marks[number], home.path("go").string],
                    in: home.mountPoint.pushing(FilePath("hung/\(number)")))
            }
            try home.waitUntil("the programs have started") {
                marks.allSatisfy { access($0 + ".started", F_OK) == 0 }
            }
            disk.signal(SIGSTOP)
            try home.write("", to: "go")
            try home.waitUntil("the programs look") {
                marks.allSatisfy { access($0 + ".looking", F_OK) == 0 }
            }
            for program in waiting { try home.waitUntilBlocked(program) }
            try body(home)
            for program in waiting { #expect(!program.hasEnded) }
            disk.signal(SIGCONT)
            for program in waiting { #expect(try program.wait().exitCode == 0) }
        }
    }

    /// More than the mount has threads, in a folder each: the kernel looks up one name of a folder at a time.
    private static let crowd = 600

    /// Mounts, and runs `body` while the disk of `hung` does not answer and hundreds ask for what lies on it.
    private func withCrowd(_ body: (TestHome) throws -> Void) throws {
        try withDisk(folders: Self.crowd) { home, disk in
            try mount(home)
            let mark = home.path("crowd").string
            let folders = (0..<Self.crowd).map { home.mountPoint.pushing(FilePath("hung/\($0)")).string }
            let crowd = try home.start(["python3", Programs.path("crowd.py"), mark] + folders)
            try home.waitUntil("the crowd has started", limit: .seconds(60)) {
                access(mark + ".started", F_OK) == 0
            }
            disk.signal(SIGSTOP)
            try home.write("", to: "crowd.go")
            try home.waitUntil("the crowd asks", limit: .seconds(60)) {
                try access(mark + ".asking", F_OK) == 0
                    && Self.waitingThreads(of: crowd, home) > Self.crowd / 2
            }
            try body(home)
            #expect(!crowd.hasEnded)
            disk.signal(SIGCONT)
            #expect(try crowd.wait(limit: .seconds(120)).exitCode == 0)
        }
    }

    /// How many threads wait in the kernel for a file system.
    private static func waitingThreads(of program: Program, _ home: TestHome) throws -> Int {
        let tasks = "/proc/\(program.pid)/task"
        return try String(decoding: home.succeed(["ls", tasks]), as: UTF8.self).split(separator: "\n").count {
            let place = SystemFile.text("\(tasks)/\($0)/wchan") ?? ""
            return place == "0" || place.contains("fuse") || place.contains("request_wait")
        }
    }

    @Test func aDiskThatDoesNotAnswerHoldsNobodyElseUp() throws {
        try withHungDisk { home in
            try home.workEveryday(in: "other", during: "disk")
        }
    }

    /// Holds:
    /// - However many programs wait for the disk of one store, those that use another do not wait for them.
    @Test(.slow) func hundredsWhoWaitForADiskHoldNobodyElseUp() throws {
        try withCrowd { home in
            try home.workEveryday(in: "other", during: "crowd")
            // Whoever has no turn yet can be ended.
            let late = try home.start(["stat", home.mountPoint.pushing("hung/one").string])
            try home.waitUntilBlocked(late)
            late.signal(SIGTERM)
            #expect(try late.wait(limit: .seconds(60)).timedOut == false)
        }
    }

    /// It says which store cannot be looked at and how that store was before, and of the other what there is to say.
    @Test(.slow) func statusDoesNotWaitForADiskThatDoesNotAnswer() throws {
        try withHungDisk { home in
            let first = try status(home)
            #expect(first.contains("its disk has not responded yet; this report is"))
            #expect(first.contains("main"), "the branch is known from before: \(first)")
            try home.waitUntil("the disk counts as one that does not answer") {
                try status(home).contains(
                    "its disk is not responding: reads and saves wait until it does")
            }
        }
    }

    /// The others are synced meanwhile.
    @Test(.slow) func syncTellsOfADiskThatDoesNotAnswer() throws {
        try withHungDisk { home in
            let told = try home.run(["passdir", "sync"], limit: .seconds(60))
            #expect(told.exitCode == 1 && told.errors.contains("hung: its disk is not responding"), "\(told)")
            #expect(told.output.contains("other: "), "\(told)")
        }
    }

    /// Holds:
    /// - A mount begins though the disk of a store does not answer; that store is shown once it does.
    @Test(.slow) func aMountBeginsThoughADiskDoesNotAnswer() throws {
        try withDisk(folders: 1) { home, disk in
            disk.signal(SIGSTOP)
            try home.mount()
            try home.workEveryday(in: "other", during: "start")
            #expect(try status(home).contains("its disk is not responding; it is shown once it does"))
            let shown = try home.succeed(["ls", home.mountPoint.string], limit: .seconds(30))
            #expect(String(decoding: shown, as: UTF8.self) == "other\n")
            disk.signal(SIGCONT)
            let secret = home.mountPoint.pushing("hung/one").string
            try home.waitUntil("the store is shown", limit: .seconds(60)) { access(secret, F_OK) == 0 }
            #expect(try home.succeed(["cat", secret]) == Array("first\n".utf8))
        }
    }

    /// Holds:
    /// - A disk that does not answer delays unmounting by `unmount.timeout`; what is not committed then is committed by the next
    ///   mount.
    @Test(.slow) func unmountingEndsThoughADiskDoesNotAnswer() throws {
        try withDisk(folders: 1) { home, disk in
            for (name, value) in [("unmount.timeout", "1s"), ("commit.delay", "60s")] {
                try home.succeed(["git", "config", "--file", "config/passdir/config", name, value])
            }
            try mount(home)
            try home.succeed(["sh", "-c", "echo late > hung/late"], in: home.mountPoint)
            // Comes after what the save leaves to be done.
            try home.succeed(["passdir", "status"])
            disk.signal(SIGSTOP)
            let ended = try home.run(["passdir", "unmount"], limit: .seconds(120))
            #expect(ended.exitCode == 0 && !ended.timedOut, "\(ended.errors)")
            #expect(ended.errors.contains("hung: its disk is not responding"), "\(ended.errors)")
            // The kernel lets no process go that waits for a server of files which has its request.
            disk.signal(SIGCONT)
            try home.waitUntil("the daemon is gone") { home.daemons().isEmpty }
            try mount(home)
            let log = try home.succeed(["git", "-C", home.path("hung").string, "log", "-1", "--format=%s"])
            #expect(String(decoding: log, as: UTF8.self) == "Add given password for late to store.\n")
        }
    }

    /// What a killed command left half done there waits for another start.
    @Test(.slow) func whatIsHalfDoneOnASilentDiskKeepsNobody() throws {
        try withDisk(folders: 1) { home, disk in
            let note =
                ["kind", "reclone", "phase", "decided", "id", "x", "name", "gone"]
                .map { $0 + "\\0" }.joined() + "folder\\0" + home.path("disk/gone").string + "\\0"
            try home.succeed(["mkdir", "-p", "state/passdir/operations"])
            try home.succeed(["sh", "-c", "printf '\(note)' > state/passdir/operations/x"])
            disk.signal(SIGSTOP)
            let mount = ["passdir", "mount", home.mountPoint.string]
            let mounted = try home.run(mount, limit: .seconds(50))
            #expect(mounted.exitCode == 0 && !mounted.timedOut, "\(mounted.errors)")
            let hidden = try home.run(["passdir", "store", "hide", "other"], limit: .seconds(50))
            #expect(hidden.exitCode == 0 && !hidden.timedOut, "\(hidden.errors)")
            disk.signal(SIGCONT)
            try home.succeed(["passdir", "store", "unhide", "other"])
            try home.waitUntil("it is finished") {
                access(home.path("state/passdir/operations/x").string, F_OK) != 0
            }
        }
    }

    /// What a program has left to be answered there, the save and the commit do not each take that time; nor does the end of the
    /// daemon.
    @Test(.slow) func aDiskThatDoesNotAnswerDelaysUnmountingOnce() throws {
        try withDisk(folders: 1) { home, disk in
            try home.succeed(["git", "config", "--file", "config/passdir/config", "unmount.timeout", "8s"])
            try mount(home)
            let program = """
                import os, signal, sys
                file = os.open("hung/0/late", os.O_WRONLY | os.O_CREAT)
                os.write(file, b"x\\n")
                os.close(file)
                os.kill(int(sys.argv[1]), signal.SIGSTOP)
                """
            try home.succeed(["python3", "-c", program, "\(disk.pid)"], in: home.mountPoint)
            try home.succeed(["sh", "-c", "echo late > other/late"], in: home.mountPoint)
            let start = ContinuousClock.now
            let ended = try home.run(["passdir", "unmount"], limit: .seconds(120))
            let time = ContinuousClock.now - start
            #expect(ended.exitCode == 0 && !ended.timedOut, "\(ended.errors)")
            #expect(time < .seconds(13), "\(time)")
            #expect(
                ended.errors
                    == "passdir: hung: its disk is not responding; what it does not have committed yet is committed by "
                    + "the next mount\n")
            // The other one is committed, and can be used before the disk answers.
            let log = try home.succeed(["git", "-C", home.path("other").string, "log", "-1", "--format=%s"])
            #expect(String(decoding: log, as: UTF8.self) == "Add given password for late to store.\n")
            try home.succeed(["passdir", "mount", home.mountPoint.string])
            try home.workEveryday(in: "other", during: "remount")
            disk.signal(SIGCONT)
            try home.waitUntil("the first daemon is gone") { home.daemons().count == 1 }
        }
    }

    /// Holds:
    /// - While a disk does not answer that has not taken a save, `passdir unmount` refuses in one sentence.
    @Test(.slow) func whatADiskHasNotTakenKeepsTheMount() throws {
        try withDisk(folders: 1) { home, disk in
            try mount(home)
            // The list goes while the secret is open: nobody is left to encrypt to.
            let program = """
                import os, sys
                file = os.open("one", os.O_WRONLY | os.O_TRUNC)
                os.rename(sys.argv[1] + "/hung/.gpg-id", sys.argv[1] + "/list")
                os.write(file, b"second\\n")
                os.fsync(file)
                """
            let saved = try home.run(
                ["python3", "-c", program, home.folder.string], in: home.mountPoint.pushing("hung"))
            #expect(saved.errors.contains("OSError"), "\(saved.errors)")
            try home.waitUntil("the save has failed") {
                try home.run(["passdir", "status"]).output.contains("one is not saved")
            }
            disk.signal(SIGSTOP)
            try home.succeed(["mv", "list", "hung/.gpg-id"])
            let refused = try home.run(["passdir", "unmount"], limit: .seconds(60))
            #expect(refused.exitCode != 0 && !refused.timedOut)
            #expect(refused.errors == "passdir: not saved yet: hung/one; see 'passdir status'\n")
            try home.workEveryday(in: "other", during: "unmount")
            let discarded = try home.run(["passdir", "discard", "hung/one"], limit: .seconds(20))
            #expect(discarded.exitCode != 0 && !discarded.timedOut)
            #expect(discarded.errors == "passdir: the disk of hung does not answer: try again once it does\n")
            disk.signal(SIGCONT)
            try home.unmount()
            try mount(home)
            #expect(try home.succeed(["cat", "hung/one"], in: home.mountPoint) == Array("second\n".utf8))
        }
    }

    /// Closes what it has written to, once it is told to.
    private static let closer = """
        import os, sys, time
        file = os.open("one", os.O_WRONLY | os.O_TRUNC)
        os.write(file, b"second\\n")
        open(sys.argv[1] + "/written", "w").close()
        while not os.path.exists(sys.argv[1] + "/go"): time.sleep(0.05)
        os.close(file)
        """

    /// Mounts, and runs `body` while a program waits in close(2) for the disk of `hung`, which does not answer.
    private func withWaitingClose(_ body: (TestHome) throws -> Void) throws {
        try withDisk(folders: 1) { home, disk in
            try mount(home)
            let program = try home.start(
                ["python3", "-c", Self.closer, home.folder.string], in: home.mountPoint.pushing("hung"))
            try home.waitUntil("the program has written") {
                access(home.path("written").string, F_OK) == 0
            }
            disk.signal(SIGSTOP)
            try home.write("", to: "go")
            try home.waitUntilBlocked(program)
            try body(home)
            #expect(!program.hasEnded)
            disk.signal(SIGCONT)
            #expect(try program.wait(limit: .seconds(60)).exitCode == 0)
            try home.waitUntil("what was closed is committed") {
                let folder = home.path("hung").string
                return try home.run(["git", "-C", folder, "diff", "--quiet", "HEAD", "--", "one.gpg"])
                    .exitCode == 0
            }
            let text = try home.succeed(["gpg", "--batch", "-qd", home.path("hung/one.gpg").string])
            #expect(text == Array("second\n".utf8))
        }
    }

    /// Holds:
    /// - A store whose disk does not answer is hidden at once; what a program is saving there is saved once it answers.
    @Test(.slow) func aStoreOnASilentDiskIsHiddenAtOnce() throws {
        try withWaitingClose { home in
            let hidden = try home.run(["passdir", "store", "hide", "hung"], limit: .seconds(50))
            #expect(hidden.exitCode == 0 && !hidden.timedOut, "\(hidden.errors)")
            #expect(
                hidden.errors.contains(
                    "the disk of hung does not answer: what is being saved there is saved once it does"),
                "\(hidden.errors)")
            let shown = try home.succeed(["ls", home.mountPoint.string], limit: .seconds(30))
            #expect(String(decoding: shown, as: UTF8.self) == "other\n")
            for value in ["true", "false"] {
                let set = ["passdir", "store", "set", "other", "readOnly", value]
                try home.succeed(set, limit: .seconds(30))
            }
            try home.workEveryday(in: "other", during: "hide")
        }
    }

    /// Holds:
    /// - While the disk of a store does not answer, `passdir store remove` refuses in one sentence, and nothing changes.
    @Test(.slow) func aStoreOnASilentDiskIsNotRemoved() throws {
        try withWaitingClose { home in
            let before = try home.text(of: "config/passdir/config")
            for options in [[], ["--purge"], ["--force"]] {
                let remove = ["passdir", "store", "remove", "hung", "--yes"] + options
                let removed = try home.run(remove, limit: .seconds(50))
                #expect(removed.exitCode != 0 && !removed.timedOut)
                #expect(
                    removed.errors
                        == "passdir: the disk of hung does not answer: try again once it does, or hide it meanwhile: "
                        + "passdir store hide hung\n")
            }
            #expect(try home.text(of: "config/passdir/config") == before)
            // Comes back as it was, with what is being saved.
            for verb in ["hide", "unhide"] {
                try home.succeed(["passdir", "store", verb, "hung"], limit: .seconds(50))
            }
            let shown = try home.succeed(["ls", home.mountPoint.string], limit: .seconds(30))
            #expect(String(decoding: shown, as: UTF8.self) == "hung\nother\n")
            try home.workEveryday(in: "other", during: "remove")
        }
    }

    /// Holds:
    /// - A command that tells of all stores names one whose disk does not answer, tells of the others, and ends with
    ///   exit status 1.
    @Test(.slow, arguments: [false, true])
    func commandsOverAllStoresLeaveASilentDiskOut(isMounted: Bool) throws {
        let commands: [(words: String, status: Int32, output: String)] = [
            ("list", 1, "other/one"), ("search one", 1, "other/one"), ("find one", 1, "other/one"),
            ("list --json", 1, "\"other\""), ("conflicts", 1, ""), ("log", 1, "other:"),
            ("log one", 0, "Add given password for one"), ("audit", 1, "save.retry"),
            ("audit --json", 1, "save.retry"), ("show one", 0, "first\n"),
        ]
        try withDisk(folders: 1) { home, disk in
            if isMounted { try mount(home) }
            disk.signal(SIGSTOP)
            for command in commands {
                let words = ["passdir"] + command.words.split(separator: " ").map(String.init)
                let start = ContinuousClock.now
                let told = try home.run(words, limit: .seconds(50))
                // It is waited for once, for two seconds.
                let time = ContinuousClock.now - start
                #expect(time < .seconds(3.7), "\(words): \(time)")
                #expect(!told.timedOut && told.exitCode == command.status, "\(words): \(told.errors)")
                #expect(told.output.contains(command.output), "\(words): \(told.output)")
                #expect(
                    told.errors == "passdir: the disk of hung does not answer: try again once it does\n",
                    "\(words)")
            }
            let third = try home.makeStore("third", recipients: [try home.makeKey("b@example.org")])
            let add = ["passdir", "store", "add", "third", "--path", third.path.string]
            let added = try home.run(add, limit: .seconds(50))
            #expect(added.exitCode == 0 && !added.timedOut, "\(added.errors)")
            disk.signal(SIGCONT)
        }
    }

    /// Also where it asks for it in several ways.
    @Test(.slow) func aCommandWaitsOnceForASilentDisk() throws {
        try withDisk(folders: 1) { home, disk in
            disk.signal(SIGSTOP)
            let commands = [
                "list hung", "show hung/one", "mv hung/one other/two", "cp hung/one hung/two", "keys",
                "recipients show hung",
            ]
            for command in commands {
                let start = ContinuousClock.now
                let told = try home.run(
                    ["passdir"] + command.split(separator: " ").map(String.init), limit: .seconds(50))
                let time = ContinuousClock.now - start
                #expect(told.exitCode != 0 && !told.timedOut && time < .seconds(3.7), "\(command): \(time)")
                #expect(
                    told.errors.contains("the disk of hung does not answer"), "\(command): \(told.errors)")
            }
        }
    }

    /// Holds:
    /// - Commands over all stores wait for a silent disk once, however many stores lie on it.
    @Test(.slow) func severalStoresOnOneSilentDiskAreWaitedForOnce() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let names = ["one", "two", "three"]
            for name in names { try home.makeStore("real/\(name)", recipients: [key]).insert("s", "first\n") }
            let other = try home.makeStore("other", recipients: [key])
            try other.insert("s", "first\n")
            let folder = home.path("disk")
            try home.succeed(["mkdir", folder.string])
            let disk = try home.start([
                "bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", home.path("real").string,
                folder.string,
            ])
            defer { disk.signal(SIGCONT) }
            try home.waitUntil("the disk is mounted") { home.mountPoints().contains(folder.string) }
            for name in names {
                try home.succeed(["passdir", "store", "add", name, "--path", "\(folder)/\(name)"])
            }
            try home.addStores([other])
            disk.signal(SIGSTOP)
            for command in ["list", "search s", "log", "audit", "conflicts", "show s", "keys", "list one"] {
                let start = ContinuousClock.now
                let told = try home.run(
                    ["passdir"] + command.split(separator: " ").map(String.init), limit: .seconds(50))
                let time = ContinuousClock.now - start
                #expect(!told.timedOut && time < .seconds(3.7), "\(command): \(time)")
                for name in command == "list one" ? ["one"] : names {
                    let count = told.errors.ranges(of: "the disk of \(name) does not answer").count
                    #expect(count == 1, "\(command): \(told.errors)")
                }
            }
            disk.signal(SIGCONT)
            try home.succeed(["fusermount3", "-u", folder.string])
            #expect(try disk.wait(limit: .seconds(120)).exitCode == 0)
        }
    }

    private func status(_ home: TestHome) throws -> String {
        let text = String(
            decoding: try home.succeed(["passdir", "status"], limit: .seconds(30)), as: UTF8.self)
        #expect(text.contains("hung") && text.contains("other"))
        return text
    }
}
