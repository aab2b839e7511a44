import Git
import Glibc
import SystemPackage
import Testing

@Suite struct CommitTests {
    @Test func firstCommitOfAnUnbornBranch() throws {
        let work = try TestRepository()
        let repository = try work.open()
        #expect(try repository.head() == .branch(name: "main", ref: "refs/heads/main", commit: nil))
        try work.write("a.gpg", "one")
        let id = try #require(try repository.record(["a.gpg"], "Add a"))
        #expect(
            try work.git("log", "--format=%H %an <%ae> %at %s")
                == "\(id) Some One <someone@example.org> 1700000000 Add a\n")
        #expect(try work.git("log", "-1", "--format=%ad", "--date=raw") == "1700000000 +0200\n")
        #expect(try work.status == "")
        #expect(try work.git("diff", "--cached") == "")
        #expect(try work.git("reflog", "--format=%gs %gn") == "commit (initial): Add a Some One\n")
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
    }

    @Test func onlyTheNamedPathsAreCommitted() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for name in ["a.gpg", "d/b.gpg", "d/e/c.gpg"] { try work.write(FilePath(name), "one") }
        try repository.record(["a.gpg", "d/b.gpg", "d/e/c.gpg"])
        try work.write("staged.gpg", "staged")
        try work.git("add", "staged.gpg")
        try work.write("a.gpg", "two")
        try work.git("add", "a.gpg")
        try work.write("a.gpg", "three")
        try work.write("d/e/c.gpg", "two")
        try repository.record(["d/e/c.gpg"], "Edit c")
        #expect(try work.git("show", "--format=%s", "--name-status") == "Edit c\n\nM\td/e/c.gpg\n")
        #expect(try work.status == "MM a.gpg\nA  staged.gpg\n")
        #expect(try work.git("show", ":a.gpg") == "two")
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
    }

    /// Others push tags and branches.
    ///
    /// Holds:
    /// - Of WHEN, 7 to 40 hexadecimal digits that begin the id of one commit mean that commit, whatever tag or branch has such a name;
    ///   `refs/tags/NAME` is the tag.
    @Test func noReferenceTakesTheNameOfACommit() throws {
        let work = try TestRepository()
        let repository = try work.open()
        var ids: [ObjectID] = []
        for text in ["one", "two", "three"] {
            try work.write("a.gpg", text)
            ids.append(try #require(try repository.record(["a.gpg"], text)))
        }
        let hex = ids[1].hex
        let names = [String(hex.prefix(7)), String(hex.prefix(10)), hex]
        for kind in ["tags", "heads"] {
            for name in names { try work.git("update-ref", "refs/\(kind)/\(name)", ids[2].hex) }
        }
        for name in names + [hex.prefix(10).uppercased()] {
            #expect(try repository.commit(named: name) == ids[1], "\(name)")
            #expect(try repository.commit(named: "\(name)~1") == ids[0], "\(name)~1")
            #expect(try repository.commit(named: "\(name)^") == ids[0], "\(name)^")
        }
        #expect(try repository.commit(named: "refs/tags/\(names[1])") == ids[2])
        #expect(try repository.commit(named: "refs/tags/\(names[1])~1") == ids[1])
        // What begins no commit's id is a name as any other.
        try work.git("tag", "20261126", ids[0].hex)
        #expect(try repository.commit(named: "20261126") == ids[0])
        #expect(try repository.commit(named: "HEAD~2") == ids[0])
        expectGitError(.notFound) { _ = try repository.commit(named: "abcdef01234") }
        // Nor is it a tag's where others have made more that begins so.
        for text in ["20738", "37901"] {
            try work.write("b", text)
            try work.git("hash-object", "-w", "b")
        }
        try work.git("update-ref", "refs/tags/65ba8ca", ids[0].hex)
        let several = expectGitError(.invalid) { _ = try repository.commit(named: "65ba8ca") }
        #expect(several?.message.contains("refs/tags/65ba8ca") == true)
    }

    @Test func removedFilesTakeTheirEmptyFoldersAlong() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a/b/c/d.gpg", "one")
        try work.write("a/x.gpg", "one")
        try repository.record(["a/b/c/d.gpg", "a/x.gpg"])
        try work.git("rm", "-q", "--cached", "a/x.gpg")
        try work.git("reset", "-q")
        work.remove("a/b/c/d.gpg")
        try repository.record(["a/b/c/d.gpg"], "Remove d")
        #expect(try work.git("ls-tree", "-r", "-t", "--name-only", "HEAD") == "a\na/x.gpg\n")
        #expect(try work.status == "")
        work.remove("a/x.gpg")
        try repository.record(["a/x.gpg"])
        #expect(try work.git("ls-tree", "-r", "-t", "HEAD") == "")
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
    }

    @Test func aFolderThatIsGoneStandsForItsFiles() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for name in ["a/1.gpg", "a/b/2.gpg", "c.gpg"] { try work.write(FilePath(name), name) }
        try repository.record(["a/1.gpg", "a/b/2.gpg", "c.gpg"])
        try work.folder.run(["rm", "-r", work.path.appending("a").string])
        let (_, changes) = try repository.preparedTree(parent: try repository.tip(), paths: ["a"])
        #expect(Set(changes.map(\.path)) == ["a/1.gpg", "a/b/2.gpg"])
        try repository.record(["a"])
        #expect(try work.git("ls-files") == "c.gpg\n")
        #expect(try work.status == "")
    }

    @Test func aFileTakesAFoldersNameAndBack() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a/1.gpg", "one")
        try work.write("a/2.gpg", "two")
        try repository.record(["a/1.gpg", "a/2.gpg"])
        try work.folder.run(["rm", "-r", work.path.appending("a").string])
        try work.write("a", "file")
        try repository.record(["a"])
        #expect(try work.git("ls-files") == "a\n")
        #expect(try work.status == "")
        work.remove("a")
        try work.write("a/b/3.gpg", "three")
        try repository.record(["a/b/3.gpg"])
        #expect(try work.git("ls-tree", "-r", "--name-only", "HEAD") == "a/b/3.gpg\n")
        #expect(try work.status == "")
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
    }

    @Test func oddNames() throws {
        let work = try TestRepository()
        let repository = try work.open()
        let names: [[UInt8]] = [
            Array("new\nline.gpg".utf8), Array("quo\"te'.gpg".utf8), [0x66, 0xFF, 0xFE, 0x2E, 0x67],
            Array("-rf".utf8), Array("back\\slash".utf8), Array("*?[x]".utf8), Array(":(top)x".utf8),
            Array("dir \u{e9}/sp ace".utf8), Array(" ".utf8), Array("tab\t".utf8),
        ]
        let paths = names.map { FilePath(platformString: $0.map { CChar(bitPattern: $0) } + [0]) }
        for path in paths { try work.write(path, "one") }
        try repository.record(paths)
        let listed = try work.folder.run(
            ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"], in: work.path)
        #expect(Set(listed.output.split(separator: 0).map(Array.init)) == Set(names))
        #expect(try work.status == "")
        for path in paths { work.remove(path) }
        try repository.record(paths)
        #expect(try work.git("ls-files") == "")
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
    }

    @Test func symbolicLinksAreStoredNeverFollowed() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("d/a.gpg", "one")
        symlink("d/a.gpg", work.path.appending("link").string)
        try repository.record(["link", "d/a.gpg"])
        #expect(try work.git("ls-tree", "HEAD", "link").hasPrefix("120000 blob"))
        #expect(try work.git("show", "HEAD:link") == "d/a.gpg")
        #expect(try work.status == "")
        // What lies behind a link to a folder isn't in the working tree for git.
        try work.folder.run(["rm", "-r", work.path.appending("d").string])
        let outside = work.folder.path.appending("outside")
        mkdir(outside.string, 0o755)
        symlink(outside.string, work.path.appending("d").string)
        try work.folder.run(["cp", "/etc/passwd", outside.appending("a.gpg").string])
        let (_, changes) = try repository.preparedTree(parent: try repository.tip(), paths: ["d/a.gpg"])
        #expect(changes.map(\.kind) == [.removed])
    }

    @Test func specialFilesAreNoContent() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        try repository.record(["a"])
        work.remove("a")
        mkfifo(work.path.appending("a").string, 0o600)
        #expect(
            try repository.preparedTree(parent: try repository.tip(), paths: ["a"]).changes.map(\.kind) == [
                .removed
            ])
    }

    @Test func executableBitFollowsTheConfiguration() throws {
        let work = try TestRepository()
        try work.write("run", "one")
        chmod(work.path.appending("run").string, 0o755)
        try work.open().record(["run"])
        #expect(try work.git("ls-files", "-s").hasPrefix("100755"))
        try work.git("config", "core.fileMode", "false")
        chmod(work.path.appending("run").string, 0o644)
        #expect(try work.open().record(["run"]) == nil)
        try work.write("run", "two")
        try work.open().record(["run"])
        #expect(try work.git("ls-tree", "HEAD").hasPrefix("100755"))
        #expect(try work.status == "")
    }

    @Test func nothingChangedMeansNoCommit() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        let first = try repository.record(["a"])
        try work.write("a", "one")
        #expect(try repository.record(["a", "absent", "absent/too"]) == nil)
        #expect(try repository.tip() == first)
    }

    @Test func aMovedBranchIsNoticed() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        let (tree, _) = try repository.preparedTree(parent: nil, paths: ["a"])
        try work.git("commit", "-q", "--allow-empty", "-m", "User")
        func commit(on parent: ObjectID?) throws {
            try repository.commit(
                tree: tree, parent: parent, message: "Ours", author: someone, committer: someone,
                onto: "refs/heads/main")
        }
        expectGitError(.modified) { try commit(on: nil) }
        let old = try repository.tip()
        try work.git("commit", "-q", "--allow-empty", "-m", "User again")
        expectGitError(.modified) { try commit(on: old) }
        try work.git("update-ref", "-d", "refs/heads/main")
        expectGitError(.modified) { try commit(on: old) }
        #expect(try repository.tip() == nil)
    }

    @Test func aLockedBranchIsNoticed() throws {
        let work = try TestRepository()
        try work.write("a", "one")
        try work.write(".git/refs/heads/main.lock", "")
        let error = expectGitError(.locked) { try work.open().record(["a"]) }
        #expect(error?.libgit2Code == -14)
    }

    @Test func pathsOutsideAreRefused() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for path: FilePath in ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.GIT/x", "", "./a"] {
            expectGitError(.invalid) { _ = try repository.preparedTree(parent: nil, paths: [path]) }
            expectGitError(.invalid) {
                _ = try repository.blobID(at: path, in: ObjectID(bytes: .init(repeating: 1, count: 20))!)
            }
        }
    }

    @Test func mergesHaveTwoParents() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        let first = try #require(try repository.record(["a"]))
        try work.git("checkout", "-q", "-b", "other")
        try work.git("commit", "-q", "--allow-empty", "-m", "Other")
        let other = try #require(try repository.tip())
        let merge = try repository.commit(
            tree: first, parent: first, merged: [other], message: "Merge", author: someone,
            committer: someone,
            onto: "refs/heads/main")
        #expect(try repository.commitInfo(merge).parents == [first, other])
        #expect(try work.git("reflog", "-1", "--format=%gs", "main") == "commit (merge): Merge\n")
    }
}
