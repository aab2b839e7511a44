import Git
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Where `git push` would go elsewhere, or would refuse, passdir pushes nothing and says so.
@Suite struct PushObjectionTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// git's words; `~/b.git` is a second remote, `b`.
        var settings: [String]
        /// What is said; nil: it is pushed.
        var says: String?

        init(_ name: String, _ settings: [String], says: String?) {
            (testDescription, self.settings, self.says) = (name, settings, says)
        }
    }

    static let rows = [
        Row("a plain clone", [], says: nil),
        Row(
            "an upstream of another name", ["git branch -q -m mine"],
            says: "git config push.default upstream"),
        Row(
            "… that git is told to push to", ["git branch -q -m mine", "git config push.default upstream"],
            says: nil),
        Row(
            "… and pushes to its own name", ["git branch -q -m mine", "git config push.default current"],
            says: "git config push.default upstream"),
        Row(
            "a remote of the branch's to push to", ["git config branch.main.pushRemote b"],
            says: "branch.main.pushRemote"),
        Row("… that is the same", ["git config branch.main.pushRemote origin"], says: nil),
        Row("a remote to push to", ["git config remote.pushDefault b"], says: "remote.pushDefault"),
        Row(
            "… but not of this branch",
            ["git config remote.pushDefault b", "git config branch.main.pushRemote origin"], says: nil),
        Row(
            "several URLs to push to",
            [
                "git remote set-url --add --push origin ~/m0.git",
                "git remote set-url --add --push origin ~/b.git",
            ], says: "remote.origin.pushurl"),
        Row("several URLs", ["git remote set-url --add origin ~/b.git"], says: "remote.origin.url"),
        Row(
            "a rule where branches go", ["git config remote.origin.push refs/heads/main:refs/heads/theirs"],
            says: "remote.origin.push"),
        Row(
            "… that says the same", ["git config remote.origin.push refs/heads/*:refs/heads/*"], says: nil),
    ]

    @Test(.slow, arguments: rows) func whereGitWouldPushElsewhereNothingIsPushed(_ row: Row) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            let script =
                ["set -e", "git clone -q --bare ~/m0.git ~/b.git", "git remote add b ~/b.git"]
                + row.settings
            try home.succeed(["bash", "-c", script.joined(separator: "\n")], in: machine.path)
            func refs(_ name: String) throws -> String {
                try machine.git("-C", home.path(name).string, "for-each-ref")
            }
            let before = try (refs("m0.git"), refs("b.git"))
            try machine.save("a", "2\n")
            let complaint = await machine.committer.synchronizeNow()
            #expect(try refs("b.git") == before.1)
            if let says = row.says {
                #expect(complaint?.contains(says) == true, "\(complaint ?? "in sync")")
                #expect(machine.committer.status.lastError?.contains(says) == true)
                #expect(try refs("m0.git") == before.0)
            } else {
                #expect(complaint == nil, "\(complaint ?? "")")
                let tip = try machine.git("rev-parse", "HEAD")
                #expect(try machine.git("-C", home.path("m0.git").string, "rev-parse", "main") == tip)
            }
            // What others push there is taken in all the same.
            try home.succeed([
                "bash", "-c",
                """
                set -e; git clone -q ~/m0.git ~/else; cd ~/else; cp a.gpg theirs.gpg; git add .; git commit -qm theirs
                git push -q
                """,
            ])
            _ = await machine.committer.synchronizeNow()
            #expect(try machine.read("theirs") != nil)
        }
    }

    /// The user's word that ours go there does not say where.
    @Test func oursArePutNowhereElseEither() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "1\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed([
                "bash", "-c",
                """
                set -e; git clone -q ~/m0.git ~/else; cd ~/else; git commit -q --amend -m again; git push -qf
                """,
            ])
            try machine.git("config", "remote.pushDefault", "b")
            let before = try machine.git("ls-remote", "origin")
            let (complaint, chosen) = await machine.committer.synchronizeNow(choosing: .ours)
            #expect(complaint?.contains("remote.pushDefault") == true, "\(complaint ?? "")")
            #expect(chosen.isEmpty)
            #expect(try machine.git("ls-remote", "origin") == before)
        }
    }
}
