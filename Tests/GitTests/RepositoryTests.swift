import Git
import Glibc
import SystemPackage
import Testing

@Suite struct RepositoryTests {
    @Test func openedAtItsPlaceOnly() throws {
        let work = try TestRepository()
        try work.write("stores/work/a.gpg", "one")
        let found = try #require(try Repository.open(workingTree: work.path))
        #expect(found.workingDirectory == work.path)
        #expect(found.gitDirectory == work.path.appending(".git"))
        #expect(!found.isBare)
        try found.record(["stores/work/a.gpg"])
        #expect(try work.status == "")
        // Below it there is none, and nothing is searched.
        #expect(try Repository.open(workingTree: work.path.pushing("stores/work")) == nil)
        expectGitError(.notFound) { _ = try Repository.open(work.path.pushing("stores/work")) }
    }

    @Test func nothingFound() throws {
        let folder = TestFolder()
        #expect(try Repository.open(workingTree: folder.path) == nil)
        // A folder that is a git directory itself is no working tree, whoever made it look like one.
        let bare = try TestRepository(folder, name: "bare", bare: true)
        #expect(try Repository.open(workingTree: bare.path) == nil)
        #expect(try bare.open().isBare)
        expectGitError(.notFound) { _ = try Repository.open(folder.path) }
        expectGitError(.notFound) { _ = try Repository.open(gitDirectory: folder.path) }
    }

    /// What a `.git` may not be: each leads to what others could have written, or to a working tree that nobody named.
    @Test(arguments: [
        ("a link", "ln -s ../other/.git work/.git", GitError.Code.invalid),
        ("a dangling link", "ln -s nowhere work/.git", .invalid),
        ("a pipe", "mkfifo work/.git", .invalid),
        ("another working tree", "git init -q work; git -C work config core.worktree ../../other", .invalid),
        (
            "a link to a repository of another tree", "echo 'gitdir: ../linked-elsewhere' > work/.git",
            .invalid
        ),
        (
            "a link to files of the tree",
            "git init -q --bare work/mail; git -C work/mail config core.bare false; "
                + "echo 'gitdir: mail' > work/.git", .invalid
        ),
        (
            "an include of a file of the tree",
            "git init -q work; git -C work config include.path ../.gitconfig", .invalid
        ),
        (
            "a conditional include", "git init -q work; git -C work config 'includeIf.gitdir:/.path' ../x/y",
            .invalid
        ),
        ("a bare one", "git init -q work; git -C work config core.bare true", .unsupported),
        ("nothing of git's", "mkdir work/.git", .notFound),
    ]) func refused(_ name: String, _ command: String, _ code: GitError.Code) throws {
        let folder = TestFolder()
        let made = try folder.run([
            "sh", "-ec",
            """
            git init -q other; mkdir work
            git init -q --bare linked-elsewhere
            git -C linked-elsewhere config core.bare false
            git -C linked-elsewhere config core.worktree '\(folder.path.appending("other"))'
            \(command)
            """,
        ])
        #expect(made.status == 0, "\(made)")
        let error = expectGitError(code) {
            _ = try Repository.open(workingTree: folder.path.appending("work"))
        }
        #expect(error?.message.contains("work") == true, "\(error?.message ?? "")")
    }

    /// The user's own ways to keep the git directory elsewhere.
    @Test func aSeparateGitDirectoryIsTheUsers() throws {
        let folder = TestFolder()
        #expect(try folder.run(["git", "init", "-q", "--separate-git-dir", "kept", "work"]).status == 0)
        let repository = try #require(try Repository.open(workingTree: folder.path.appending("work")))
        #expect(repository.workingDirectory == folder.path.appending("work"))
        #expect(repository.gitDirectory == folder.path.appending("kept"))
    }

    @Test func worktreesAndSubmodulesHaveAGitFile() throws {
        let main = try TestRepository()
        try main.git("commit", "-q", "--allow-empty", "-m", "First")
        let linked = main.folder.path.appending("linked")
        try main.git("worktree", "add", "-q", "-b", "side", linked.string)
        let worktree = try #require(try Repository.open(workingTree: linked))
        #expect(worktree.workingDirectory == linked)
        let file = try FileDescriptor.open(
            linked.appending("a"), .writeOnly, options: [.create], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll("one".utf8) }
        try worktree.record(["a"])
        #expect(
            try worktree.head() == .branch(name: "side", ref: "refs/heads/side", commit: try worktree.tip()))
        #expect(try main.folder.run(["git", "status", "--porcelain"], in: linked).text == "")
        #expect(try main.status == "")

        let outer = try TestRepository(main.folder, name: "outer")
        try outer.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", main.path.string, "sub")
        let sub = try #require(try Repository.open(workingTree: outer.path.appending("sub")))
        #expect(sub.workingDirectory == outer.path.appending("sub"))
        try outer.write("sub/b", "one")
        try sub.record(["b"])
        #expect(
            try main.folder.run(["git", "status", "--porcelain"], in: outer.path.appending("sub")).text == "")
        // The submodule's folder is no file of the outer repository, and stays what it is there.
        try outer.git("commit", "-q", "-m", "Add sub")
        let repository = try outer.open()
        #expect(try repository.preparedTree(parent: try repository.tip(), paths: ["sub"]).changes.isEmpty)
        // A file in its place is one change, which holds the file.
        try main.folder.run(["rm", "-rf", outer.path.appending("sub").string])
        try outer.write("sub", "a file")
        #expect(
            try repository.preparedTree(parent: try repository.tip(), paths: ["sub"]).changes.map(\.kind) == [
                .modified
            ])
        try repository.record(["sub"])
        #expect(try outer.git("show", "HEAD:sub") == "a file")
        #expect(try outer.status == "")
    }

    @Test func detachedHead() throws {
        let work = try TestRepository()
        try work.git("commit", "-q", "--allow-empty", "-m", "First")
        let tip = try #require(try work.open().tip())
        try work.git("checkout", "-q", "--detach")
        #expect(try work.open().head() == .detached(tip))
    }

    @Test func operationOfTheUser() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        try repository.record(["a"])
        #expect(repository.operation == nil)
        try work.git("checkout", "-q", "-b", "side")
        try work.write("a", "side")
        try repository.record(["a"])
        try work.git("checkout", "-q", "main")
        try work.write("a", "main")
        try repository.record(["a"])
        #expect(try work.folder.run(["git", "merge", "side"], in: work.path).status != 0)
        #expect(repository.operation != nil)
        #expect(try repository.changes().map(\.kind) == [.conflicted])
    }

    @Test func environmentDoesNotMislead() throws {
        let work = try TestRepository()
        let other = try TestRepository(work.folder, name: "other")
        setenv("GIT_DIR", other.path.appending(".git").string, 1)
        defer { unsetenv("GIT_DIR") }
        #expect(try Repository.open(workingTree: work.path)?.workingDirectory == work.path)
    }

    @Test func configuration() throws {
        let work = try TestRepository()
        #expect(try work.open().defaultSignature(now: 5) == nil)
        try work.git("config", "user.name", "Jörg")
        #expect(try work.open().defaultSignature(now: 5) == nil)
        try work.git("config", "user.email", "j@example.org")
        let signature = try #require(try work.open().defaultSignature(now: 5))
        #expect(signature.name == "Jörg")
        #expect(signature.time == 5)
        try work.git("config", "commit.gpgSign", "yes")
        #expect(try work.open().configBool("commit.gpgsign") == true)
        #expect(try work.open().configBool("no.such") == nil)
        #expect(try work.open().config("core.bare") == "false")
    }

    @Test func whatLibgit2CannotOpenSaysSo() throws {
        let folder = TestFolder()
        let path = folder.path.appending("sha256")
        try folder.run(["git", "init", "-q", "--object-format=sha256", path.string])
        expectGitError(.unsupported) { _ = try Repository.open(workingTree: path) }
    }

    @Test(.enabled(if: getuid() == 0)) func anotherUsersRepository() throws {
        let work = try TestRepository()
        try work.folder.run(["chown", "-R", "65534:65534", work.path.string])
        let error = expectGitError(.untrustedOwner) { _ = try work.open() }
        #expect(error?.message.contains("belongs to another user") == true)
        try work.folder.run(["chown", "root:root", work.path.string])
        expectGitError(.untrustedOwner) { _ = try work.open() }
    }

    @Test func made() throws {
        let folder = TestFolder()
        let made = try Repository.create(folder.path.pushing("a/b"), branch: "trunk")
        #expect(try made.head() == .branch(name: "trunk", ref: "refs/heads/trunk", commit: nil))
        #expect(try folder.run(["git", "-C", "a/b", "status"]).status == 0)
    }

    @Test func objects() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("d/a", "one")
        let first = try #require(try repository.record(["d/a"], "Ein Ä"))
        try work.write("d/a", "")
        let second = try #require(try repository.record(["d/a"], "Two\n\nBody"))
        let blob = try #require(try repository.blobID(at: "d/a", in: first))
        #expect(try repository.blob(blob, atMost: 1 << 20) == Array("one".utf8))
        #expect(
            try repository.blob(try #require(try repository.blobID(at: "d/a", in: second)), atMost: 9) == [])
        #expect(try repository.blobID(at: "d", in: first) == nil)
        #expect(try repository.blobID(at: "d/a/b", in: first) == nil)
        #expect(try repository.log(from: second).map(\.message) == ["Two\n\nBody\n", "Ein Ä\n"])
        #expect(try repository.log(from: second, hiding: [first]).map(\.id) == [second])
        #expect(try repository.mergeBase(first, second) == first)
        #expect(try repository.isAncestor(first, of: second))
        #expect(try !repository.isAncestor(second, of: first))
        #expect(try repository.aheadBehind(local: second, upstream: first) == (1, 0))
        #expect(ObjectID(hex: first.hex) == first)
        #expect(ObjectID(hex: "zz") == nil)
    }

    @Test func changesAsGitStatusSeesThem() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for name in ["same", "edited", "gone", "staged", "d/in", "un\u{e4}"] {
            try work.write(FilePath(name), "one")
        }
        try work.write(".gitignore", "*.tmp\n")
        try repository.record([".gitignore", "same", "edited", "gone", "staged", "d/in", "un\u{e4}"])
        try work.write("edited", "two")
        work.remove("gone")
        try work.write("staged", "two")
        try work.git("add", "staged")
        try work.write("new", "one")
        try work.git("add", "new")
        try work.write("new", "two")
        try work.write("d/e/untracked", "one")
        try work.write("x.tmp", "ignored")
        try work.folder.run(["git", "init", "-q", "nested"], in: work.path)
        func change(
            _ path: FilePath, _ kind: WorkingTreeChange.Kind, staged: Bool = false, unstaged: Bool = true
        ) throws -> Bool {
            try repository.changes().contains {
                $0.path == path && $0.kind == kind && $0.alsoStaged == staged && $0.unstaged == unstaged
            }
        }
        #expect(try change("edited", .modified))
        #expect(try change("gone", .deleted))
        #expect(try change("staged", .modified, staged: true, unstaged: false))
        #expect(try change("new", .added, staged: true))
        #expect(try change("d/e/untracked", .untracked))
        #expect(try repository.changes().count == 5)
        #expect(try repository.changes(under: "d").map(\.path) == ["d/e/untracked"])
    }
}
