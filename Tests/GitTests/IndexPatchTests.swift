import CGit
import CGit
import Glibc
import SystemPackage
import Testing

@testable import Git

/// The index changed over its bytes, beside the same change by libgit2 and by git itself.
@Suite struct IndexPatchTests {
    /// What an index is made as before it is changed.
    enum Kind: CaseIterable {
        case plain, extended, shortened, untrackedCache, skippedHash, conflicted, staged, noTrees
    }

    @Test(arguments: Kind.allCases) func aPatchedIndexIsWhatGitWouldMake(_ kind: Kind) throws {
        var random = Repeatable(state: 20_261_121 + UInt64(Kind.allCases.firstIndex(of: kind) ?? 0))
        let work = try TestRepository()
        try fill(work, kind, &random)
        for _ in 0..<12 {
            let paths = try edit(work, &random)
            let repository = try work.open()
            let (tree, changes) = try repository.preparedTree(
                parent: try repository.commit(at: "refs/heads/main"), paths: paths)
            let named = changes.map(\.path)
            let before = try bytes(of: work, ".git/index")
            let staged = try byGit(work, named, tree)
            try overwrite(work, before)
            let reassembled = try kind == .skippedHash ? nil : byLibGit2(work, repository, named, tree)
            try repository.updateIndex(paths: named, to: tree)
            try expectWhole(work)
            #expect(try listing(work) == staged)
            if let reassembled { #expect(try details(work) == reassembled) }
            try expectSameTree(work)
            try repository.commit(
                tree: tree, parent: try repository.commit(at: "refs/heads/main"), message: "x",
                author: someone,
                committer: someone, onto: "refs/heads/main")
            #expect(try unexpected(work, kind) == "")
        }
        if kind != .conflicted { try work.git("fsck", "--strict", "--no-dangling") }
    }

    @Test func aDamagedIndexStaysAsItIs() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for name in ["a", "b"] { try work.write(FilePath(name), "one") }
        try repository.record(["a", "b"])
        let whole = try bytes(of: work, ".git/index")
        var wrong = whole
        wrong[40] ^= 1
        for damaged in [wrong, Array(whole.dropLast(30)), Array(whole[..<20]), [], Array("DIRC".utf8)] {
            try overwrite(work, damaged)
            try work.write("a", "two")
            expectGitError(.corrupt) { try repository.record(["a"]) }
            #expect(try bytes(of: work, ".git/index") == damaged)
            #expect(try work.git("show", "HEAD:a") == "one")
        }
        #expect(try work.folder.run(["ls", ".git"], in: work.path).text.contains("index.") == false)
    }

    @Test func filesAndFoldersTakeEachOthersPlace() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a/b/c", "1")
        try work.write("a-b", "1")
        try work.write("a.b", "1")
        try work.write("d", "1")
        try work.git("add", "-A")
        try work.git("commit", "-q", "-m", "All")
        try work.folder.run(["rm", "-r", "a", "d"], in: work.path)
        try work.write("a", "2")
        try work.write("d/e/f", "2")
        try repository.record(["a", "d/e/f"])
        #expect(try work.git("ls-files") == "a\na-b\na.b\nd/e/f\n")
        #expect(try work.status == "")
        try expectWhole(work)
        try expectSameTree(work)
    }

    // MARK: what is worked on

    private static let names: [FilePath] = (0..<40).map { number in
        let folders = ["", "d/", "d/e/", "d-e/", "d.e/f/", "z/"]
        let long = number % 13 == 0 ? String(repeating: "n", count: 200) : ""
        return FilePath("\(folders[number % folders.count])s\(long)\(number)")
    }

    private func fill(_ work: TestRepository, _ kind: Kind, _ random: inout Repeatable) throws {
        for name in Self.names.prefix(30) { try work.write(name, "\(random.next())") }
        if kind == .shortened { try work.git("config", "index.version", "4") }
        try work.git("add", "-A")
        try work.git("commit", "-q", "-m", "All")
        switch kind {
        case .plain: break
        case .extended:
            try work.write("intended", "1")
            try work.git("add", "-N", "intended")
            try work.write("skipped", "1")
            try work.git("add", "skipped")
            try work.git("update-index", "--skip-worktree", "skipped")
        case .shortened: try work.git("update-index", "--index-version", "4")
        case .untrackedCache:
            try work.git("config", "core.untrackedCache", "true")
            try work.git("status")
        case .skippedHash:
            try work.git("update-index", "--index-version", "4")
            var index = try bytes(of: work, ".git/index")
            index.replaceSubrange((index.count - 20)..., with: repeatElement(0, count: 20))
            try overwrite(work, index)
        case .conflicted:
            try work.git("checkout", "-q", "-b", "other")
            try work.write("conflict", "1")
            try work.git("add", "conflict")
            try work.git("commit", "-q", "-m", "Other")
            try work.git("checkout", "-q", "main")
            try work.write("conflict", "2")
            try work.git("add", "conflict")
            try work.git("commit", "-q", "-m", "Ours")
            try work.folder.run(["git", "merge", "other"], in: work.path)
        case .staged:
            try work.write("staged", "1")
            try work.git("add", "staged")
            try work.git("update-index", "--assume-unchanged", Self.names[0].string)
        case .noTrees: try work.git("read-tree", "--empty")
        }
        if kind == .noTrees { try work.git("add", "-A") }
    }

    /// Writes, renames and removes some files.
    private func edit(_ work: TestRepository, _ random: inout Repeatable) throws -> [FilePath] {
        var paths: Set<FilePath> = []
        for _ in 0..<(1 + random.next() % 6) {
            let name = Self.names[Int(random.next() % UInt64(Self.names.count))]
            guard paths.insert(name).inserted else { continue }
            if random.next() % 3 == 0 { work.remove(name) } else { try work.write(name, "\(random.next())") }
        }
        return paths.sorted { $0.string < $1.string }
    }

    // MARK: what is compared

    /// What `git update-index` makes of the index: entries without metadata.
    private func byGit(_ work: TestRepository, _ paths: [FilePath], _ tree: ObjectID) throws -> String {
        var lines = ""
        for path in paths {
            let found = try work.git("ls-tree", tree.hex, path.string)
            lines += found.isEmpty ? "0 \(String(repeating: "0", count: 40))\t\(path)\n" : found
        }
        let done = try work.folder.run(
            ["git", "update-index", "--replace", "--index-info"], in: work.path, input: Array(lines.utf8))
        #expect(done.status == 0, "\(done.error)")
        return try listing(work)
    }

    private func byLibGit2(
        _ work: TestRepository, _ repository: Repository, _ paths: [FilePath], _ tree: ObjectID
    ) throws -> String {
        let before = try bytes(of: work, ".git/index")
        var now = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &now)
        let edits = try paths.map { path in
            let entry = try repository.entry(path, in: try repository.tree(of: tree))
            var facts = stat()
            let isThere = lstat(work.path.pushing(path).string, &facts) == 0
            return IndexEdit(
                path: path,
                entry: entry.map { IndexEntry($0, stat: isThere ? facts : nil, readAt: now) })
        }
        try LibGit2Index.apply(edits, to: work.path.pushing(".git/index"))
        defer { try? overwrite(work, before) }
        return try details(work)
    }

    private func listing(_ work: TestRepository) throws -> String { try work.git("ls-files", "--stage") }

    /// All of the entries but the sizes, which depend on the tick of the clock.
    private func details(_ work: TestRepository) throws -> String {
        try work.git("ls-files", "--debug", "--stage", "-v").split(separator: "\n")
            .filter { !$0.contains("size:") }.joined(separator: "\n")
    }

    private func unexpected(_ work: TestRepository, _ kind: Kind) throws -> String {
        try work.status.split(separator: "\n").filter {
            !$0.hasSuffix("intended") && !$0.hasSuffix("skipped") && !$0.hasSuffix("staged")
                && !$0.hasSuffix("conflict")
        }.joined(separator: "\n")
    }

    /// libgit2 reads it, and git finds its checksum and its order right.
    private func expectWhole(_ work: TestRepository) throws {
        let index = try bytes(of: work, ".git/index")
        if !index.suffix(20).allSatisfy({ $0 == 0 }) {
            let checksum = try work.folder.run(["sha1sum"], input: Array(index.dropLast(20))).text.prefix(40)
            #expect(
                checksum == index.suffix(20).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
        }
        let names = try work.git("ls-files", "-z").utf8.split(separator: 0)
        #expect(zip(names, names.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) })
    }

    /// The known trees agree with the entries: git makes the same tree from an index that has none.
    private func expectSameTree(_ work: TestRepository) throws {
        guard try work.git("ls-files", "--unmerged").isEmpty else { return }
        let index = try bytes(of: work, ".git/index")
        let known = try work.git("write-tree")
        // What is only intended to be added is in no tree.
        let entries = try work.git("ls-files", "--stage").split(separator: "\n")
            .filter { !$0.hasSuffix("\tintended") }.map { $0 + "\n" }.joined()
        try work.git("read-tree", "--empty")
        let done = try work.folder.run(
            ["git", "update-index", "--index-info"], in: work.path, input: Array(entries.utf8))
        #expect(done.status == 0, "\(done.error)")
        #expect(try work.git("write-tree") == known)
        try overwrite(work, index)
    }

    private func bytes(of work: TestRepository, _ name: FilePath) throws -> [UInt8] {
        try work.folder.run(["cat", name.string], in: work.path).output
    }

    /// By a rename, as git does.
    private func overwrite(_ work: TestRepository, _ index: [UInt8]) throws {
        try work.write(".git/new-index", index)
        #expect(
            rename(
                work.path.pushing(".git/new-index").string, work.path.pushing(".git/index").string) == 0)
    }
}

/// Numbers that look random and are the same each time.
struct Repeatable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
