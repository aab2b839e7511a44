import Git
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// The entries of submodules in a store's branch: each is a commit at a path, and a folder that may not be checked out.
@Suite struct SubmoduleTests {
    /// A repository with one secret, to be a submodule.
    private func other(_ home: TestHome) throws -> TestStore {
        let store = try home.makeStore("other", recipients: [home.makeKey("two@example.org")], remote: true)
        try store.insert("seen", "1\n")
        try store.git("push", "-q")
        return store
    }

    /// As `git clone` leaves it: a folder of that name with nothing in it.
    @Test func whatIsSavedIntoASubmoduleThatIsNotCheckedOutIsNotCommitted() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let other = try other(home)
            let adding = ["-c", "protocol.file.allow=always"]
            try home.succeed(
                ["git"] + adding + ["submodule", "--quiet", "add", other.remote!.string, "in/sub"],
                in: machine.path)
            try machine.git("commit", "-q", "-m", "Add sub")
            try machine.git("submodule", "--quiet", "deinit", "-f", "in/sub")
            let entry = try machine.git("ls-tree", "-r", "HEAD", "in/sub")
            #expect(entry.hasPrefix("160000"))
            try machine.save("in/sub/new", "2\n")
            try machine.save("in/own", "1\n")
            let complaint = await machine.committer.synchronizeNow() ?? ""
            #expect(complaint.contains("in/sub/new"), "\(complaint)")
            #expect(complaint.contains("git submodule update --init in/sub"), "\(complaint)")
            func isAsItWas() throws {
                #expect(try machine.git("ls-tree", "-r", "HEAD", "in/sub") == entry)
                #expect(try machine.git("ls-files", "--stage", "in/sub").hasPrefix("160000"))
                #expect(try machine.git("ls-tree", "HEAD", "in/own.gpg") != "")
                #expect(
                    try machine.git("-C", home.path("m0.git").string, "rev-parse", "main")
                        == machine.git("rev-parse", "main"))
                #expect(try machine.read("in/sub/new") == "2\n")
            }
            try isAsItWas()
            #expect(machine.committer.status.notes.contains { $0.contains("in/sub/new") })

            // A folder that is moved there stays where it is, and is told, too.
            try machine.save("dir/x", "3\n")
            try await machine.commit()
            try machine.store.root.rename("dir", to: "in/sub/dir")
            machine.committer.note(.renamed(from: "dir", to: "in/sub/dir"))
            #expect(await machine.committer.synchronizeNow() != nil)
            try isAsItWas()
            #expect(machine.committer.status.notes.contains { $0.contains("in/sub/dir/x") })

            // Another process finds it, too.
            let next = try Machine(home, machine.path)
            await next.committer.start()
            #expect(next.committer.status.notes.contains { $0.contains("in/sub/new") })
            try isAsItWas()

            // What the sentence says helps.
            try home.succeed(["mv", machine.path.pushing("in/sub/new.gpg").string, home.folder.string])
            try home.succeed(["rm", "-r", machine.path.pushing("in/sub/dir").string])
            try home.succeed(
                ["git"] + adding + ["submodule", "--quiet", "update", "--init", "in/sub"], in: machine.path)
            try machine.git("-C", "in/sub", "switch", "-q", "main")
            try home.succeed(["mv", home.path("new.gpg").string, machine.path.pushing("in/sub").string])
            let after = await machine.committer.synchronizeNow(looking: true)
            #expect(after == nil, "\(after ?? "")")
            #expect(try machine.git("-C", "in/sub", "show", "--format=", "--name-only") == "new.gpg")
        }
    }

    /// What lies at a submodule's path when others put its entry there.
    enum Before: CaseIterable, Sendable { case theSame, edited, editedUncommitted, removed }

    @Test(.slow, arguments: Before.allCases)
    func aSubmoduleInThePlaceOfASecretIsTakenIn(_ before: Before) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("mail/imap", "one\n")
            for machine in machines { #expect(await machine.committer.synchronizeNow() == nil) }
            let script = """
                set -e; git clone -q '\(home.path("m0.git"))' ~/else; cd ~/else; git rm -q mail/imap.gpg
                git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),mail/imap.gpg
                git commit -qm sub; git push -q origin main
                """
            try home.succeed(["bash", "-c", script])
            let ours = machines[1]
            switch before {
            case .theSame: break
            case .edited:
                try ours.save("mail/imap", "two\n")
                try await ours.commit()
            case .editedUncommitted: try ours.write("mail/imap", "two\n")
            case .removed:
                try ours.remove("mail/imap")
                try await ours.commit()
            }
            let complaint = await ours.committer.synchronizeNow()
            #expect(complaint == nil, "\(complaint ?? "")")
            #expect(try ours.git("ls-tree", "HEAD", "mail/imap.gpg").hasPrefix("160000"))
            #expect(try ours.git("ls-remote", "origin", "main").hasPrefix(ours.git("rev-parse", "HEAD")))
            #expect(try ours.dirt == "")
            let kept = try ours.names.filter { $0.contains(".conflict-") }
            #expect(kept.count == (before == .edited || before == .editedUncommitted ? 1 : 0))
            for name in kept { #expect(try ours.read(name) == "two\n") }
            // Saves go on, and the other machine takes it in as well.
            try ours.save("after", "text\n")
            #expect(await ours.committer.synchronizeNow() == nil)
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(try machines[0].git("rev-parse", "HEAD") == ours.git("rev-parse", "HEAD"))
            #expect(try machines[0].dirt == "")

            // And back again.
            try home.succeed([
                "bash", "-c",
                """
                set -e; cd ~/else; git pull -q; git rm -q --cached mail/imap.gpg; rm -rf mail/imap.gpg; mkdir -p mail
                cp after.gpg mail/imap.gpg; git add .; git commit -qm back; git push -q origin main
                """,
            ])
            #expect(await ours.committer.synchronizeNow() == nil)
            #expect(try ours.read("mail/imap") == "text\n")
            #expect(try ours.dirt == "")
        }
    }
}
