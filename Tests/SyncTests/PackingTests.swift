import Git
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What many commits leave is packed as `git commit` would have it packed.
@Suite struct PackingTests {
    private func packs(_ machine: Machine) throws -> Int {
        try machine.home.run(["sh", "-c", "ls .git/objects/pack/*.pack | wc -l"], in: machine.path).output
            .split(separator: "\n").first.flatMap { Int($0) } ?? 0
    }

    /// A store with a pack more than git takes, each with one object of its own.
    private func withPacks(_ body: @escaping @Sendable (Machine) async throws -> Void) async throws {
        try await TestHome.with { home in
            let machine = try Machine(home, home.machines(1)[0].path, storeOptions: { _ in }) {
                $0.packs = true
            }
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    for n in $(seq 51); do
                        echo $n | git hash-object -w --stdin |
                            git pack-objects -q .git/objects/pack/pack >/dev/null
                    done
                    """,
                ], in: machine.path)
            #expect(try packs(machine) >= 51)
            try await body(machine)
        }
    }

    @Test func manyPacksBecomeOne() async throws {
        try await withPacks { machine in
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.home.waitUntil("it is packed") { try packs(machine) < 5 }
            try machine.save("a", "text")
            try await machine.commit()
            #expect(try machine.git("fsck", "--no-dangling") == "" && machine.dirt == "")
        }
    }

    /// The user's git decides.
    @Test func nothingIsPackedAgainstTheConfiguration() async throws {
        try await withPacks { machine in
            try machine.git("config", "gc.autoPackLimit", "0")
            try machine.git("config", "gc.auto", "0")
            let before = try packs(machine)
            #expect(await machine.committer.synchronizeNow() == nil)
            let packing = machine.committer.packing
            try machine.home.waitUntil("git has been asked") { !packing.isAtWork }
            #expect(try packs(machine) == before)
        }
    }

    /// Who ends does not wait for it, and leaves nothing at work.
    @Test func whoEndsEndsIt() async throws {
        try await withPacks { machine in
            // git asks it before it begins, and goes on when it succeeds.
            try machine.home.write(
                "#!/bin/sh\ntouch \(machine.home.path("begun"))\nexec sleep 100\n",
                to: "\(machine.path.lastComponent!)/.git/hooks/pre-auto-gc", mode: [.ownerReadWriteExecute])
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.home.waitUntil("git is at work") {
                try machine.home.run(["ls", machine.home.path("begun").string]).exitCode == 0
            }
            await machine.committer.finish(timeout: .seconds(10))
            try machine.home.waitUntil("git has ended") { !machine.committer.packing.isAtWork }
            #expect(try packs(machine) >= 51)
        }
    }
}
