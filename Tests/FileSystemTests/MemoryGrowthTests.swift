import SystemPackage
import TestKit
import Testing

/// Programs read, save, rename and remove secrets for as long as one likes; `scripts/soak memory MINUTES`.
@Suite struct MemoryGrowthTests {
    /// Holds:
    /// - What the daemon holds in memory after long reading, saving, renaming and listing is what it held after a short while:
    ///   `scripts/soak memory 60` compares what it mostly held in the second fifth and in the last.
    @Test(.slow) func readingAndSavingForLongCostsNoMemory() throws {
        let seconds = Soak.count(inSuite: 0) * 60
        try Mounted.with(
            ["cache.time": "2s"], limit: .seconds(300 + seconds * 2)
        ) { mounted in
            try mounted.bash(
                "for f in a b c; do mkdir $f; for n in $(seq 40); do echo $MARK $n >$f/secret-$n; done; done")
            let daemon = try #require(mounted.home.daemons().first)
            try mounted.home.write(Self.program, to: "work.py")
            let told = try mounted.bash(
                "/usr/bin/python3 -B \(mounted.home.path("work.py")) \(daemon) \(max(seconds, 10))",
                limit: .seconds(200 + seconds * 2))
            let lines = told.split(separator: "\n").map(String.init)
            let samples = lines.compactMap { Int($0) }
            try #require(samples.count == 500, "\(told)")
            // Work under way takes some MiB for some milliseconds, which one sample in many sees: the middle of a hundred
            // tells what stays.
            func middle(_ samples: ArraySlice<Int>) -> Int { samples.sorted()[samples.count / 2] }
            let (early, late) = (middle(samples[100..<200]), middle(samples[400...]))
            // A thread more than before has a stack and an arena of its own.
            #expect(late <= early + 2 << 20, "from \(early) to \(late) bytes: \(samples)")
            if seconds > 0 {
                let fifths = (0..<5).map { middle(samples[$0 * 100..<($0 + 1) * 100]) }
                print(
                    "memory: \(fifths) bytes in each fifth, \(samples.max() ?? 0) at most; \(lines.last ?? "")"
                )
            }
        }
    }

    /// Each save makes another file. Its size is looked at, and is known of what is there only.
    @Test func savesLeaveNoSizesBehind() throws {
        try Mounted.with { mounted in
            try mounted.bash(
                """
                for round in $(seq 5); do
                    for n in $(seq 10); do echo "$MARK $round" >secret-$n; done
                    ls -l >/dev/null; cat secret-* >/dev/null
                done
                """)
            let file = mounted.home.path("state/passdir/state.sqlite").string
            let query = "SELECT count(*) FROM plaintextSize"
            try mounted.home.waitUntil("the sizes of the ten secrets are left") {
                try mounted.home.run(["sqlite3", "-readonly", file, query]).output == "10\n"
            }
        }
    }

    /// Four threads work; the daemon's own memory (RssAnon of proc_pid_status(5), in bytes) is told five hundred times.
    private static let program = """
        import os, random, re, sys, threading, time
        daemon, seconds = sys.argv[1], float(sys.argv[2])
        end, done = time.monotonic() + seconds, [0]

        def work(number):
            choose = random.Random(number)
            while time.monotonic() < end:
                name = f"{choose.choice('abc')}/secret-{choose.randrange(1, 41)}"
                what = choose.randrange(20)
                try:
                    if what < 13:
                        with open(name, "rb") as file: file.read()
                    elif what < 16:
                        with open(name, "wb") as file: file.write(b"text %d\\n" % done[0] * choose.randrange(1, 2000))
                    elif what == 16:
                        own = f"a/own-{number}"
                        with open(own, "w") as file: file.write("mine\\n")
                        os.rename(own, own + "-moved")
                        os.unlink(own + "-moved")
                    else:
                        for folder in "abc":
                            for entry in os.scandir(folder): entry.stat()
                except FileNotFoundError:
                    pass
                done[0] += 1
                time.sleep(0.01)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads: thread.start()
        for _ in range(500):
            time.sleep(seconds / 500)
            with open(f"/proc/{daemon}/status") as file:
                print(int(re.search(r"RssAnon:\\s+(\\d+)", file.read()).group(1)) * 1024)
        for thread in threads: thread.join()
        print(done[0], "operations")
        """
}
