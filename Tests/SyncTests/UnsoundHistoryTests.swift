import TestKit
import Testing

@testable import Sync

/// A branch of others that is damaged or not whole: it is told, nothing of it stays here, and the user can put the store's
/// own history in its place.
@Suite(.serialized) struct UnsoundHistoryTests {
    /// What makes the commit `$bad` in the remote, from its tip `$tip` with the tree `$tree`.
    enum Ruin: String, CaseIterable {
        /// git fetch takes it.
        case noAuthor = """
            bad=$(printf 'tree %s\\nparent %s\\ncommitter X <x@y> 1700000000 +0000\\n\\nm\\n' $tree $tip \
                | git hash-object -t commit -w --stdin --literally)
            """
        /// git fetch refuses it. The graft keeps the server from noticing what it lacks.
        case missingParent = """
            gone=$(printf 'tree %s\\nauthor X <x@y> 1700000000 +0000\\ncommitter X <x@y> 1700000000 +0000\\n\\ng\\n' $tree \
                | git hash-object -t commit --stdin)
            bad=$(printf 'tree %s\\nparent %s\\nparent %s\\nauthor X <x@y> 1700000000 +0000\\ncommitter X <x@y> 1700000000 +0000\\n\\nm\\n' \
                $tree $tip $gone | git hash-object -t commit -w --stdin --literally)
            echo $bad $tip >info/grafts
            """
    }

    private func ruin(_ home: TestHome, _ ruin: Ruin) throws -> String {
        let script = """
            set -e; cd ~/m0.git; tip=$(git rev-parse main); tree=$(git rev-parse 'main^{tree}'); \(ruin.rawValue)
            git update-ref refs/heads/main $bad; echo $bad
            """
        let said = try home.succeed(["bash", "-c", script])
        return String(decoding: said, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
    }

    @Test(.slow, arguments: Ruin.allCases) func itIsToldAndCanBeReplaced(_ ruin: Ruin) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("mail", "one\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            let good = try machine.git("rev-parse", "HEAD")
            let bad = try self.ruin(home, ruin)
            try machine.save("more", "of mine\n")
            for _ in 0..<2 {
                let complaint = try #require(await machine.committer.synchronizeNow())
                #expect(complaint.contains("was refused: "), "\(complaint)")
                #expect(complaint.contains("passdir sync --ours m0"), "\(complaint)")
            }
            let (refusal, _) = await machine.committer.synchronizeNow(choosing: .theirs)
            #expect(refusal?.contains("was refused: ") == true, "\(refusal ?? "")")
            // No reference leads to it: git can still collect what is not needed.
            #expect(try machine.git("rev-parse", "origin/main") == good)
            #expect(try !machine.git("for-each-ref").contains(bad))
            try machine.git("gc", "--quiet", "--prune=now")

            let (complaint, chosen) = await machine.committer.synchronizeNow(choosing: .ours)
            #expect(complaint == nil, "\(complaint ?? "")")
            #expect(chosen.first?.contains(bad.prefix(10)) == true, "\(chosen)")
            let remote = try machine.git("ls-remote", "origin", "refs/heads/main").split(separator: "\t")[0]
            #expect(try machine.git("rev-parse", "HEAD") == remote)
            try machine.save("after", "text\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.dirt == "")
        }
    }

    /// One that was refused is not what was last seen there: what is missing from the next one was taken away by force.
    @Test func anotherForceAfterItIsNoticed() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("mail", "one\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            let before = try machine.git("rev-parse", "HEAD")
            try machine.save("leaked", "oops\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            _ = try ruin(home, .noAuthor)
            #expect(await machine.committer.synchronizeNow()?.contains("was refused: ") == true)
            try home.succeed(["git", "-C", "m0.git", "update-ref", "refs/heads/main", before])
            let complaint = await machine.committer.synchronizeNow()
            #expect(complaint?.contains("was force-pushed") == true, "\(complaint ?? "")")
            #expect(try machine.git("ls-remote", "origin", "refs/heads/main").hasPrefix(before))
        }
    }
}
