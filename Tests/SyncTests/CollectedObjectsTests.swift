import Glibc
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

// An optimised build has no places to stop at (`Fault`).
#if DEBUG
    /// `git gc` and its kind remove what no branch leads to, and a commit's objects wait before the branch moves.
    @Suite(.serialized) struct CollectedObjectsTests {
        static let collectors = [
            ["gc", "-q", "--prune=now"], ["prune", "--expire=now"], ["repack", "-adkq"],
            ["maintenance", "run", "--quiet", "--task=gc", "--task=loose-objects"],
        ]
        static let places = ["commit.noted", "commit.quiet", "commit.before-ref", "commit.after-ref"]

        /// Runs git at each pass of a place, the first `count` times.
        private func collecting(
            _ machine: Machine, at places: Set<String>, _ command: [String], times count: Int = 1
        ) -> @Sendable (String) -> Void {
            let passes = Mutex(0)
            return { place in
                guard places.contains(place) else { return }
                let pass = passes.withLock { passes in
                    passes += 1
                    return passes
                }
                guard pass <= count else { return }
                do {
                    try machine.home.succeed(["git", "-c", "gc.pruneExpire=now"] + command, in: machine.path)
                } catch {
                    Issue.record(error)
                }
            }
        }

        private func check(_ machine: Machine) throws {
            try machine.git("fsck", "--strict", "--full")
            #expect(try machine.dirt == "")
            let left = String(
                decoding: try machine.home.succeed(
                    ["find", ".git", "-name", "*.keep", "-o", "-name", "passdir-*"], in: machine.path),
                as: UTF8.self)
            #expect(left == "")
        }

        @Test(.slow, arguments: [1, 40]) func commits(_ count: Int) async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                for (number, place) in Self.places.enumerated() {
                    for collector in count == 1 ? Self.collectors : [Self.collectors[number]] {
                        for number in 0..<count { try machine.save("\(place)/\(number)", "\(collector)") }
                        try await Fault.$onPoint.withValue(
                            collecting(machine, at: [place], collector, times: 3)
                        ) { try await machine.commit() }
                    }
                    #expect(try machine.git("ls-tree", "--name-only", "HEAD", place) == place)
                }
                try check(machine)
            }
        }

        /// What is kept while no branch is checked out.
        @Test(.slow, arguments: ["waiting.tree", "waiting.commit", "waiting.held", "waiting.kept"])
        func whatWaits(_ place: String) async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "1\n")
                try await machine.commit()
                try machine.git("switch", "-q", "--detach")
                for collector in Self.collectors {
                    try machine.save("a", "\(collector)\n")
                    try machine.save("b/\(collector[0])", "text\n")
                    await Fault.$onPoint.withValue(
                        collecting(machine, at: [place], collector, times: 3)
                    ) { await machine.committer.keepPending() }
                    try machine.git("fsck", "--strict", "--full")
                    #expect(
                        try machine.git("ls-tree", "-r", "--name-only", CommitWriter.waitingRef).contains(
                            "b/\(collector[0]).gpg"))
                }
                try machine.git("switch", "-q", "main")
                try await machine.commit()
                #expect(try machine.git("for-each-ref", CommitWriter.waitingRef) == "")
                #expect(try machine.git("ls-tree", "--name-only", "HEAD:b").split(separator: "\n").count == 4)
                try check(machine)
            }
        }

        /// What an earlier version left to the collectors stops neither commits nor git, and is kept anew where it lies.
        @Test(.slow, arguments: [false, true]) func whatWaitedAndIsGone(_ isCommit: Bool) async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "1\n")
                try await machine.commit()
                try machine.git("switch", "-q", "--detach")
                for round in 0..<2 {
                    try machine.save("a", "new \(round)\n")
                    await machine.committer.keepPending()
                    let lost = try machine.git(
                        "rev-parse", CommitWriter.waitingRef + (isCommit ? "" : ":a.gpg"))
                    try home.succeed([
                        "rm", "-f",
                        machine.path.appending(".git/objects/\(lost.prefix(2))/\(lost.dropFirst(2))").string,
                    ])
                    if round == 0 {
                        try machine.save("b", "text\n")
                        await machine.committer.keepPending()
                        try machine.git("fsck", "--strict", "--full")
                        #expect(
                            Set(["a.gpg", "b.gpg"]).isSubset(
                                of: try machine.git("ls-tree", "--name-only", CommitWriter.waitingRef).split(
                                    separator: "\n"
                                ).map(String.init)))
                    }
                }
                try machine.git("switch", "-q", "main")
                try await machine.commit()
                #expect(try machine.read("a") == "new 1\n")
                #expect(try machine.git("for-each-ref", CommitWriter.waitingRef) == "")
                try check(machine)
            }
        }

        @Test func eachSecretItsOwnCommit() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1) { $0.commitsEach = true }[0]
                for number in 0..<3 { try machine.save("\(number)", "1\n") }
                try await Fault.$onPoint.withValue(
                    collecting(machine, at: ["commit.noted", "commit.quiet"], Self.collectors[0], times: 2)
                ) { try await machine.commit() }
                #expect(try machine.git("log", "-3", "--format=%s").split(separator: "\n").count == 3)
                try check(machine)
            }
        }

        @Test(.slow, arguments: [false, true]) func merges(_ rebases: Bool) async throws {
            try await TestHome.with { home in
                let machines = try home.machines(2) { $0.rebases = rebases }
                try machines[0].save("both", "a\nb\nc\nd\n")
                #expect(await machines[0].committer.synchronizeNow() == nil)
                #expect(await machines[1].committer.synchronizeNow() == nil)
                for (round, place) in ["merge.written", "merge.noted", "merge.quiet", "merge.before-ref"]
                    .enumerated()
                {
                    try machines[0].save("both", "a\(round)\nb\nc\nd\n")
                    #expect(await machines[0].committer.synchronizeNow() == nil)
                    try machines[1].save("both", "a\(round)\nb\nc\nd\(round)\n")
                    try machines[1].save("own \(round)", "text\n")
                    await Fault.$onPoint.withValue(
                        collecting(machines[1], at: [place], Self.collectors[0], times: 2)
                    ) { #expect(await machines[1].committer.synchronizeNow() == nil, "\(place)") }
                    #expect(try machines[1].read("both") == "a\(round)\nb\nc\nd\(round)\n")
                    try check(machines[1])
                }
            }
        }

        /// One that has looked which objects are in use before the branch moves, and removes the others after it has.
        @Test(.slow) func aCollectorThatIsInTheMiddle() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "1\n")
                try await machine.commit()
                try machine.save("a", "2\n")
                // What a process is tells /proc, by its name and arguments.
                try home.succeed(["cp", "/bin/bash", home.path("git").string])
                try home.succeed(["mkfifo", home.path("go on").string])
                try home.write(
                    """
                    cd '\(machine.path)/.git/objects' || exit 1
                    find ?? -type f | sort >'\(home.path("before"))'
                    echo >'\(home.path("looked"))'
                    read -r _ <'\(home.path("go on"))'
                    find ?? -type f | sort | comm -13 '\(home.path("before"))' - | xargs -r rm -f
                    """, to: "collect")
                let collector = Mutex<Program?>(nil)
                try await Fault.$onPoint.withValue({ place in
                    do {
                        switch place {
                        case "commit.objects":
                            collector.withLock { [home] in
                                $0 = try? home.start([
                                    home.path("git").string, home.path("collect").string, "prune",
                                ])
                            }
                            try home.waitUntil("it has looked") {
                                access(home.path("looked").string, F_OK) == 0
                            }
                        case "commit.after-ref":
                            try home.write("\n", to: "go on")
                            _ = try collector.withLock { $0 }?.wait(limit: .seconds(20))
                        default: break
                        }
                    } catch {
                        Issue.record(error)
                    }
                }) { try await machine.commit() }
                #expect(collector.withLock { $0?.hasEnded } == true)
                try check(machine)
            }
        }

        /// A real one in a loop beside saves that wait for it.
        @Test(.slow) func savesBesideALoopOfCollectors() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1) { $0.delay = .zero }[0]
                let loop = try home.start(
                    ["bash", "-c", "until [ -e '\(home.path("end"))' ]; do git gc -q --prune=now; done"],
                    in: machine.path)
                for number in 0..<15 {
                    try machine.save("\(number % 4)", "\(number)\n")
                    try await machine.settle()
                }
                try home.write("", to: "end")
                _ = try loop.wait(limit: .seconds(60))
                await machine.committer.finish(timeout: .seconds(20))
                #expect(machine.committer.status.lastError == nil)
                try check(machine)
            }
        }
    }
#endif
