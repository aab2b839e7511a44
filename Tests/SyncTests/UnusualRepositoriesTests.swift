import Git
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Repositories that are not one clone of one remote: repositories in a store, submodules, shallow clones, formats that
/// libgit2 does not read.
@Suite struct UnusualRepositoriesTests {
    /// A store with a repository of its own in the folder `inner`, each with a bare remote.
    private func nested(_ home: TestHome) throws -> Machine {
        let machine = try home.machines(1)[0]
        try home.succeed(["git", "init", "-q", "--bare", "-b", "main", home.path("inner.git").string])
        try machine.git("init", "-q", "-b", "main", "inner")
        try machine.git("-C", "inner", "remote", "add", "origin", home.path("inner.git").string)
        return machine
    }

    @Test(.slow) func repositoriesInAStoreArePushedAndFetched() async throws {
        try await TestHome.with { home in
            let machine = try nested(home)
            try machine.save("inner/a", "1\n")
            try machine.save("outer", "1\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            let inner = home.path("inner.git").string
            func tip(_ place: String) throws -> String { try machine.git("-C", place, "rev-parse", "main") }
            #expect(try tip(inner) == tip("inner"))
            #expect(try tip(home.path("m0.git").string) == tip("."))

            // What others do there comes in, and meets what is done here.
            try home.succeed(["git", "clone", "-q", inner, home.path("other").string])
            try home.succeed(["cp", home.path("m0/.gpg-id").string, home.path("other/.gpg-id").string])
            let other = ["PASSWORD_STORE_DIR": home.path("other").string]
            try home.succeed(["pass", "insert", "-m", "theirs"], input: Array("2\n".utf8), extra: other)
            try home.succeed(["pass", "git", "push", "-q"], extra: other)
            try machine.save("inner/b", "3\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.read("inner/theirs") == "2\n")
            #expect(try tip(inner) == tip("inner"))
            #expect(try machine.git("-C", "inner", "status", "--porcelain") == "")
            #expect(try machine.git("-C", "inner", "ls-files") == "a.gpg\nb.gpg\ntheirs.gpg")
            #expect(machine.committer.status.lastError == nil)

            // A remote that is away says which one, and keeps nobody else from theirs.
            try home.succeed(["mv", inner, inner + ".away"])
            try machine.save("inner/c", "4\n")
            try machine.save("outer", "2\n")
            let complaint = await machine.committer.synchronizeNow()
            #expect(complaint?.hasPrefix("inner: ") == true, "\(complaint ?? "")")
            #expect(try tip(home.path("m0.git").string) == tip("."))
            #expect(machine.committer.wholeStatus.unpushedCommits == 1)
            try home.succeed(["mv", inner + ".away", inner])
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try tip(inner) == tip("inner"))
            #expect(machine.committer.wholeStatus.unpushedCommits == 0)
        }
    }

    /// At the start, nobody has saved anything there yet.
    @Test(.slow) func repositoriesInAStoreAreFoundAtTheStart() async throws {
        try await TestHome.with { home in
            let machine = try nested(home)
            try machine.write("inner/a", "1\n")
            await machine.committer.start()
            #expect(
                try machine.git("-C", home.path("inner.git").string, "rev-parse", "main")
                    == machine.git("-C", "inner", "rev-parse", "main"))
        }
    }

    /// A branch of the one that was moved by force is nothing of the other's.
    @Test(.slow) func eachRepositoryHasItsOwnTroubles() async throws {
        try await TestHome.with { home in
            let machine = try nested(home)
            try machine.save("inner/a", "1\n")
            try machine.save("inner/b", "1\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.save("inner/b", "2\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.git("-C", home.path("inner.git").string, "update-ref", "refs/heads/main", "main~1")
            try machine.save("outer", "1\n")
            try machine.save("inner/c", "1\n")
            let complaint = await machine.committer.synchronizeNow()
            #expect(complaint?.contains("force-pushed") == true, "\(complaint ?? "")")
            #expect(
                complaint?.hasPrefix("inner: ") == true && complaint?.contains("m0/inner") == true,
                "\(complaint ?? "")")
            #expect(
                try machine.git("-C", home.path("m0.git").string, "rev-parse", "main")
                    == machine.git("rev-parse", "main"))
            try machine.git("-C", "inner", "push", "-q", "--force", "origin", "main")
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// What is kept for the store's server is no other's to see.
    @Test(
        .slow,
        arguments: sampled([
            ("https://h.example/a.git", "https://H.example/b.git", true),
            ("https://ann@h.example/a.git", "https://bob:x@h.example/b.git", true),
            ("https://h.example/a.git", "http://h.example/b.git", false),
            ("https://h.example/a.git", "https://h.example:8443/b.git", false),
            ("https://h.example/a.git", "https://h.example.evil/b.git", false),
            ("https://h.example/a.git", "https://evil/@h.example/b.git", false),
            ("git@h.example:a.git", "ssh://me@h.example/b.git", true),
            ("git@h.example:a.git", "git@other.example:b.git", false),
            ("/srv/a.git", "https://h.example/b.git", false),
            ("https://h.example/a.git", "/srv/b.git", false),
        ])) func theStoresCredentialsAreForItsServer(_ own: String, _ inner: String, _ isOne: Bool)
        async throws
    {
        try await TestHome.with { home in
            let machine = try nested(home)
            try machine.git("remote", "set-url", "origin", own)
            try machine.git("-C", "inner", "remote", "set-url", "origin", inner)
            let session = try RemoteSession(at: "inner", machine.committer.state, RemoteMemory())
            #expect(try #require(session).isOnTheStoresServer() == isOne)
        }
    }

    /// `git gc` does not know libgit2's names of packs that are being written.
    @Test func packsThatWereNeverFinishedAreRemoved() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let folder = machine.path.pushing(".git/objects/pack")
            for name in ["pack_git2_old", "pack_git2_new"] {
                try home.write("half a pack", to: "m0/.git/objects/pack/\(name)")
            }
            var times = [timespec(tv_sec: time(nil) - 90_000, tv_nsec: 0)]
            times += times
            utimensat(AT_FDCWD, folder.appending("pack_git2_old").string, &times, 0)
            await machine.committer.start()
            #expect(access(folder.appending("pack_git2_old").string, F_OK) != 0)
            #expect(access(folder.appending("pack_git2_new").string, F_OK) == 0)
        }
    }

    /// A submodule is checked out without a branch, as git leaves it.
    @Test(.slow) func aSubmoduleWithoutABranchKeepsNobodyFromCommitting() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let shared = try home.makeStore(
                "shared", recipients: [try home.makeKey("two@example.org")], remote: true)
            try shared.insert("seen", "1\n")
            try machine.git(
                "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", shared.path.string, "sub")
            try machine.git("commit", "-q", "-m", "Add sub")
            try machine.git("-C", "sub", "checkout", "-q", "--detach")
            try machine.save("sub/new", "2\n")
            try machine.save("own", "1\n")
            await machine.committer.commitPending()
            #expect(try machine.git("ls-tree", "--name-only", "HEAD", "own.gpg") == "own.gpg")
            let complaint = machine.committer.status.lastError ?? ""
            #expect(complaint.contains("no branch is checked out"), "\(complaint)")
            #expect(complaint.contains("/sub"), "\(complaint)")
            #expect(try machine.read("sub/new") == "2\n")
            // The store's own commits go to its remote all the same.
            _ = await machine.committer.synchronizeNow()
            #expect(
                try machine.git("-C", home.path("m0.git").string, "rev-parse", "main")
                    == machine.git("rev-parse", "main"))

            try machine.git("-C", "sub", "switch", "-q", "-c", "mine")
            try await machine.commit()
            #expect(try machine.git("-C", "sub", "show", "--format=", "--name-only") == "new.gpg")
            // Which commit of the submodule belongs to the store is the user's to say.
            #expect(try machine.dirt == " M sub")
        }
    }

    @Test(.slow) func aShallowCloneIsFetchedMergedAndPushed() async throws {
        try await TestHome.with { home in
            let first = try home.machines(1)[0]
            for round in 0..<4 {
                try first.save("a", "\(round)\nuser\nurl\n")
                #expect(await first.committer.synchronizeNow() == nil)
            }
            try home.succeed([
                "git", "clone", "-q", "--depth", "1", "file://" + home.path("m0.git").string,
                home.path("shallow").string,
            ])
            let shallow = try Machine(home, home.path("shallow"))
            #expect(try Repository.open(shallow.path).isShallow)
            try first.save("a", "4\nuser\nurl\n")
            #expect(await first.committer.synchronizeNow() == nil)
            try shallow.save("a", "3\nuser\nthere\n")
            try shallow.save("b", "new\n")
            let complaint = await shallow.committer.synchronizeNow()
            #expect(complaint == nil)
            #expect(await first.committer.synchronizeNow() == nil)
            #expect(try first.read("a") == "4\nuser\nthere\n")
            #expect(try first.git("rev-parse", "HEAD") == shallow.git("rev-parse", "HEAD"))
            #expect(try shallow.dirt == "")
            try first.git("fsck", "--strict")

            // Its history is told as far as it goes.
            let repository = try Repository.open(shallow.path)
            try shallow.save("c", "new\n")
            try await shallow.commit()
            let tip = try #require(try repository.commit(at: "refs/heads/main"))
            let told = try shallow.git("log", "--format=%H", "--topo-order").split(separator: "\n")
            #expect(try Set(repository.log(from: tip).map(\.id.hex)) == Set(told.map(String.init)))
            #expect(try repository.history(of: "c.gpg", from: tip).map(\.commit.id) == [tip])
            #expect(try repository.lastChanges(below: "", from: tip).contains { $0.path == "a.gpg" })
            #expect(shallow.committer.status.unpushedCommits == 1)
        }
    }

    /// One that is broken is not looked at, which is no being in step; the others go on.
    @Test(.slow) func aRepositoryThatCannotBeOpenedIsNotInStep() async throws {
        try await TestHome.with { home in
            let machine = try nested(home)
            try machine.save("inner/a", "1\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["cp", home.path("m0/inner/.git/config").string, home.path("whole").string])
            try home.write("[core", to: "m0/inner/.git/config")
            try machine.save("outer", "1\n")
            let next = try Machine(home, machine.path)
            await next.committer.start()
            for committer in [machine.committer, next.committer] {
                let complaint = await committer.synchronizeNow(looking: true) ?? "in step"
                #expect(complaint.contains(machine.path.appending("inner").string), "\(complaint)")
                #expect(committer.status.notes.contains { $0.contains("/inner") })
            }
            #expect(
                try machine.git("-C", home.path("m0.git").string, "rev-parse", "main")
                    == machine.git("rev-parse", "main"))
            try home.succeed(["mv", home.path("whole").string, home.path("m0/inner/.git/config").string])
            for committer in [machine.committer, next.committer] {
                let complaint = await committer.synchronizeNow(looking: true)
                #expect(complaint == nil, "\(complaint ?? "")")
                #expect(committer.status.notes == [])
            }
        }
    }

    /// A format that libgit2 does not read: said, and reading and saving go on.
    @Test func aSHA256RepositoryIsSaid() async throws {
        try await TestHome.with { home in
            let store = try home.makeStore(
                "m0", recipients: [try home.makeKey("one@example.org")], git: false)
            try home.succeed(["git", "init", "-q", "--object-format=sha256", store.path.string])
            let machine = try Machine(home, store.path)
            await machine.committer.start()
            let complaint = machine.committer.status.lastError ?? ""
            #expect(complaint.contains("commits are off for this store"), "\(complaint)")
            #expect(machine.committer.status.state == .noCommits)
            try machine.save("a", "1\n")
            await machine.committer.commitPending()
            #expect(machine.committer.status.lastError?.contains("commits are off") == true)
            #expect(try machine.read("a") == "1\n")
            #expect(try machine.git("status", "--porcelain", "a.gpg") == "?? a.gpg")
        }
    }
}
