import Git
import Glibc
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Sync

@Suite(.serialized) struct CommitterCommitTests {
    @Test func aBurstIsOneCommitWithAList() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for number in 0..<5 { try machine.save("s\(number)", "text\n") }
            try machine.save("s1", "again\n")
            let before = try machine.git("rev-parse", "HEAD")
            try await machine.commit()
            #expect(try machine.git("rev-list", "--count", "\(before)..HEAD") == "1")
            let message = try machine.git("log", "-1", "--format=%B")
            #expect(message.hasPrefix("Change 5 secrets.\n\n- Add given password for s0 to store.\n"))
            #expect(try machine.dirt == "")
        }
    }

    /// Holds:
    /// - What passdir reads for itself, to commit it or to see for whom it is, leaves the access time of a file.
    @Test func aCommitIsNoAccess() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "text\n")
            let file = machine.path.appending("a.gpg").string
            // Before its mtime, so that every file system that keeps access times notes the next one.
            try home.succeed(["touch", "-a", "-d", "@1000000000", file])
            try await machine.commit()
            _ = try machine.store.recipientKeyIDs(of: "a.gpg")
            let accessed = try home.succeed(["stat", "-c", "%X", file])
            #expect(String(decoding: accessed, as: UTF8.self) == "1000000000\n")
            // git itself reads what is as new as its index.
            #expect(try machine.dirt == "")
        }
    }

    /// A commit that has begun tells of no half of a rename, whether it is noted at that moment or a little later.
    @Test(arguments: [true, false], [true, false])
    func noCommitComesBetweenTheHalvesOfARename(_ isNoted: Bool, _ isEach: Bool) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1) { $0.commitsEach = isEach }[0]
            for name in ["a", "b"] { try machine.save(name, "old\n") }
            try await machine.commit()
            let before = try machine.git("rev-parse", "HEAD")
            for name in ["a", "b"] { try machine.save(name, "new\n") }
            let isRenamed = Mutex(false)
            let noting = Mutex<[PosixThread]>([])
            await Fault.$onPoint.withValue({ point in
                guard point == "commit.objects", !isRenamed.withLock({ $0 }) else { return }
                isRenamed.withLock { $0 = true }
                machine.committer.beginRename()
                try? machine.store.root.rename("a.gpg", to: "c.gpg")
                let note = { @Sendable in
                    machine.committer.note(.renamed(from: "a.gpg", to: "c.gpg"))
                    machine.committer.endRename()
                }
                if isNoted { return note() }
                guard let thread = try? PosixThread(named: "note", note) else { return note() }
                noting.withLock { $0.append(thread) }
            }) {
                await machine.committer.commitPending()
            }
            for thread in noting.withLock({ $0 }) { thread.join() }
            #expect(isRenamed.withLock { $0 })
            try await machine.commit()
            let changes = try machine.git(
                "log", "--no-renames", "--format=%x00", "--name-status", "\(before)..HEAD")
            let removing = changes.split(separator: "\0").filter { $0.contains("D\ta.gpg") }
            #expect(removing.count == 1 && removing[0].contains("A\tc.gpg"), "\(changes)")
        }
    }

    @Test func aListOfRecipientsIsCalledNoPassword() {
        let message = CommitMessage([(".gpg-id", .added), ("a/.gpg-id", .modified)], renames: [])
        #expect(message.lines == ["Add .gpg-id to store.", "Edit a/.gpg-id using passdir."])
    }

    @Test func eachSecretItsOwnCommit() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1) { $0.commitsEach = true }[0]
            try machine.save("a", "1\n")
            try machine.save("b/c", "1\n")
            try await machine.commit()
            try machine.rename("a", to: "d")
            try machine.save("b/c", "2\n")
            let before = try machine.git("rev-parse", "HEAD")
            try await machine.commit()
            #expect(
                try machine.git("log", "--reverse", "--format=%s", "\(before)..HEAD")
                    == "Rename a to d.\nEdit password for b/c using passdir.")
            #expect(try machine.dirt == "")
        }
    }

    @Test(.slow) func theAuthorHasTheTimeOfTheChange() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1\n")
            let noted = Int(FileTime.now.seconds)
            while Int(FileTime.now.seconds) < noted + 2 { usleep(50_000) }
            try await machine.commit()
            let times = try machine.git("log", "-1", "--format=%at %ct").split(separator: " ").compactMap {
                Int($0)
            }
            #expect(abs(times[0] - noted) <= 1 && times[1] >= noted + 2)
        }
    }

    @Test(.slow) func whatIsNotOursStaysOutOfTheCommit() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for name in ["staged", "edited", "ours"] { try machine.save(name, "1\n") }
            try await machine.commit()
            try machine.write("staged", "2\n")
            try machine.git("add", "staged.gpg")
            try machine.write("edited", "2\n")
            try home.write("note\n", to: "m0/untracked")
            try machine.save("ours", "2\n")
            try await machine.commit()
            #expect(try machine.git("show", "--format=", "--name-only") == "ours.gpg")
            #expect(try machine.dirt == " M edited.gpg\nM  staged.gpg\n?? untracked")
        }
    }

    @Test(.slow) func nestedRepositoriesCommitTheirOwn() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("inner/a", "1\n")
            try machine.save("outer", "1\n")
            try machine.git("init", "-q", "-b", "main", "inner")
            try await machine.commit()
            #expect(try machine.git("ls-files") == ".gitattributes\n.gpg-id\nouter.gpg")
            #expect(
                try machine.git("-C", "inner", "log", "--format=%s")
                    == "Add given password for inner/a to store.")
            // At the start, too: what was saved and never committed is found in both.
            try machine.write("inner/b", "1\n")
            try machine.write("outer", "2\n")
            let again = try Machine(home, machine.path)
            await again.committer.start()
            #expect(try machine.git("-C", "inner", "ls-files") == "a.gpg\nb.gpg")
            #expect(try machine.git("log", "-1", "--format=%s") == "Edit password for outer using passdir.")
        }
    }

    /// While a git program is at work, what lies uncommitted may be its work; what is saved is certain.
    @Test(.slow) func savesDoNotWaitForTheLookAtTheStart() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1) { $0.delay = .zero }[0]
            try machine.write("left", "1\n")
            try home.succeed(["mkfifo", home.path("end").string])
            let git = try home.start(
                ["git", "-c", "alias.work=!cat '\(home.path("end"))'", "work"], in: machine.path)
            let committer = machine.committer
            async let started: Void = committer.start()
            try machine.save("now", "1\n")
            try await machine.settle()
            await started
            // What was left is not asked here: a program that has run for seconds does not count any more.
            #expect(!git.hasEnded)
            #expect(try machine.git("ls-files", "now.gpg") == "now.gpg")
            try home.write("", to: "end")
            _ = try git.wait(limit: .seconds(20))
            try home.waitUntil("the rest is committed") {
                try machine.git("ls-tree", "--name-only", "HEAD", "left.gpg") == "left.gpg"
            }
            await committer.finish(timeout: .seconds(20))
        }
    }

    /// The setting `key` of a store names who signs where git's settings do not.
    @Test func signsWithTheStoresKey() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1) { $0.ownKey = "own@example.org" }[0]
            let own = try home.makeKey("own@example.org")
            try machine.git("config", "pass.signcommits", "true")
            try machine.save("a", "1\n")
            try await machine.commit()
            #expect(try machine.git("log", "-1", "--format=%GP") == own.fingerprint)
            try machine.git("config", "user.signingkey", "one@example.org")
            try machine.save("a", "2\n")
            try await machine.commit()
            #expect(try machine.git("log", "-1", "--format=%GP") != own.fingerprint)
        }
    }

    @Test func signsWithGPG() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.git("config", "pass.signcommits", "true")
            try machine.git("config", "user.signingkey", "one@example.org")
            try machine.save("a", "1\n")
            try await machine.commit()
            try machine.git("verify-commit", "HEAD")
            #expect(
                try machine.git("log", "-1", "--format=%G?") == "G"
                    || machine.git("log", "-1", "--format=%G?") == "U")
            // Without a secret key, the change waits and says why.
            try machine.git("config", "user.signingkey", "nobody@example.org")
            try machine.save("a", "2\n")
            await machine.committer.commitPending()
            #expect(
                machine.committer.status.lastError?.contains("no secret key for \"nobody@example.org\"")
                    == true)
            #expect(machine.committer.status.pendingChanges == 1)
            try machine.git("config", "pass.signcommits", "false")
            try await machine.commit()
        }
    }

    @Test func signsWithSSH() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try home.succeed(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home.path("key").string])
            try machine.git("config", "commit.gpgsign", "true")
            try machine.git("config", "gpg.format", "ssh")
            try machine.git("config", "user.signingkey", home.path("key.pub").string)
            let key = try home.text(of: "key.pub")
            try home.write("* \(key)", to: "signers")
            try machine.git("config", "gpg.ssh.allowedSignersFile", home.path("signers").string)
            try machine.save("a", "1\n")
            try await machine.commit()
            try machine.git("verify-commit", "HEAD")
        }
    }

    @Test func aHeldLockIsWaitedFor() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1\n")
            try home.write("", to: "m0/.git/index.lock")
            let committing = Task { await machine.committer.commitPending() }
            try await Task.sleep(for: .milliseconds(200))
            #expect(machine.committer.status.pendingChanges == 1)
            unlink(home.path("m0/.git/index.lock").string)
            await committing.value
            #expect(machine.committer.status.pendingChanges == 0)
            #expect(try machine.dirt == "")
        }
    }

    /// The user's own commit, made from an index that holds our change, or between our index and our branch.
    @Test(.slow) func commitsOfTheUserInBetween() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let users = Task.detached(priority: Task.currentPriority) {
                for number in 0..<15 { try machine.pass(["insert", "-m", "user\(number)"], "text") }
            }
            for number in 0..<40 {
                try machine.save("ours", "\(number)\n")
                try machine.save("ours\(number)", "text\n")
                await machine.committer.commitPending()
                try await Task.sleep(for: .milliseconds(10))
            }
            // `pass insert` must not fail for us.
            try await users.value
            try await machine.commit()
            let story = try machine.git("log", "--stat", "-8") + machine.git("reflog", "-12")
            #expect(try machine.dirt == "", "\(story)")
            #expect(try machine.read("ours") == "39\n")
            #expect(try machine.names.count == 15 + 41)
            try machine.git("fsck", "--strict")
        }
    }
}
