import Glibc
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// A lock of git's that another program holds for longer than we wait: an editor open in `git commit -a`, say.
@Suite struct HeldLockTests {
    @Test(.slow, arguments: ["index.lock", "refs/heads/main.lock"])
    func commitsGoOnOnceItIsGone(_ name: String) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let lock = machine.path.appending(".git").pushing(FilePath(name))
            try machine.save("before", "1\n")
            try await machine.commit()
            try home.succeed(["touch", lock.string])
            try machine.save("a", "1\n")
            for _ in 0..<2 {
                let complaint = await machine.committer.synchronizeNow()
                #expect(complaint?.contains("lock") == true, "\(complaint ?? "")")
                #expect(complaint?.contains("another passdir") == false, "\(complaint ?? "")")
                #expect(access(lock.string, F_OK) == 0, "the lock of another program was taken away")
            }
            unlink(lock.string)
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.git("ls-tree", "--name-only", "HEAD", "a.gpg") == "a.gpg")
            #expect(try machine.dirt == "")
        }
    }

    /// A look that git disturbed is made again, but not where another one has told meanwhile what lies there: what is saved since then
    /// has its time.
    @Test func whatIsSavedBehindALookIsNotCommittedByTheNext() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1\n")
            #expect(await machine.committer.synchronizeNow(looking: true) == nil)
            try machine.save("b", "1\n")
            await machine.committer.lookAgain()
            #expect(machine.committer.status.pendingChanges == 1)
        }
    }

    /// A lock that lies there after a crash of ours, and who made it.
    private struct LeftLock {
        var name: String
        /// The shell command that makes it, in the git folder.
        var making: String
        var isOurs = false
    }

    private static let left = [
        LeftLock(name: "index.lock", making: "touch index.lock"),
        LeftLock(name: "index.lock", making: "cp index index.passdir-1-1; cp index index.lock"),
        LeftLock(name: "HEAD.lock", making: "touch HEAD.lock"),
        LeftLock(name: "refs/heads/main.lock", making: "touch refs/heads/main.lock"),
        LeftLock(
            name: "refs/heads/main.lock",
            making: "git rev-parse HEAD >refs/heads/main.lock; cp refs/heads/main.lock passdir-ref-1-1"),
        LeftLock(name: "index.lock", making: "ln index index.lock", isOurs: true),
        LeftLock(
            name: "index.lock", making: "cp index index.passdir-1-1; ln index.passdir-1-1 index.lock",
            isOurs: true),
        LeftLock(
            name: "refs/heads/main.lock",
            making: "echo >passdir-ref-1-1; ln passdir-ref-1-1 refs/heads/main.lock", isOurs: true),
    ]

    /// Made in the same second as our note, and open in no process: only the inode tells whose it is.
    @Test(.slow) func onlyOursIsTakenAway() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let folder = machine.path.appending(".git")
            for (number, row) in Self.left.enumerated() {
                try home.succeed(["sh", "-c", "printf 'a\\0' >passdir-commit; " + row.making], in: folder)
                let lock = folder.pushing(FilePath(row.name))
                var made = stat()
                #expect(lstat(lock.string, &made) == 0)
                try machine.save("a", "\(number)\n")
                await machine.committer.commitPending()
                var now = stat()
                let isThere = lstat(lock.string, &now) == 0 && now.st_ino == made.st_ino
                #expect(isThere != row.isOurs, "\(row)")
                if !row.isOurs { unlink(lock.string) }
                // What the note names is looked at once more.
                await machine.committer.commitPending()
                try await machine.commit()
                #expect(try machine.dirt == "", "\(row)")
                let rest = String(decoding: try home.succeed(["ls", folder.string]), as: UTF8.self)
                #expect(!rest.contains("passdir-") && !rest.contains("index."), "\(row): \(rest)")
            }
        }
    }

    /// A second passdir at work, a command beside the daemon: there is no lock that anybody should remove.
    @Test func anotherPassdirIsNoLockToRemove() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("a", "1\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            let machine = machines[1]
            let note = machine.path.appending(".git/passdir-commit")
            let held = try FileDescriptor.open(
                note, .readWrite, options: [.create, .closeOnExec], permissions: .ownerReadWrite)
            #expect(flock(held.rawValue, LOCK_EX | LOCK_NB) == 0)
            let complaint = try #require(await machine.committer.synchronizeNow())
            #expect(
                complaint.hasSuffix("because another passdir is working in the same repository."),
                "\(complaint)")
            unlink(note.string)
            try held.close()
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.read("a") == "1\n")
        }
    }

    /// One that dies between index and branch, after we have looked for such a thing and before our own note takes the place
    /// of its.
    @Test(.slow, arguments: [false, true]) func anotherPassdirDiesMeanwhile(_ isMerge: Bool) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("theirs", "1\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            let machine = machines[1]
            if !isMerge { #expect(await machine.committer.synchronizeNow() == nil) }
            try machine.save("mine", "1\n")
            if isMerge { try await machine.commit() }
            try machine.write("left", "1\n")
            let isDone = Mutex(false)
            await Fault.$onPoint.withValue({ point in
                guard point == (isMerge ? "merge.written" : "commit.objects") else { return }
                let isFirst = isDone.withLock { isDone in
                    defer { isDone = true }
                    return !isDone
                }
                guard isFirst else { return }
                _ = try? machine.git("add", "left.gpg")
                _ = try? home.succeed(
                    ["sh", "-c", "printf 'left.gpg\\0' >.git/passdir-commit"], in: machine.path)
            }) {
                #expect(await machine.committer.synchronizeNow() == nil)
            }
            #expect(isDone.withLock { $0 })
            #expect(try machine.dirt == "")
            #expect(
                try machine.git("ls-tree", "--name-only", "HEAD", "left.gpg", "mine.gpg", "theirs.gpg")
                    == "left.gpg\nmine.gpg\ntheirs.gpg")
            #expect(access(machine.path.appending(".git/passdir-commit").string, F_OK) != 0)
            try machine.git("fsck", "--strict")
        }
    }
}
