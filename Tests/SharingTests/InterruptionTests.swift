import Glibc
import SystemPackage
import TestKit
import Testing

/// A change of recipients that is killed: it ends exactly new or exactly old, and every secret is readable throughout.
///
/// `PASSDIR_SOAK` is the number of kills (`scripts/soak recipients COUNT`); then there are 1,000 secrets.
@Suite struct InterruptionTests {
    private static var soak: Int? { number("PASSDIR_SOAK") }

    private static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }
    }

    @Test(.slow) func killedAtAnyMomentItEndsNewOrOld() throws {
        let kills = Self.soak ?? 8
        let count = Self.number("PASSDIR_SOAK_SECRETS") ?? (Self.soak == nil ? 30 : 1000)
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try fixture.fill(store, folders: ["a", "a/b", "c"], count: count, for: fixture.ann)
            let reader = try Reader(fixture, store, count: count)
            defer { reader.stop() }

            // How long a whole change takes, for the moments to kill it at.
            let clock = ContinuousClock()
            let whole = try clock.measure {
                _ = try fixture.recipients(
                    "set", "work", "--yes", fixture.ann.fingerprint, fixture.bob.fingerprint)
            }
            var isShared = true
            var ends: [String: Int] = [:]
            for round in 0..<kills {
                let keys = (isShared ? [fixture.ann] : [fixture.ann, fixture.bob]).map(\.fingerprint)
                let old = try state(store)
                let head = try store.git("rev-parse", "HEAD")
                let program = try home.start(["passdir", "recipients", "set", "work", "--yes"] + keys)
                // Putting in place is over in a moment: every other time the kill waits for it.
                let isLate = round % 2 == 1
                if isLate {
                    try waitForPlacing(store, program)
                    usleep(useconds_t.random(in: 0...UInt32(count * 60)))
                } else {
                    let (seconds, attoseconds) = whole.components
                    usleep(
                        useconds_t(
                            Double.random(in: 0...1) * (Double(seconds) + Double(attoseconds) / 1e18) * 1e6))
                }
                kill(program.pid, SIGKILL)
                _ = try program.wait(limit: .seconds(60))

                let resumes = (round / 2) % 2 == 0
                let words = resumes ? ["resume", "work", "--yes"] : ["abort", "work"]
                let result = try home.run(["passdir", "recipients"] + words, limit: .seconds(300))
                let isNew = try store.git("rev-parse", "HEAD") != head
                let nothing = result.errors.contains("no interrupted change")
                #expect(result.exitCode == 0 || nothing, "\(result.errors)")
                let end =
                    "\(isLate ? "late" : "early"), \(nothing ? "nothing left" : resumes ? "resumed" : "aborted"): \(isNew ? "new" : "old")"
                ends[end, default: 0] += 1
                if isNew {
                    isShared.toggle()
                    let ids = Set(try fixture.packets(store).values)
                    #expect(ids.count == 1 && ids.first?.count == keys.count, "round \(round), \(end)")
                    #expect(try home.text(of: "work/.gpg-id") == keys.map { $0 + "\n" }.joined())
                    #expect(try store.git("rev-list", "--count", "\(head)..HEAD") == "1")
                } else {
                    #expect(try state(store) == old, "round \(round), \(end)")
                    #expect(!resumes || nothing, "round \(round): \(end)")
                }
                #expect(try store.git("status", "--porcelain") == "", "round \(round), \(end)")
                #expect(access(store.path.appending(".passdir-reencrypt").string, F_OK) != 0)
            }
            for (end, number) in ends.sorted(by: { $0.key < $1.key }) { print("\(number) × \(end)") }
            let (reads, failures) = try reader.results()
            print("the reader read \(reads) secrets meanwhile")
            #expect(failures == "" && reads > 0)
        }
    }

    /// A mount in between finds secrets that differ from the newest commit, and leaves them to the change.
    @Test(.slow, arguments: ["resume", "abort"], ["recipients.placed-one", "commit.before-ref"])
    func aMountInBetweenCommitsNothingOfIt(_ end: String, _ fault: String) throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try fixture.fill(store, folders: ["a", "c"], count: 10, for: fixture.ann)
            let keys = [fixture.ann.fingerprint, fixture.bob.fingerprint]
            let old = try state(store)
            let head = try store.git("rev-parse", "HEAD")
            let killed = try home.run(
                ["passdir", "recipients", "set", "work", "--yes"] + keys,
                extra: ["PASSDIR_FAULT": fault])
            #expect(killed.exitCode == 128 + SIGKILL)
            let dirt = try store.git("status", "--porcelain").split(separator: "\n").count
            #expect(dirt == (fault == "commit.before-ref" ? 11 : 1))
            try home.mount()
            // An edit of another secret is committed meanwhile, alone.
            try home.succeed(["sh", "-c", "echo new > '\(home.mountPoint)/work/new'"])
            try home.unmount()
            #expect(
                try store.git("log", "--format=%s", "\(head)..HEAD") == "Add given password for new to store."
            )
            #expect(try store.git("show", "--name-only", "--format=", "HEAD") == "new.gpg")
            let words = end == "resume" ? [end, "work", "--yes"] : [end, "work"]
            let result = try home.run(["passdir", "recipients"] + words)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try store.git("status", "--porcelain") == "")
            if end == "abort" {
                try store.git("rm", "--quiet", "new.gpg")
                #expect(try state(store) == old)
            } else {
                #expect(try store.git("rev-list", "--count", "\(head)..HEAD") == "2")
                #expect(try Set(fixture.packets(store).values.map(\.count)) == [2])
            }
        }
    }

    /// A disk that is full when a change begins leaves nothing that would keep the next one from beginning.
    @Test(.slow) func aFullDiskLeavesNothingBehind() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            let script = """
                cp -a '\(store.path)' ~/copy && mount -t tmpfs -o size=1m tmpfs '\(store.path)' || exit 99
                cd '\(store.path)' && cp -a ~/copy/. . && cp .gpg-id full
                cat /dev/zero >>full 2>/dev/null
                passdir recipients add work \(fixture.bob.fingerprint) --yes && exit 98
                rm full; [ ! -e .passdir-reencrypt ] || exit 97
                passdir recipients add work \(fixture.bob.fingerprint) --yes
                """
            let result = try home.run(["unshare", "-m", "sh", "-c", script])
            guard result.exitCode != 99 else { return }
            #expect(result.exitCode == 0 && result.errors.contains("No space left"), "\(result)")
        }
    }

    /// A commit for which there is no room says so, and not what libgit2 had said before.
    @Test(.slow) func aCommitOnAFullDiskSaysSo() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            let script = """
                cp -a '\(store.path)' ~/copy && mount -t tmpfs -o size=1m tmpfs '\(store.path)' || exit 99
                cd '\(store.path)' && cp -a ~/copy/. .
                head -c 550000 /dev/urandom | gpg --batch -q --trust-model always -z 0 -e -r \(fixture.ann.fingerprint) -o big.gpg
                passdir sync work
                """
            let result = try home.run(["unshare", "-m", "sh", "-c", script])
            guard result.exitCode != 99 else { return }
            #expect(result.exitCode == 1 && result.errors.contains("No space left"), "\(result)")
        }
    }

    /// What ends a change needs no room.
    @Test func aChangeIsTakenBackOnAFullDisk() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            let script = """
                cp -a '\(store.path)' ~/copy && mount -t tmpfs -o size=1m tmpfs '\(store.path)' || exit 99
                cd '\(store.path)' && cp -a ~/copy/. . && cp .gpg-id full
                PASSDIR_FAULT=recipients.planned passdir recipients add work \(fixture.bob.fingerprint) --yes && exit 98
                cat /dev/zero >>full 2>/dev/null
                passdir recipients abort work; code=$?
                [ ! -e .passdir-reencrypt ] || exit 97
                exit $code
                """
            let result = try home.run(["unshare", "-m", "sh", "-c", script])
            guard result.exitCode != 99 else { return }
            #expect(result.exitCode == 0, "\(result)")
        }
    }

    /// Killed when git's index has the change and its branch does not: the index goes back with everything else.
    @Test(.slow, arguments: ["resume", "abort"]) func killedBetweenIndexAndBranchItEndsNewOrOld(_ end: String)
        throws
    {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try fixture.fill(store, folders: ["a"], count: 4, for: fixture.ann)
            let old = try state(store)
            let head = try store.git("rev-parse", "HEAD")
            let killed = try home.run(
                ["passdir", "recipients", "add", "work", fixture.bob.fingerprint, "--yes"],
                extra: ["PASSDIR_FAULT": "commit.before-ref"])
            #expect(killed.exitCode == 128 + SIGKILL)
            #expect(try store.git("rev-parse", "HEAD") == head)
            let words = end == "resume" ? [end, "work", "--yes"] : [end, "work"]
            let result = try home.run(["passdir", "recipients"] + words)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try store.git("status", "--porcelain") == "")
            if end == "abort" {
                #expect(try state(store) == old)
                #expect(try store.git("rev-parse", "HEAD") == head)
            } else {
                #expect(try store.git("rev-list", "--count", "\(head)..HEAD") == "1")
                #expect(try Set(fixture.packets(store).values.map(\.count)) == [2])
            }
        }
    }

    /// Everything that a change touches, as checksums.
    private func state(_ store: TestStore) throws -> String {
        String(
            decoding: try store.home.succeed(
                [
                    "sh", "-c",
                    "find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum",
                ],
                in: store.path), as: UTF8.self)
    }

    private func waitForPlacing(_ store: TestStore, _ program: Program) throws {
        let end = ContinuousClock.now + .seconds(120)
        while !program.hasEnded, ContinuousClock.now < end {
            if let journal = store.home.changeJournal, let bytes = try? store.home.bytes(at: journal),
                !String(decoding: bytes.prefix(400), as: UTF8.self).contains("\0staging\0")
            {
                return
            }
            usleep(200)
        }
    }

    /// Reads all secrets with Ann's key, over and over.
    private struct Reader {
        let program: Program
        let home: TestHome

        init(_ fixture: Fixture, _ store: TestStore, count: Int) throws {
            home = fixture.home
            program = try home.start(
                [
                    "sh", "-c",
                    """
                    n=0
                    while [ ! -e "$HOME/stop" ]; do
                      for file in a/*.gpg a/b/*.gpg c/*.gpg; do
                        text=$(gpg --batch --quiet -d "$file" 2>&1)
                        case "$text" in "secret of kind "?) ;; *) echo "$file: $text" >>"$HOME/failures" ;; esac
                        n=$((n + 1)); [ -e "$HOME/stop" ] && break
                      done
                    done
                    echo $n >"$HOME/reads"
                    """,
                ], in: store.path, extra: ["GNUPGHOME": fixture.homeFolder(of: fixture.ann).string])
        }

        func stop() {
            try? home.write("", to: "stop")
            _ = try? program.wait(limit: .seconds(30))
        }

        func results() throws -> (reads: Int, failures: String) {
            stop()
            let reads = Int(try home.text(of: "reads").split(separator: "\n").joined()) ?? 0
            return (reads, (try? home.text(of: "failures")) ?? "")
        }
    }

    /// Nobody enters the passphrase: nothing has begun, and nothing is left that would have to be resumed or aborted.
    @Test(.slow) func aChangeThatCannotBeginLeavesNothing() throws {
        try TestHome.with { home in
            let key = try home.makeKey("locked@example.org", passphrase: "correct horse")
            let other = try home.makeKey("b@example.org")
            let store = try home.makeStore("work", recipients: [key])
            for name in ["a", "b", "c"] { try store.insert(name, "text\n") }
            try home.addStores([store])
            _ = try home.usePinentry(.cancel)
            for _ in 0..<2 {
                let result = try home.passdir("recipients", "add", "work", other.fingerprint, "--yes")
                #expect(result.exitCode == 1 && !result.errors.contains("interrupted"), "\(result.errors)")
            }
            #expect(try home.passdir("recipients", "resume", "work").errors.contains("no interrupted change"))
            #expect(try store.git("status", "--porcelain") == "")
        }
    }
}
