import Git
import Glibc
import SystemPackage
import Testing

/// A commit of one change must not cost more in a large repository than in a small one. The index holds to that nearly:
/// git's format is one file with a checksum over all of it, so its bytes are copied.
@Suite(.serialized) struct CostTests {
    /// Milliseconds of processor time of each step, the best of some rounds: time on the clock is that of the disk, which
    /// makes objects and references durable, and of what else the machine does.
    struct Cost {
        var tree = Double.infinity
        var index = Double.infinity
        var commit = Double.infinity
    }

    @Test func aCommitCostsTheSameInALargeRepository() throws {
        let small = try measure(files: 100)
        let large = try measure(files: 20_000)
        for (name, cost) in [("100", small), ("20000", large)] {
            print("files: \(name), ms: tree \(cost.tree), index \(cost.index), commit \(cost.commit)")
        }
        #expect(large.tree + large.commit < 3 * (small.tree + small.commit) + 2)
        #expect(large.index < 30)
    }

    private func measure(files: Int) throws -> Cost {
        let work = try TestRepository()
        // 100 files a folder: a tree object holds one folder.
        var stream = "commit refs/heads/main\ncommitter U <u@example.org> 0 +0000\ndata 1\nx\n"
        for number in 0..<files { stream += "M 644 inline d\(number / 100)/f\(number).gpg\ndata 3\nabc\n" }
        let imported = try work.folder.run(
            ["git", "fast-import", "--quiet"], in: work.path, input: Array(stream.utf8))
        #expect(imported.status == 0, "\(imported.error)")
        try work.git("reset", "-q", "--hard")
        let repository = try work.open()
        var cost = Cost()
        for round in 0..<10 {
            try work.write("d0/f1.gpg", "round \(round)")
            guard case .branch(_, let ref, let tip) = try repository.head() else { return cost }
            var prepared: (tree: ObjectID, changes: [TreeChange])?
            cost.tree = min(
                cost.tree,
                try time { prepared = try repository.preparedTree(parent: tip, paths: ["d0/f1.gpg"]) })
            let (tree, changes) = try #require(prepared)
            cost.index = min(
                cost.index, try time { try repository.updateIndex(paths: changes.map(\.path), to: tree) })
            cost.commit = min(
                cost.commit,
                try time {
                    try repository.commit(
                        tree: tree, parent: tip, message: "x", author: someone, committer: someone, onto: ref)
                })
        }
        #expect(try work.status == "")
        return cost
    }

    private func time(_ body: () throws -> Void) rethrows -> Double {
        var (start, end) = (timespec(), timespec())
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
        try body()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
        return Double(end.tv_sec - start.tv_sec) * 1000 + Double(end.tv_nsec - start.tv_nsec) / 1_000_000
    }
}
