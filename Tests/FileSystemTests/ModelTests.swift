import Glibc
import SystemPackage
import TestKit
import Testing

/// Random file operations give in the mount what they give on tmpfs and in a plain model.
@Suite struct ModelTests {
    @Test func operationsAreAsOnTmpfs() throws {
        let count = Soak.count(inSuite: 1500)
        try Mounted.with(limit: .seconds(300 + count / 20)) { mounted in
            try Model(mounted: mounted, count: count, seed: 1, crashEvery: nil).run()
        }
    }
}

/// As `ModelTests`, with crashes: each file has what was acknowledged by close or fsync, or something later.
@Suite struct CrashTests {
    /// Holds:
    /// - Any sequence of file operations gives what it gives on tmpfs, and after a crash each file has what was
    ///   acknowledged by close or fsync, or something later.
    @Test(.slow) func acknowledgedSavesSurviveCrashes() throws {
        let count = Soak.count(inSuite: 1500)
        try Mounted.with(limit: .seconds(300 + count / 20)) { mounted in
            try Model(mounted: mounted, count: count, seed: 2, crashEvery: 300).run()
        }
    }
}

/// A run of `Programs/model.py` in the mount, then on tmpfs.
private struct Model {
    var mounted: Mounted
    var count: Int
    var seed: Int
    var crashEvery: Int?

    func run() throws {
        let home = mounted.home
        let tmpfs = "/dev/shm/\(home.folder.lastComponent?.string ?? "pd")"
        try home.succeed(["mkdir", tmpfs])
        defer { _ = try? home.run(["rm", "-rf", tmpfs]) }
        try mounted.bash("mkdir m")
        // Ends the daemon as a crash does, and mounts again.
        try home.write(
            """
            pid=$(passdir status --json | grep -o '"pid" *: *[0-9]*' | grep -o '[0-9]*')
            kill -9 $pid
            while kill -0 $pid 2>/dev/null; do sleep 0.01; done
            fusermount3 -uz \(home.mountPoint)
            passdir mount \(home.mountPoint)
            """, to: "crash")
        for (place, command) in [
            (mounted.folder.appending("m").string, "bash \(home.path("crash"))"), (tmpfs, ""),
        ] {
            let crash = crashEvery.map { [command, "\($0)"] } ?? []
            let output = try home.succeed(
                [
                    "/usr/bin/python3", "-B", Programs.path("model.py"), place, "\(seed)", "\(count)",
                    home.path(command.isEmpty ? "tmpfs" : "mount").string,
                ] + crash, limit: .seconds(280 + count / 20))
            Soak.say("\(place): \(String(decoding: output, as: UTF8.self))")
        }
        try home.succeed(["cmp", "mount", "tmpfs"])
        try mounted.waitUntilCommitted()
        #expect(try mounted.store.git("status", "--porcelain") == "")
        try mounted.store.git("fsck", "--strict", "--full")
        for name in try mounted.backingFiles() {
            _ = try mounted.store.show(String(name.dropLast(4)))
        }
    }
}
