import Glibc
import SystemPackage
import TestKit
import Testing

/// What was agreed to for a folder's list goes with the folder where its user moves it.
@Suite struct MovedListTests {
    private func with(_ confirms: Bool = true, _ body: (SharedStore) throws -> Void) throws {
        try SharedStore.with { shared in
            let home = shared.home
            if !confirms {
                try home.succeed([
                    "git", "config", "-f", home.path("config/passdir/config").string, "recipients.confirm",
                    "false",
                ])
            }
            for name in ["team", "crew", "team/in"] { try shared.store.insert("\(name)/t", name) }
            for (name, key) in [("team", shared.bob), ("crew", shared.eve)] {
                try shared.succeed(["recipients", "add", "work/\(name)", key.fingerprint, "--yes"])
            }
            // A list that was agreed to because the one above it was.
            try home.write(
                "\(shared.ann.fingerprint)\n\(shared.bob.fingerprint)\n", to: "work/team/in/.gpg-id")
            try shared.store.git("add", "-A")
            try shared.store.git("commit", "-qm", "In.")
            try shared.store.git("push", "-q")
            try body(shared)
        }
    }

    private static let exchange = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.renameat2(-100, b"mnt/work/team", -100, b"mnt/work/crew", 2) == 0, os.strerror(ctypes.get_errno())
        """

    /// Holds:
    /// - A folder that its user moves or exchanges in the mount keeps its list and what was agreed to of it.
    @Test(
        .slow,
        arguments: [
            "mv mnt/work/team mnt/work/other",
            "mv mnt/work/team mnt/work/sub/team; mv mnt/work/sub/team mnt/work/other",
            "mv mnt/work/team/in mnt/work/other", "python3 -c '\(exchange)'",
            "mkdir mnt/work/other; mv -T mnt/work/team mnt/work/other",
            "mkdir mnt/work/deep; mv mnt/work/team mnt/work/crew mnt/work/deep",
        ])
    func theAgreementGoesWithTheFolder(_ script: String) throws {
        try with { shared in
            let home = shared.home
            try home.mount()
            try home.succeed(["sh", "-ec", script])
            let saved = try home.run(
                ["sh", "-c", "cd mnt/work; for f in $(find . -name t); do echo new >$f || exit; done"])
            #expect(saved.exitCode == 0, "\(saved.errors)")
            let confirmed = try shared.succeed(["recipients", "confirm", "work"])
            #expect(confirmed.contains("nothing to confirm"), "\(confirmed)")
            #expect(try !home.passdir("status").output.contains("agreed"))
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            try home.unmount()
        }
    }

    /// Killed between the move and its note, and whatever `recipients.confirm` says.
    @Test(.slow, arguments: ["move.noted", "move.made"], [true, false])
    func theAgreementGoesWithTheFolderThroughAKill(_ fault: String, _ confirms: Bool) throws {
        try with(confirms) { shared in
            let home = shared.home
            try home.mount(extra: ["PASSDIR_FAULT": fault])
            _ = try home.run(["mv", "mnt/work/team", "mnt/work/other"])
            _ = try home.run(["fusermount3", "-uz", home.mountPoint.string])
            try home.mount()
            let name = access(home.path("work/other").string, F_OK) == 0 ? "other" : "team"
            #expect(name == (fault == "move.made" ? "other" : "team"))
            let saved = try home.run(["sh", "-c", "echo new >mnt/work/\(name)/t"])
            #expect(saved.exitCode == 0, "\(saved.errors)")
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            let same = try shared.run([
                "recipients", "remove", "work/\(name)", shared.bob.fingerprint, "--yes",
            ])
            #expect(same.exitCode == 0 && !same.output.contains("someone else"), "\(same)")
            try home.unmount()
        }
    }

    /// A move that somebody pushes, and a key that waits, gain nothing.
    @Test func aPushedMoveIsNoAgreement() throws {
        try with { shared in
            let home = shared.home
            try home.mount()
            try shared.push("git mv team other; echo $EVE >>crew/.gpg-id; echo $BOB >>crew/.gpg-id")
            #expect(try home.run(["sh", "-c", "echo new | tee mnt/work/other/t"]).exitCode != 0)
            // Bob waits in crew's list, and goes on waiting wherever that is moved to.
            try home.succeed(["mv", "mnt/work/crew", "mnt/work/sub/crew"])
            #expect(try home.run(["sh", "-c", "echo new | tee mnt/work/sub/crew/t"]).exitCode != 0)
            #expect(try shared.succeed(["recipients", "confirm", "work", "--yes"]).contains("sub/crew"))
            try home.succeed(["sh", "-c", "echo new >mnt/work/sub/crew/t; echo new >mnt/work/other/t"])
            try home.unmount()
        }
    }
}
