import SystemPackage
import TestKit
import Testing

/// Eight processes work at twenty names: no file is torn, and what they leave is a store that pass and git read.
@Suite struct ConcurrentTests {
    /// Holds:
    /// - When several programs work at the same names, no file is torn, and what they leave is a store that `pass`
    ///   and `git` read.
    @Test(.slow) func eightProcessesOnTwentyNames() throws {
        let count = Soak.count(inSuite: 60)
        try Mounted.with(limit: .seconds(300 + count * 2)) { mounted in
            try mounted.bash("mkdir c")
            let folder = mounted.folder.appending("c")
            let workers = try (1...8).map { worker in
                try mounted.home.start([
                    "/usr/bin/python3", "-B", Programs.path("worker.py"), folder.string, "\(worker)",
                    "\(count)",
                ])
            }
            for worker in workers {
                let result = try worker.wait(limit: .seconds(280 + count * 2))
                #expect(result.exitCode == 0 && !result.timedOut, "\(result.errors)\(result.output)")
            }
            try mounted.waitUntilCommitted()
            let names = try mounted.names(in: "c")
            #expect(names.allSatisfy { $0.hasPrefix("n") && !$0.contains("conflict") }, "\(names)")
            for name in names {
                #expect(try mounted.read("c/\(name)") == mounted.show("c/\(name)"), "\(name)")
            }
            #expect(try mounted.backingFiles() == names.map { "c/\($0).gpg" })
            #expect(try mounted.store.git("status", "--porcelain") == "")
            try mounted.store.git("fsck", "--strict", "--full")
            try mounted.home.unmount()
            #expect(try mounted.backingFiles() == names.map { "c/\($0).gpg" })
        }
    }

    /// A folder that is renamed, or changes places with another, while programs make, save, rename and remove what is in
    /// it: each does so in the folder that it has open, and none is told that something is not there.
    @Test func programsWorkInFoldersThatMove() throws {
        let count = Soak.count(inSuite: 40)
        try Mounted.with(["mount.grace": "200ms"], limit: .seconds(280 + count * 2)) { mounted in
            let result = try mounted.home.run(
                ["/usr/bin/python3", "-B", Programs.path("folders.py"), mounted.folder.string, "\(count)"],
                limit: .seconds(240 + count * 2))
            #expect(result.exitCode == 0 && !result.timedOut, "\(result.errors)\(result.output)")
            try mounted.waitUntilCommitted()
            let names = try mounted.bash("find x y -type f | LC_ALL=C sort").split(separator: "\n")
            #expect(try mounted.backingFiles() == names.map { "\($0).gpg" })
            #expect(try mounted.store.git("status", "--porcelain") == "")
        }
    }
}
