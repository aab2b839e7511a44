import Git
import Glibc
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Two machines on one remote; a machine's `sync` is what `passdir sync` does.
@Suite(.serialized) struct MergeTests {
    private func sync(_ machine: Machine, fails: Bool = false) async throws {
        let complaint = await machine.committer.synchronizeNow()
        if !fails, let complaint { throw TestFailure(complaint) }
        if fails, complaint == nil { throw TestFailure("the sync did not fail") }
    }

    /// Both have seen everything: the same commit, clean working trees.
    private func expectEqual(_ machines: [Machine], sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        let tip = try machines[0].git("rev-parse", "HEAD")
        for machine in machines {
            #expect(try machine.git("rev-parse", "HEAD") == tip, sourceLocation: sourceLocation)
            #expect(try machine.dirt == "", sourceLocation: sourceLocation)
            #expect(machine.committer.status.lastError == nil, sourceLocation: sourceLocation)
            _ = try machine.git("fsck", "--strict")
        }
    }

    private func start(_ change: (Machine) throws -> Void, _ home: TestHome) async throws -> [Machine] {
        let machines = try home.machines(2)
        try machines[0].save("mail/imap", "secret\nuser: me\nurl: there\n")
        try change(machines[0])
        try await sync(machines[0])
        try await sync(machines[1])
        try expectEqual(machines)
        return machines
    }

    private func start(home: TestHome) async throws -> [Machine] {
        try await start({ _ in }, home)
    }

    @Test(.slow) func fastForward() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("a/b", "new\n")
            try machines[0].remove("mail/imap")
            try await sync(machines[0])
            try await sync(machines[1])
            #expect(try machines[1].read("a/b") == "new\n")
            #expect(try machines[1].read("mail/imap") == nil)
            #expect(access(machines[1].path.appending("mail").string, F_OK) != 0)
            try expectEqual(machines)
        }
    }

    /// Holds:
    /// - A commit of the user's that comes while a merge is put in place: the merge is made anew, nothing of the remote's
    ///   becomes a change of ours, and nothing is reverted.
    @Test(.slow, arguments: ["merge.quiet", "merge.before-index", "merge.before-ref"])
    func aCommitOfTheUserMeanwhile(_ place: String) async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("a/b", "new\n")
            try machines[0].save("mail/imap", "changed\n")
            try await sync(machines[0])
            try machines[1].save("own", "mine\n")
            try await machines[1].commit()
            let isDone = Mutex(false)
            let mergeHead = machines[1].path.pushing(".git/MERGE_HEAD").string
            try await Fault.$onPoint.withValue({ point in
                let isFirst = isDone.withLock { isDone in
                    defer { isDone = isDone || point == place }
                    return point == place && !isDone
                }
                guard isFirst else { return }
                _ = try? machines[1].git("commit", "-q", "--allow-empty", "-m", "the user's")
                // And the user goes on with something that keeps the merge waiting.
                _ = try? machines[1].git("update-ref", "MERGE_HEAD", "HEAD")
            }) { try await sync(machines[1], fails: true) }
            #expect(try machines[1].dirt == "")
            #expect(unlink(mergeHead) == 0)
            try machines[1].save("own", "more\n")
            for _ in 0..<2 { try await machines[1].commit() }
            try await sync(machines[1])
            try await sync(machines[0])
            try expectEqual(machines)
            #expect(try machines[1].read("a/b") == "new\n")
            #expect(try machines[1].read("mail/imap") == "changed\n")
            #expect(try machines[1].read("own") == "more\n")
            // Once the index holds them, the user's commit does.
            guard place != "merge.before-ref" else { return }
            let commits = try machines[1].git(
                "log", "--no-merges", "--format=%s", "--", "a/b.gpg", "mail/imap.gpg")
            #expect(commits.split(separator: "\n").count == 2, "\(commits)")
        }
    }

    /// The daemon ends while a merge is being prepared.
    ///
    /// Holds:
    /// - A merge that is under way when the time of the end is over leaves everything as it was; the next start takes it in.
    @Test(.slow, arguments: [false, true]) func theEndWaitsForNoMerge(bothChanged: Bool) async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("a/b", "one\ntwo\nof 0\n")
            try await sync(machines[0])
            try machines[1].save(bothChanged ? "a/b" : "own", "of 1\n")
            try await machines[1].commit()
            let before = try machines[1].git("rev-parse", "HEAD")
            let committer = machines[1].committer
            let ending = Mutex<Task<Void, Never>?>(nil)
            let complaint = await Fault.$onPoint.withValue({ point in
                // Once what both changed is merged, or before.
                guard point == "merge.written", ending.withLock({ $0 == nil }) else { return }
                ending.withLock { $0 = Task { await committer.finish(timeout: .zero) } }
                try? home.waitUntil("the end is known") { committer.state.isOutOfTime }
            }) { await committer.synchronizeNow() }
            await ending.withLock(\.self)?.value
            #expect(complaint?.contains("passdir exits") == true, "\(complaint ?? "in step")")
            #expect(try machines[1].git("rev-parse", "HEAD") == before)
            #expect(try machines[1].dirt == "")
        }
    }

    @Test(.slow) func differentSecrets() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("a", "of 0\n")
            try machines[1].save("b", "of 1\n")
            try await sync(machines[0])
            try await sync(machines[1])
            try await sync(machines[0])
            #expect(try machines[0].read("b") == "of 1\n")
            #expect(try machines[1].read("a") == "of 0\n")
            try expectEqual(machines)
            #expect(try machines[0].git("log", "-1", "--format=%p %s").split(separator: " ").count > 2)
        }
    }

    @Test(.slow) func differentLinesOfOneSecret() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("mail/imap", "changed\nuser: me\nurl: there\n")
            try machines[1].save("mail/imap", "secret\nuser: you\nurl: there\n")
            for number in [0, 1, 0] { try await sync(machines[number]) }
            #expect(try machines[0].read("mail/imap") == "changed\nuser: you\nurl: there\n")
            #expect(try machines[0].names == ["mail/imap"])
            try expectEqual(machines)
        }
    }

    @Test(.slow) func theSameLineKeepsBoth() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("mail/imap", "of 0\nuser: me\nurl: there\n")
            try machines[1].save("mail/imap", "of 1\nuser: me\nurl: there\n")
            for number in [0, 1, 0] { try await sync(machines[number]) }
            let names = try machines[0].names
            #expect(names.count == 2)
            let conflict = try #require(names.first { $0.contains(".conflict-") })
            #expect(conflict.hasPrefix("mail/imap.conflict-\(ConflictName.host)-"))
            // The remote's version keeps the name.
            #expect(try machines[0].read("mail/imap") == "of 0\nuser: me\nurl: there\n")
            #expect(try machines[0].read(conflict) == "of 1\nuser: me\nurl: there\n")
            try expectEqual(machines)
            let found = ConflictList(machines[0].store).find()
            #expect(found == [.init(path: FilePath(conflict + ".gpg"), original: "mail/imap.gpg")])
            // `status` tells of it on both.
            for machine in machines {
                #expect(ConflictList(machine.store).known == [FilePath(conflict + ".gpg")])
            }
        }
    }

    @Test(.slow) func binarySecretsAreBothKept() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].write("bin", [0, 1, 2, 10, 3, 10])
            machines[0].committer.note(.saved("bin.gpg"))
            try await sync(machines[0])
            try await sync(machines[1])
            try machines[0].write("bin", [0, 9, 2, 10, 3, 10])
            machines[0].committer.note(.saved("bin.gpg"))
            try machines[1].write("bin", [0, 1, 2, 10, 9, 10])
            machines[1].committer.note(.saved("bin.gpg"))
            for number in [0, 1, 0] { try await sync(machines[number]) }
            #expect(try machines[0].names.count == 2)
            try expectEqual(machines)
        }
    }

    @Test(.slow) func anEditBeatsARemoval() async throws {
        try await TestHome.with { home in
            let machines = try await start({ try $0.save("other", "one\n") }, home)
            try machines[0].save("mail/imap", "edited\n")
            try machines[1].remove("mail/imap")
            try machines[0].remove("other")
            try machines[1].save("other", "two\n")
            for number in [0, 1, 0] { try await sync(machines[number]) }
            #expect(try machines[1].read("mail/imap") == "edited\n")
            #expect(try machines[0].read("other") == "two\n")
            try expectEqual(machines)
        }
    }

    @Test(.slow) func aRenameAndAnEdit() async throws {
        try await TestHome.with { home in
            let machines = try await start({ try $0.save("other", "one\n") }, home)
            try machines[0].rename("mail/imap", to: "post")
            try machines[1].save("mail/imap", "edited\n")
            try machines[0].save("other", "two\n")
            try machines[1].rename("other", to: "another")
            for number in [0, 1, 0] { try await sync(machines[number]) }
            #expect(try machines[0].names == ["another", "post"])
            #expect(try machines[0].read("post") == "edited\n")
            #expect(try machines[0].read("another") == "two\n")
            try expectEqual(machines)
        }
    }

    @Test(.slow) func bothAddTheSameName() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("new", "of 0\n")
            try machines[1].save("new", "of 1\n")
            try machines[0].save("same", "same\n")
            try machines[1].save("same", "same\n")
            for number in [0, 1, 0] { try await sync(machines[number]) }
            let names = try machines[0].names
            #expect(names.count == 4 && names.filter { $0.hasPrefix("same") } == ["same"])
            try expectEqual(machines)
        }
    }

    @Test(.slow) func recipientsChangedOnBothSidesAreNotMerged() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            let two = try home.makeKey("two@example.org")
            let three = try home.makeKey("three@example.org")
            let list = try home.text(of: "m0/.gpg-id")
            try home.write(list + two.fingerprint + "\n", to: "m0/.gpg-id")
            try home.write(list + three.fingerprint + "\n", to: "m1/.gpg-id")
            for machine in machines { machine.committer.note(.saved(".gpg-id")) }
            try await sync(machines[0])
            try machines[1].save("mail/imap", "goes on\n")
            try await sync(machines[1], fails: true)
            let status = machines[1].committer.status
            #expect(status.lastError?.contains(".gpg-id was changed here and on the remote") == true)
            #expect(try home.text(of: "m1/.gpg-id") == list + three.fingerprint + "\n")
            #expect(try machines[1].dirt == "")
            // Settled by the user with git, it goes on.
            _ = try home.run(["git", "pull", "--no-rebase", "-q"], in: machines[1].path)
            try home.write(list + two.fingerprint + "\n" + three.fingerprint + "\n", to: "m1/.gpg-id")
            try machines[1].git("add", ".gpg-id")
            try machines[1].git("commit", "-q", "-m", "Settle")
            try await sync(machines[1])
            try await sync(machines[0])
            try expectEqual(machines)
        }
    }

    @Test(.slow) func anUncommittedEditIsCommittedBeforeTheMerge() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("mail/imap", "of 0\nuser: me\nurl: there\n")
            try await sync(machines[0])
            // Not noted: somebody's editor wrote it.
            try machines[1].write("mail/imap", "secret\nuser: me\nurl: here\n")
            try await sync(machines[1])
            #expect(try machines[1].read("mail/imap") == "of 0\nuser: me\nurl: here\n")
            try await sync(machines[0])
            try expectEqual(machines)
        }
    }

    /// While the key is locked the merge waits: reading other things, saving and committing go on.
    @Test(.slow) func aLockedKeyLetsTheMergeWait() async throws {
        try await TestHome.with { home in
            try home.usePinentry(.answer("open sesame"))
            let machines = try home.machines(2, passphrase: "open sesame")
            try machines[0].save("mail/imap", "secret\nuser: me\nurl: there\n")
            for machine in machines { try await sync(machine) }
            try machines[0].save("mail/imap", "changed\nuser: me\nurl: there\n")
            try await sync(machines[0])
            try machines[1].save("mail/imap", "secret\nuser: you\nurl: there\n")
            try home.usePinentry(.cancel)
            let complaint = try #require(await machines[1].committer.synchronizeNow())
            #expect(
                complaint.contains("mail/imap") || complaint.contains("cannot be decrypted now"),
                "\(complaint)")
            #expect(machines[1].committer.status.lastError?.contains("are pending") == true)
            #expect(try machines[1].dirt == "")
            // Nothing half merged, and saves are committed.
            try machines[1].save("other", "saved meanwhile\n")
            await machines[1].committer.commitPending()
            #expect(
                try machines[1].git("log", "-1", "--format=%s") == "Add given password for other to store.")
            #expect(try machines[1].dirt == "")
            try home.usePinentry(.answer("open sesame"))
            for number in [1, 0] { try await sync(machines[number]) }
            #expect(try machines[0].read("mail/imap") == "changed\nuser: you\nurl: there\n")
            #expect(try machines[0].read("other") == "saved meanwhile\n")
            try expectEqual(machines)
        }
    }

    /// A prompt that nobody answers blocks the merge only.
    @Test(.slow) func anOpenPromptBlocksNobodyElse() async throws {
        try await TestHome.with { home in
            try home.usePinentry(.answer("open sesame"))
            let machines = try home.machines(2, passphrase: "open sesame")
            try machines[0].save("mail/imap", "secret\nuser: me\nurl: there\n")
            for machine in machines { try await sync(machine) }
            try machines[0].save("mail/imap", "changed\nuser: me\nurl: there\n")
            try await sync(machines[0])
            try machines[1].save("mail/imap", "secret\nuser: you\nurl: there\n")
            let pinentry = try home.usePinentry(.block("open sesame"))
            let before = pinentry.promptCount()
            let merging = Task { await machines[1].committer.synchronizeNow() }
            // Without blocking: the merge needs a thread of the same pool.
            let end = ContinuousClock.now + .seconds(60)
            while pinentry.promptCount() == before, .now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(pinentry.promptCount() > before, "the merge has not asked for the passphrase")
            // The store's own commits go on while the question is open.
            try machines[1].save("other", "saved meanwhile\n")
            await machines[1].committer.commitPending()
            #expect(
                try machines[1].git("log", "-1", "--format=%s") == "Add given password for other to store.")
            try pinentry.release()
            #expect(await merging.value == nil)
            try await sync(machines[0])
            #expect(try machines[0].read("mail/imap") == "changed\nuser: you\nurl: there\n")
            #expect(try machines[0].read("other") == "saved meanwhile\n")
            try expectEqual(machines)
        }
    }

    @Test(.slow) func whatIsStagedIsLeftAlone() async throws {
        try await TestHome.with { home in
            let machines = try await start({ try $0.save("other", "one\n") }, home)
            try machines[1].write("other", "staged\n")
            try machines[1].git("add", "other.gpg")
            try machines[0].save("mail/imap", "of 0\n")
            try await sync(machines[0])
            try await sync(machines[1])
            #expect(try machines[1].dirt == "M  other.gpg")
            #expect(try machines[1].read("mail/imap") == "of 0\n")
        }
    }

    @Test(.slow) func aForceMovedBranchIsNotMerged() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("leaked", "oops\n")
            try await sync(machines[0])
            try await sync(machines[1])
            try machines[0].git("reset", "-q", "--hard", "HEAD~1")
            try machines[0].git("push", "-q", "--force")
            try machines[1].save("more", "text\n")
            try await sync(machines[1], fails: true)
            #expect(machines[1].committer.status.lastError?.contains("force-pushed") == true)
            #expect(try machines[1].read("more") == "text\n")
            #expect(
                try machines[0].git("ls-remote", "origin", "main").hasPrefix(
                    try machines[0].git("rev-parse", "main")))
            try machines[1].git("fetch", "-q")
            try machines[1].git("reset", "-q", "--hard", "origin/main")
            try await sync(machines[1])
            #expect(machines[1].committer.status.lastError == nil)
        }
    }

    @Test(.slow) func anotherHistoryIsNotMerged() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            let bare = home.path("m0.git")
            try home.succeed(["rm", "-rf", bare.string])
            let other = try home.makeStore(
                "other", recipients: [try home.makeKey("two@example.org")], remote: true)
            try home.succeed(["mv", home.path("other.git").string, bare.string])
            _ = other
            try machines[0].save("more", "text\n")
            try await sync(machines[0], fails: true)
            let complaint = machines[0].committer.status.lastError ?? ""
            #expect(complaint.contains("unrelated") || complaint.contains("force-pushed"))
            #expect(try machines[0].dirt == "")
        }
    }

    @Test func aDetachedHeadIsSaid() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].git("checkout", "-q", "--detach")
            try machines[0].save("more", "text\n")
            await machines[0].committer.commitPending()
            #expect(machines[0].committer.status.lastError?.contains("no branch is checked out") == true)
            #expect(try machines[0].read("more") == "text\n")
            try machines[0].git("checkout", "-q", "main")
            try await machines[0].commit()
            #expect(try machines[0].dirt == "")
        }
    }
}
