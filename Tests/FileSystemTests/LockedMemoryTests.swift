import Glibc
import SystemPackage
import TestKit
import Testing

/// A lock forgets at once, whatever is going on.
@Suite struct LockedMemoryTests {
    /// Holds:
    /// - `passdir lock` leaves nothing that was read of the store in the daemon's memory or in the kernel's pages, while any
    ///   number of programs read and write, and what they write is saved.
    /// - Of a reader's environment the daemon keeps what says where to ask for a passphrase, and nothing else.
    @Test(.slow, .enabled(if: geteuid() == 0)) func nothingThatWasReadIsLeft() throws {
        let rounds = Soak.count(inSuite: 3)
        try Mounted.with(["commit.delay": "5s"], limit: .seconds(120 + rounds * 5)) { mounted in
            for number in 0..<4 {
                let text = "\(mounted.marker) \(number) " + String(repeating: "filler ", count: 900)
                try mounted.store.insert("read\(number)", text)
            }
            let daemon = try #require(mounted.home.daemons().first)
            let result = try mounted.home.run(
                [
                    "/usr/bin/python3", "-B", Programs.path("lock.py"), mounted.home.mountPoint.string,
                    mounted.home.path("run/passdir/control").string, "\(daemon)", "\(rounds)",
                ], input: Array(mounted.marker.utf8), extra: ["TOKEN": "of-a-reader-4711"],
                limit: .seconds(60 + rounds * 5))
            // A program of the test that was killed must leave no daemon that is stopped.
            kill(daemon, SIGCONT)
            #expect(result.exitCode == 0, "\(result.errors)")
            let times = result.output.split(separator: " ").compactMap { Double($0.filter { $0 != "\n" }) }
            try #require(times.count == rounds)
            Soak.say(
                "locks took \(times[times.count / 2]) ms in the median, \(times[times.count - 1]) ms at most")
            #expect(times[times.count / 2] < 100)
        }
    }
}
