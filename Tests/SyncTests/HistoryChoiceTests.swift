import Git
import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Stores
@testable import Sync

/// A remote whose branch was moved by force, replaced by another history, or removed: the user chooses whose goes on.
@Suite(.serialized) struct HistoryChoiceTests {
    /// What somebody did to the remote, from a clone in `~/else`.
    enum Deed: String, CaseIterable {
        case movedBack = "git reset -q --hard HEAD~1; git push -qf origin main"
        case rewritten =
            "git reset -q --hard HEAD~1; echo x > plain; git add .; git commit -qm again; git push -qf origin main"
        case replaced =
            "git checkout -q --orphan new; git rm -q --cached -r leaked.gpg; git commit -qm new; git push -qf origin new:main"
    }

    private func text(_ machine: Machine, _ commit: String, _ path: String) throws -> String {
        try machine.git("rev-parse", "\(commit):\(path)")
    }

    /// Two machines in step, then the deed, then an edit of ours that the remote never saw.
    private func part(_ deed: Deed, _ home: TestHome) async throws -> [Machine] {
        let machines = try home.machines(2)
        try machines[0].save("mail/imap", "one\n")
        try machines[0].save("leaked", "oops\n")
        for machine in machines { #expect(await machine.committer.synchronizeNow() == nil) }
        let script = "set -e; git clone -q '\(home.path("m0.git"))' ~/else; cd ~/else; \(deed.rawValue)"
        try home.succeed(["bash", "-c", script])
        try machines[1].save("more", "of mine\n")
        let complaint = try #require(await machines[1].committer.synchronizeNow())
        #expect(complaint.contains("passdir sync --theirs") && complaint.contains("--ours"), "\(complaint)")
        return machines
    }

    @Test(.slow) func whatWasRefusedInBetweenHidesNoForce() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(2)[0]
            for name in ["first", "leaked"] {
                try machine.save(name, "text\n")
                #expect(await machine.committer.synchronizeNow() == nil)
            }
            let elsewhere = "set -e; cd ~/else; "
            try home.succeed([
                "bash", "-c",
                "git clone -q '\(home.path("m0.git"))' ~/else; \(elsewhere) git rm -q .gpg-id; "
                    + "git commit -qm list; git push -q origin main",
            ])
            let refusal = try #require(await machine.committer.synchronizeNow())
            #expect(refusal.contains("no longer has a .gpg-id"), "\(refusal)")
            try home.succeed([
                "bash", "-c", elsewhere + "git reset -q --hard HEAD~2; git push -qf origin main",
            ])
            let complaint = try #require(await machine.committer.synchronizeNow())
            #expect(complaint.contains("force-pushed"), "\(complaint)")
        }
    }

    @Test(.slow, arguments: Deed.allCases) func theirsIsFollowedAndOursKept(_ deed: Deed) async throws {
        try await TestHome.with { home in
            let machine = try await part(deed, home)[1]
            let before = try machine.git("rev-parse", "HEAD")
            let (complaint, chosen) = await machine.committer.synchronizeNow(choosing: .theirs)
            #expect(complaint == nil, "\(complaint ?? "")")
            let sentence = try #require(chosen.first)
            let branch = try #require(sentence.split(separator: " ").last)
            #expect(try machine.git("rev-parse", "HEAD", "origin/main").split(separator: "\n").count == 2)
            let remote = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
            #expect(try machine.git("rev-parse", "HEAD") == remote)
            #expect(try machine.git("rev-parse", "origin/main") == remote)
            #expect(try machine.git("rev-parse", String(branch)) == before)
            #expect(try machine.dirt == "")
            #expect(try machine.read("leaked") == nil)
            #expect(await machine.committer.synchronizeNow() == nil)
            // Saves go on.
            try machine.save("after", "text\n")
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// Puts ours in the remote's place: theirs is kept on the branch that is named, and the remote has what is here.
    private func chooseOurs(_ machine: Machine, keeping theirs: Substring) async throws {
        let (complaint, chosen) = await machine.committer.synchronizeNow(choosing: .ours)
        #expect(complaint == nil, "\(complaint ?? "")")
        let branch = try #require(chosen.first?.split(separator: " ").last)
        #expect(try machine.git("rev-parse", String(branch)) == theirs)
        let remote = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
        #expect(try machine.git("rev-parse", "HEAD") == remote)
    }

    @Test(.slow, arguments: Deed.allCases) func oursIsPutBackAndTheirsKept(_ deed: Deed) async throws {
        try await TestHome.with { home in
            let machine = try await part(deed, home)[1]
            let theirs = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
            try await chooseOurs(machine, keeping: theirs)
            #expect(try machine.git("rev-parse", "origin/main") == machine.git("rev-parse", "HEAD"))
            #expect(try machine.read("leaked") == "oops\n" && machine.read("more") == "of mine\n")
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// What somebody did to the remote, on top of what is there, that is not taken in.
    enum Ruin: String, CaseIterable {
        case emptied = "git rm -qr ."
        case withoutList = "git rm -q .gpg-id"
        case hugeList = "yes 0123456789ABCDEF | head -c 1100000 >>.gpg-id; git add ."
        case hugeListBelow = "mkdir team; yes 0123456789ABCDEF | head -c 1100000 >team/.gpg-id; git add ."
        case refusedName = "mkdir .passdir-x; cp leaked.gpg .passdir-x/y.gpg; git add ."
    }

    @Test(.slow, arguments: Ruin.allCases) func whatIsNotTakenInCanBeReplaced(_ ruin: Ruin) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("leaked", "oops\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            let script = """
                set -e; git clone -q '\(home.path("m0.git"))' ~/else; cd ~/else; \(ruin.rawValue)
                git commit -qm ruin; git push -q origin main
                """
            try home.succeed(["bash", "-c", script])
            let theirs = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
            try machine.save("more", "of mine\n")
            let refusal = try #require(await machine.committer.synchronizeNow())
            #expect(refusal.contains("was refused"), "\(refusal)")
            #expect(refusal.contains("passdir sync --ours m0"), "\(refusal)")
            #expect(try machine.git("ls-remote", "origin", "refs/heads/main").hasPrefix(theirs))
            try await chooseOurs(machine, keeping: theirs)
            #expect(try machine.dirt == "")
            try machine.save("after", "text\n")
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// Where it was moved again since it was looked at, nothing is replaced.
    @Test(arguments: [Transport.libgit2, .git]) func aPushReplacesOnlyWhatWasSeen(_ transport: Transport)
        throws
    {
        try TestHome.with { home in
            let script = """
                set -e; git init -q --bare r.git; git init -q w; cd w; git remote add origin ../r.git
                for n in 1 2 3; do git commit -q --allow-empty -m $n; git branch b$n; done
                git push -q origin b2:main; git checkout -q -b other b1; git commit -q --allow-empty -m other
                """
            try home.succeed(["bash", "-c", script])
            let repository = try #require(try Repository.open(workingTree: home.path("w")))
            let tip = { (name: String) throws in try #require(try repository.commit(at: "refs/heads/\(name)"))
            }
            func push(replacing lease: ObjectID) -> Bool {
                var request = TransferRequest(
                    .push, repository: repository.gitDirectory, remote: home.path("r.git").string,
                    localRef: "refs/heads/other", remoteRef: "refs/heads/main", trackingRef: "refs/x",
                    transport: transport)
                request.lease = lease
                #expect(TransferRequest(fields: request.fields) == request)
                do {
                    switch transport {
                    case .git: try GitProgram.run(request)
                    case .libgit2, .automatic:
                        try repository.push(
                            remote: request.remote, localRef: request.localRef, remoteRef: request.remoteRef,
                            replacing: lease)
                    }
                    return true
                } catch let error as TransferFailure {
                    #expect(error.code == .nonFastForward)
                    return false
                } catch {
                    #expect((error as? GitError)?.code == .nonFastForward)
                    return false
                }
            }
            func remote() throws -> String {
                String(
                    decoding: try home.succeed(
                        ["git", "-C", home.path("r.git").string, "rev-parse", "main"]).dropLast(),
                    as: UTF8.self)
            }
            #expect(try !push(replacing: tip("b1")) && !push(replacing: tip("b3")))
            #expect(try remote() == tip("b2").hex)
            #expect(try push(replacing: tip("b2")))
            #expect(try remote() == tip("other").hex)
        }
    }

    /// The branch is gone: only the user puts it there again.
    @Test(.slow, arguments: [Transport.libgit2, .git]) func aBranchThatIsGone(_ transport: Transport)
        async throws
    {
        try await TestHome.with { home in
            let machine = try home.machines(2) { $0.transport = transport }[1]
            try machine.save("mail/imap", "one\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["git", "-C", home.path("m0.git").string, "update-ref", "-d", "refs/heads/main"])
            try machine.save("more", "of mine\n")
            for choice in [nil, HistoryChoice.theirs] {
                let complaint =
                    if let choice { await machine.committer.synchronizeNow(choosing: choice).complaint } else
                    {
                        await machine.committer.synchronizeNow()
                    }
                #expect(complaint?.contains("passdir sync --ours") == true, "\(complaint ?? "in sync")")
            }
            #expect(await machine.committer.synchronizeNow(choosing: .ours).complaint == nil)
            let remote = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
            #expect(try machine.git("rev-parse", "HEAD") == remote)
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// A choice replaces nothing where the histories have not parted.
    @Test(.slow, arguments: HistoryChoice.allCases) func aChoiceWhereThereIsNone(_ choice: HistoryChoice)
        async throws
    {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("mail/imap", "one\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            try machines[1].save("more", "of mine\n")
            let (complaint, chosen) = await machines[1].committer.synchronizeNow(choosing: choice)
            #expect(complaint == nil && chosen.isEmpty)
            #expect(try machines[1].read("mail/imap") == "one\n" && machines[1].read("more") == "of mine\n")
            #expect(try machines[1].git("branch", "--format=%(refname:short)") == "main")
        }
    }
}
