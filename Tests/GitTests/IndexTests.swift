import CGit
import Git
import Glibc
import SystemPackage
import Testing

@Suite struct IndexTests {
    @Test func aHeldLockIsReportedAtOnce() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        try repository.record(["a"])
        try work.write("a", "two")
        try work.write(".git/index.lock", "held")
        expectGitError(.locked) { try repository.record(["a"]) }
        #expect(try work.git("show", "HEAD:a") == "one")
        work.remove(".git/index.lock")
        try repository.record(["a"])
        #expect(try work.status == "")
        #expect(access(work.path.pushing(".git/index.lock").string, F_OK) != 0)
        #expect(access(work.path.pushing(".git/index.passdir").string, F_OK) != 0)
    }

    @Test func whatChangedSinceTheCommitIsShownAsModified() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        let (tree, changes) = try repository.preparedTree(parent: nil, paths: ["a"])
        try work.write("a", "two")
        try repository.updateIndex(paths: changes.map(\.path), to: tree)
        try repository.commit(
            tree: tree, parent: nil, message: "One", author: someone, committer: someone,
            onto: "refs/heads/main")
        #expect(try work.status == " M a\n")
        #expect(try work.git("diff", "--cached") == "")
    }

    /// git must not have to read the files again.
    @Test func entriesCarryTheFilesMetadata() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        symlink("a", work.path.appending("l").string)
        for name in ["a", "l"] {
            var times = [
                timespec(tv_sec: 1_700_000_000, tv_nsec: 5), timespec(tv_sec: 1_700_000_000, tv_nsec: 5),
            ]
            utimensat(AT_FDCWD, work.path.appending(name).string, &times, AT_SYMLINK_NOFOLLOW)
        }
        try repository.record(["a", "l"])
        let before = try work.git("ls-files", "--debug")
        var status = stat()
        lstat(work.path.appending("a").string, &status)
        #expect(before.contains("mtime: \(status.st_mtim.tv_sec):\(status.st_mtim.tv_nsec)"))
        #expect(before.contains("size: 3\t"))
        #expect(before.contains("ino: \(UInt32(truncatingIfNeeded: status.st_ino))"))
        #expect(before.contains("dev: \(UInt32(truncatingIfNeeded: status.st_dev))"))
        try work.git("update-index", "--refresh")
        #expect(try work.git("diff-files") == "")
    }

    /// A file that git staged and that changed within the same tick, without a change of size, must not be taken for
    /// clean once our index is newer than it.
    @Test func racyEntriesStayVisible() throws {
        let work = try TestRepository()
        try work.write("other", "one")
        for round in 0..<20 {
            try work.write("racy", "\(round % 10)a")
            try work.git("add", "racy")
            try work.git("commit", "-q", "-m", "User")
            try work.write("racy", "\(round % 10)b")
            // The worst case, made certain: the changed file has the time of the index's entry and of the index.
            for name in ["racy", ".git/index"] {
                var times = [
                    timespec(tv_sec: 1_700_000_000, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 0),
                ]
                utimensat(AT_FDCWD, work.path.pushing(FilePath(name)).string, &times, 0)
            }
            try work.write("other", "\(round)")
            try work.open().record(["other"])
            #expect(try work.status == " M racy\n")
        }
    }

    /// git compares whole seconds: what changes in the second in which it was staged is found by its content, as long as
    /// the index is not newer, or says nothing of the size.
    @Test func whatChangedInTheSecondItWasStagedStaysVisible() throws {
        let work = try TestRepository()
        try work.write("other", "one")
        try work.write("racy", "a")
        func setTime(_ name: FilePath, _ nanoseconds: Int) {
            var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: nanoseconds)]
            times += times
            utimensat(AT_FDCWD, work.path.pushing(name).string, &times, 0)
        }
        setTime("racy", 100)
        try work.git("-c", "core.trustctime=false", "add", "racy")
        setTime(".git/index", 200)
        try work.write("racy", "b")
        setTime("racy", 300)
        try work.git("config", "core.trustctime", "false")
        try work.open().record(["other"])
        #expect(try work.status == "AM racy\n")
    }

    /// Holds:
    /// - While the index is changed again and again, each `git add` of the user succeeds, and nothing of either is lost.
    @Test func nothingThatTheUserStagesGetsLost() throws {
        let work = try TestRepository()
        let repository = try work.open()
        let count = 200
        for number in 0..<count { try work.write(FilePath("user\(number)"), "\(number)") }
        try work.write("start", "one")
        try repository.record(["start"])
        let script = """
            i=0; while [ $i -lt \(count) ]; do
                git add user$i || exit; i=$((i+1))
            done
            """
        let user = try work.folder.spawn(
            ["timeout", "60", "sh", "-c", script], in: work.path, files: [0, 1, 2])
        var ours = 0
        var status: Int32 = 0
        while waitpid(user, &status, WNOHANG) == 0 {
            try work.write("ours", "\(ours)")
            do {
                try repository.record(["ours"])
                ours += 1
            } catch let error as GitError where error.code == .locked {}
        }
        // What was refused last is tried again, as a committer does: a `git add` that read our index before we took it back has
        // put it there again.
        try repository.record(["ours"])
        #expect(status == 0)
        #expect(ours > 0)
        #expect(try work.git("ls-files", "user*").split(separator: "\n").count == count)
        #expect(try work.git("diff", "--cached", "--name-only", "--diff-filter=M") == "")
    }

    @Test func aSplitIndexIsUnsupported() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        try repository.record(["a"])
        try work.git("update-index", "--split-index")
        try work.write("a", "two")
        expectGitError(.unsupported) { try repository.record(["a"]) }
        #expect(try work.git("show", "HEAD:a") == "one")
        #expect(access(work.path.pushing(".git/index.lock").string, F_OK) != 0)
    }

    @Test func permissionsStay() throws {
        let work = try TestRepository()
        try work.write("a", "one")
        try work.git("add", "a")
        chmod(work.path.pushing(".git/index").string, 0o664)
        try work.open().record(["a"])
        var status = stat()
        lstat(work.path.pushing(".git/index").string, &status)
        #expect(status.st_mode & 0o777 == 0o664)
    }
}
