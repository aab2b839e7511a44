import Glibc
import SystemPackage
import TestKit
import Testing

/// A list that was edited in the mount and could not be saved, in a folder that others remove meanwhile.
@Suite struct VanishedListTests {
    /// Holds:
    /// - A `.gpg-id` that could not be saved, and whose folder another program removes, is kept in
    ///   `~/.local/share/passdir/removed`; `passdir status` says where.
    @Test(.slow) func itIsKeptAndDoesNotHoldTheMount() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.push("mkdir team; echo $ANN >team/.gpg-id; cp a.gpg team/p.gpg")
            try home.mount()
            let list = "nobody@example.org\n"
            let script = "printf '\(list)' | tee mnt/work/team/.gpg-id; echo new | tee mnt/work/b"
            #expect(try home.run(["sh", "-c", script]).exitCode == 0)
            #expect(try home.passdir("status").output.contains("unsaved  team/.gpg-id"))
            // While the folder is there the edit waits for its key.
            #expect(try home.run(["passdir", "unmount"]).exitCode == 1)
            try shared.push("git rm -rqf team")
            let synced = try shared.run(["sync", "work"])
            let status = try home.passdir("status").output
            let kept = home.path("data/passdir/removed/work-team-gpg-id-")
            #expect(status.contains("kept in \(kept)") && !status.contains("unsaved"), "\(status)")
            #expect(synced.exitCode == 0, "\(synced.errors)")
            try home.unmount()
            let text = try home.succeed(["sh", "-c", "cat '\(kept)'*"])
            #expect(String(decoding: text, as: UTF8.self) == list)
            #expect(try home.run(["ls", "work/team"]).exitCode != 0)
        }
    }

    /// A folder that is not there at close(2) is the same: the program hears of it.
    @Test func whoClosesItIsTold() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.succeed(["mkdir", "work/team"])
            try home.mount()
            let file = try Editor(home, home.mountPoint.appending("work/team/.gpg-id"), .truncate)
            try file.write("\(shared.ann.fingerprint)\n")
            guard rmdir(home.path("work/team").string) == 0 else { throw Errno(rawValue: errno) }
            #expect(throws: Errno.noSuchFileOrDirectory) { try file.close() }
            #expect(try home.passdir("status").output.contains("kept in"))
            try home.unmount()
        }
    }
}
