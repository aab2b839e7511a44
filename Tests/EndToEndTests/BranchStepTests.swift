import Glibc
import SystemPackage
import TestKit
import Testing

/// The moment in which the branch moves under git programs of the user, which fail when it does while they work.
@Suite(.enabled(if: getuid() == 0 && access("/usr/bin/strace", X_OK) == 0)) struct BranchStepTests {
    /// Holds:
    /// - Between the last look for git programs and the move of the branch nothing waits for the disk or is read from
    ///   the store of objects: in a commit, in a merge that brings files, and in one that brings none.
    /// - Where the file system can exchange two files, no `index.lock` is made.
    /// - What is to be on the disk is brought there by a descriptor that is still open.
    @Test func nothingTakesTimeAfterTheLastLook() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            try store.insert("s", "one\n")
            try store.git("push", "-q")
            try home.addStores([store])
            let trace = home.path("trace").string
            let daemon = try home.start([
                "strace", "-f", "-qq", "-o", trace, "-e",
                "trace=openat,fsync,fdatasync,link,linkat,rename,renameat2,getdents64", "passdir", "mount",
                home.mountPoint.string,
            ])
            try home.waitUntil("the traced daemon answers", limit: .seconds(60)) {
                try home.passdir("status").exitCode == 0
            }
            let theirs = home.path("theirs").string
            try home.succeed(["git", "clone", "-q", home.path("work.git").string, theirs])
            for round in 0..<3 {
                try FileCalls.save(Array("\(round)\n".utf8), to: home.visible("work/s"))
                try home.succeed([
                    "sh", "-ec",
                    round == 1
                        ? "cd \"$0\"; git commit -q --allow-empty -m theirs; git pull -q --no-edit --no-rebase; git push -q"
                        : "cd \"$0\"; git pull -q --no-edit --no-rebase; cp s.gpg n\(round).gpg; git add .; git commit -qm theirs; git push -q",
                    theirs,
                ])
                try home.succeed(["passdir", "sync", "work"])
            }
            try home.unmount()
            #expect(try daemon.wait(limit: .seconds(60)).timedOut == false)
            let text = try home.text(of: "trace")
            let failed = text.split(separator: "\n").filter { $0.contains("sync") && $0.contains("= -1 ") }
            #expect(failed == [], "nothing is left in memory only")
            let locks = text.split(separator: "\n").filter {
                $0.contains("link") && $0.contains("work/.git/index.lock\"")
            }
            #expect(locks == [], "no git add of the user meets a lock of ours")
            let moves = Self.moves(text)
            #expect(moves.count >= 6, "\(moves)")
            for move in moves { #expect(move == [], "between the look and the move") }
        }
    }

    /// For each move of the branch the calls that its thread made since it had looked at the processes last, without those
    /// that read small files of git.
    private static func moves(_ trace: String) -> [[Substring]] {
        var since: [Substring: [Substring]] = [:]
        var found: [[Substring]] = []
        for line in trace.split(separator: "\n") {
            guard let space = line.firstIndex(of: " ") else { continue }
            let thread = line[..<space]
            if line.contains("\"/proc\"") {
                since[thread] = []
            } else if line.contains("work/.git/refs/heads/main.lock\""), line.contains("rename") {
                found.append(since[thread] ?? ["no look"])
            } else if line.contains("sync(")
                || line.contains("\"/proc/") == false && line.contains("/objects/")
            {
                since[thread]?.append(line)
            }
        }
        return found
    }
}
