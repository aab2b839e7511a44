import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What lies in a store and not in git stays on this machine, whatever names others push.
@Suite(.serialized) struct InTheWayTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        /// What the user has in the store's folder, made by a shell there.
        var here: String
        /// What somebody else pushes.
        var there: String
        /// The path that the complaint names.
        var says: String
        var testDescription: String { name }
    }

    static let rows = [
        Row(name: "file", here: "echo PLAIN > todo.txt", there: "echo x > todo.txt", says: "todo.txt"),
        Row(
            name: "folder", here: "mkdir -p private/deep; echo PLAIN > private/deep/a.txt",
            there: "echo x > private",
            says: "private/deep/a.txt"),
        Row(
            name: "folder beside a secret", here: "mkdir p; cp a.gpg p/z.gpg; echo PLAIN > p/a.txt",
            there: "echo x > p", says: "p/a.txt"),
        Row(
            name: "folder against a secret", here: "mkdir p.gpg; echo PLAIN > p.gpg/a.txt",
            there: "cp a.gpg p.gpg",
            says: "p.gpg/a.txt"),
        Row(
            name: "file in a folder's place", here: "echo PLAIN > p", there: "mkdir p; cp a.gpg p/b.gpg",
            says: "p"),
        Row(
            name: "ignored file", here: "echo '*.key' > .git/info/exclude; echo PLAIN > s.key",
            there: "echo x > s.key", says: "s.key"),
        Row(
            name: "ignored secret", here: "echo 's.gpg' > .git/info/exclude; echo PLAIN > s.gpg",
            there: "cp a.gpg s.gpg", says: "s.gpg"),
        Row(name: "pipe", here: "mkfifo p.gpg", there: "cp a.gpg p.gpg", says: "p.gpg"),
        Row(
            name: "repository", here: "git init -q team; echo PLAIN > team/x.gpg",
            there: "mkdir team; cp a.gpg team/x.gpg",
            says: "team"),
        Row(
            name: "repository against a file", here: "git init -q team; echo PLAIN > team/x.txt",
            there: "echo x > team", says: "team"),
        Row(
            name: "case of a list", here: "mkdir .gpg-id.sig; echo PLAIN > .gpg-id.sig/x",
            there: "echo x > .gpg-id.sig",
            says: ".gpg-id.sig/x"),
    ]

    /// Holds:
    /// - What lies in a store and git does not have, and is no secret, list or link, is never committed because somebody
    ///   pushed something of its name: the merge waits, and `passdir status` names the path.
    @Test(.slow, arguments: rows) func nothingLeavesTheMachine(_ row: Row) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            #expect(await machine.committer.synchronizeNow() == nil)
            let tip = try machine.git("rev-parse", "HEAD")
            try home.succeed(["bash", "-ec", row.here], in: machine.path)
            let push = "git clone -q '\(home.path("m0.git"))' ~/e; cd ~/e; \(row.there); git add -fA; "
            try home.succeed(["bash", "-ec", push + "git commit -qm x; git push -q origin HEAD:main"])
            for _ in 0..<2 {
                let complaint = await machine.committer.synchronizeNow() ?? "in step"
                #expect(complaint.contains(row.says + " exists here"), "\(complaint)")
            }
            // A save goes on to be committed.
            try machine.save("b", "B")
            await machine.committer.commitPending()
            #expect(machine.committer.status.pendingChanges == 0)
            #expect(try machine.git("log", "--format=%s", "\(tip)..").split(separator: "\n").count == 1)
            let objects = "git cat-file --batch-all-objects --batch | grep -ac PLAIN || true"
            for place in [machine.path, home.path("m0.git")] {
                #expect(try home.succeed(["bash", "-c", objects], in: place) == Array("0\n".utf8))
            }
            // Once it is moved away, all is well.
            let first = row.says.split(separator: "/")[0]
            try home.succeed(["mv", "--", String(first), home.path("aside").string], in: machine.path)
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.git("status", "--porcelain") == "")
            #expect(try machine.read("b") == "B")
        }
    }

    /// What the store commits anyway is committed first, an empty folder gives way, as it does for git, and what is the
    /// same already is in nobody's way.
    @Test(
        arguments: sampled([
            ("cp a.gpg s.gpg", "echo x > s.gpg", 1), ("mkdir s; cp a.gpg s/b.gpg", "echo x > s", 1),
            ("ln -s a.gpg l", "echo x > l", 1), ("mkdir -p empty", "echo x > empty", 0),
            ("mkdir -p e.gpg", "cp a.gpg e.gpg", 0), ("echo same > r", "echo same > r", 0),
        ]))
    func secretsAreCommittedFirst(_ here: String, _ there: String, _ conflicts: Int) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["bash", "-ec", here], in: machine.path)
            let push = "git clone -q '\(home.path("m0.git"))' ~/e; cd ~/e; \(there); git add -fA; "
            try home.succeed(["bash", "-ec", push + "git commit -qm x; git push -q origin HEAD:main"])
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.dirt == "")
            let names = try machine.git("ls-tree", "-r", "--name-only", "HEAD").split(separator: "\n")
            #expect(names.filter { $0.contains(".conflict-") }.count == conflicts, "\(names)")
        }
    }
}
