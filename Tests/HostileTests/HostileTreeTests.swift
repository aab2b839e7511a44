import TestKit
import Testing

/// The builder of hostile trees writes what it is told, or the other suites here would attack nothing.
@Suite struct HostileTreeTests {
    @Test func writesNamesThatGitRefuses() throws {
        try TestHome.with { home in
            try home.succeed(["git", "init", "-q", "--bare", "r.git"])
            let builder = HostileTree(home: home, repository: home.path("r.git"))
            let blob = try builder.blob("x\n")
            let tree = try builder.tree([.init("100644", ".git", blob), .init("100644", "a/b", blob)])
            let commit = try builder.commit(tree)
            try builder.move("main", to: commit)
            #expect(try builder.resolve("main") == commit)
            let listed = try home.succeed(["git", "ls-tree", "--name-only", "main"], in: home.path("r.git"))
            #expect(String(decoding: listed, as: UTF8.self) == ".git\na/b\n")
        }
    }

    @Test func sortsFoldersAsGitDoes() throws {
        try TestHome.with { home in
            try home.succeed(["git", "init", "-q", "--bare", "r.git"])
            let builder = HostileTree(home: home, repository: home.path("r.git"))
            let tree = try builder.tree(files: ["a/x": [1], "a.gpg": [2], "b/c/d": [3]])
            try builder.move("main", to: builder.commit(tree))
            #expect(try home.run(["git", "fsck", "--strict"], in: home.path("r.git")).exitCode == 0)
        }
    }
}
