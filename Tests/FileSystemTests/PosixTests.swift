import Glibc
import SystemPackage
import TestKit
import Testing

/// What programs rely on (`Programs/posix.py`) comes out in the mount as on tmpfs or on the disk beside it; where
/// passdir is not an ordinary disk, as it says itself.
@Suite struct PosixTests {
    @Test(.slow) func checksComeOutAsOnADisk() throws {
        try Mounted.with { mounted in
            let home = mounted.home
            let tmpfs = "/dev/shm/\(home.folder.lastComponent?.string ?? "pd")"
            try home.succeed(["mkdir", tmpfs])
            defer { _ = try? home.run(["rm", "-rf", tmpfs]) }
            try mounted.bash("mkdir p")
            let here = try results(in: mounted.folder.appending("p").string, ["own"], home)
            let elsewhere = [
                try results(in: tmpfs, [], home), try results(in: mounted.disk.string, [], home),
            ]
            #expect(here.count > 55 && elsewhere[0].count > 45)
            for (sentence, result) in here {
                let others = elsewhere.compactMap { $0[sentence] }
                if others.isEmpty {
                    #expect(result == "'as told'", "\(sentence)")
                } else {
                    #expect(others.contains(result), "\(sentence)")
                }
            }
            try mounted.waitUntilCommitted()
            #expect(try mounted.store.git("status", "--porcelain") == "")
        }
    }

    private func results(in folder: String, _ mode: [String], _ home: TestHome) throws -> [String: String] {
        let output = String(
            decoding: try home.succeed(
                ["/usr/bin/python3", "-B", Programs.path("posix.py"), folder] + mode, limit: .seconds(200)),
            as: UTF8.self)
        return Dictionary(
            uniqueKeysWithValues: output.split(separator: "\n").map { line in
                let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
                return (parts[0], parts[1])
            })
    }

    /// What gpg has compressed does not tell its size by its packets: once it was read, its size is known whatever its
    /// name and times are.
    /// Holds:
    /// - A size once known stays known when the secret is renamed or its times are set.
    @Test func aSizeOnceKnownStaysKnown() throws {
        try Mounted.with { mounted in
            let text = String(repeating: "compresses well ", count: 500)
            try mounted.home.succeed(
                ["gpg", "--batch", "-e", "-z", "9", "-r", "a@example.org", "-o", "work/a.gpg"],
                input: Array(text.utf8))
            #expect(try mounted.bash("stat -c %s a") != "\(text.utf8.count)\n", "nothing is to be learned")
            #expect(try mounted.read("a") == text)
            let size = "\(text.utf8.count)\n"
            #expect(try mounted.bash("stat -c %s a") == size)
            #expect(try mounted.bash("mv a b; stat -c %s b") == size)
            #expect(try mounted.bash("touch -d 2001-01-01 b; stat -c %s b") == size)
            try mounted.save("other", to: "c")
            let script = """
                import sys; sys.path.insert(0, '\(Programs.path(""))'); import calls
                calls.renameat2('b', 'c', calls.RENAME_EXCHANGE)
                """
            #expect(try mounted.bash("/usr/bin/python3 -B -c \"\(script)\"; stat -c %s c") == size)
        }
    }

    /// What a remount changes.
    /// Holds:
    /// - Inode numbers are the same after a remount, but for what was renamed or exchanged since the mount before; mtime and
    ///   ctime are those of the file on disk.
    @Test func numbersAndTimesOutliveARemount() throws {
        try Mounted.with { mounted in
            try mounted.bash("mkdir d; echo x >d/f; echo y >g; touch -d '2001-02-03 04:05:06.789' g")
            // A store that was not looked into yet does not tell its facts.
            let look = "ls >/dev/null; stat -c '%n %i %Y %Z %s %h' . d d/f g"
            let before = try mounted.bash(look)
            try mounted.home.unmount()
            try mounted.home.mount()
            #expect(try mounted.bash(look) == before)
            let times = "stat -c '%Y %Z'"
            #expect(try mounted.bash("\(times) d/f g") == mounted.bash("\(times) $S/d/f.gpg $S/g.gpg"))
        }
    }

    /// Nor does what passdir keeps of a save for itself count as a read of it.
    @Test func aSaveIsNoRead() throws {
        try Mounted.with { mounted in
            let told = try mounted.bash(
                """
                echo one >f; touch -a -d @1000000000 f
                for n in $(seq 20); do echo $n >f; stat -c %X f; echo more >>f; stat -c %X f; done
                truncate -s 2 f; stat -c %X f; sleep 0.2; stat -c %X f
                """)
            #expect(Set(told.split(separator: "\n")) == ["1000000000"], "\(told)")
        }
    }
}
