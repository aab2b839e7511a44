import SystemPackage
import TestKit
import Testing

/// What POSIX and Linux say that system calls do, by a table (`Programs/assertions.txt`).
///
/// In the suite every tenth of it; all of it in `scripts/soak posix`, whose count is that of rounds.
@Suite struct AssertionTests {
    /// Whatever is otherwise in the mount is one of the listed differences, which have their reasons in
    /// docs/semantics.md.
    ///
    /// Holds:
    /// - A save changes the mtime of the directory, too, as a save by rename does on any disk.
    /// - truncate(2) to the size that a secret has changes nothing, its times neither.
    /// - A symbolic link whose target has a `..` behind a name cannot be made: EPERM, as the name could be a link that
    ///   leads out.
    /// - Nothing is exchanged with a symbolic link: EINVAL.
    @Test func everyDifferenceFromADiskHasItsReason() throws {
        try Mounted.with(limit: .seconds(3600)) { mounted in
            let home = mounted.home
            let tmpfs = "/dev/shm/\(home.folder.lastComponent?.string ?? "pd")"
            try home.succeed(["mkdir", tmpfs])
            defer { _ = try? home.run(["rm", "-rf", tmpfs]) }
            try mounted.bash("mkdir p")
            let rounds = Soak.count(inSuite: 0)
            let result = try home.run(
                [
                    "/usr/bin/python3", "-B", Programs.path("assertions.py"),
                    mounted.folder.appending("p").string, tmpfs, Programs.semantics, "\(rounds)",
                ], limit: .seconds(3500))
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
            Soak.say(result.output)
        }
    }
}
