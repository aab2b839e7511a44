import Foundation
import SystemPackage
import TestKit
import Testing

/// What the log says became of a read.
@Suite struct AccessLogTests {
    private struct Line: Decodable, Hashable {
        var secret: String
        var outcome: String
        var count: Int
    }

    private func lines(_ home: TestHome) throws -> Set<Line> {
        Set(
            try home.passdir("access", "log", "--json").output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            })
    }

    private func with(
        passphrase: String = "", isMounted: Bool = true, _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org", passphrase: passphrase)])
            for name in ["a", "folder/b", "folder/c"] { try store.insert(name, "text\n") }
            try home.addStores([store])
            try home.configure(["access.log": "true"])
            if isMounted { try home.mount() }
            try body(home, store)
            if isMounted { try home.unmount() }
        }
    }

    @Test(arguments: [true, false]) func aReadWithoutAPassphraseFails(isMounted: Bool) throws {
        try with(passphrase: "secret", isMounted: isMounted) { home, store in
            try home.usePinentry(.cancel)
            var reads = [["passdir", "show", "work/a"]]
            if isMounted {
                reads += [
                    ["cat", home.visible("work/folder/b").string],
                    ["cat", home.mountPoint.appending(".passdir/at/HEAD/work/folder/c").string],
                ]
            }
            for read in reads { #expect(try home.run(read).exitCode != 0) }
            #expect(try lines(home).map(\.outcome) == reads.map { _ in "failed" })
            try home.usePinentry(.answer("secret"))
            for read in reads { #expect(try home.run(read).output == "text\n") }
            #expect(try lines(home).count { $0.outcome == "allowed" && $0.count == 1 } == reads.count)
        }
    }

    /// Like reads are one line of the log, and each is shown once as it happens.
    @Test func whatFollowsIsShownOnce() throws {
        try with { home, _ in
            try home.succeed(["cat", home.visible("work/a").string])
            let none = try home.run(["passdir", "access", "log", "work/folder"])
            #expect(none.output == "nothing like that has been logged\n", "\(none)")
            let shown = try home.succeed(
                [
                    "bash", "-c",
                    """
                    exec 3< <(exec timeout 60 passdir access log --follow --json --since 1h)
                    for n in 1 2 3; do
                        read -r line <&3
                        echo "$line"
                        cat mnt/work/a >/dev/null
                    done
                    kill $!
                    """,
                ])
            let lines = try shown.split(separator: 10).map {
                try JSONDecoder().decode(Line.self, from: Data($0))
            }
            #expect(lines == .init(repeating: Line(secret: "work/a", outcome: "allowed", count: 1), count: 3))
        }
    }

    /// A folder is judged before anything of it is moved, which is no read.
    @Test(arguments: ["mv", "cp"]) func whatIsMovedIsReadOnce(_ command: String) throws {
        try with { home, _ in
            // Where the same rules apply nothing is read.
            try home.succeed(["passdir", "access", "set", "work/other", "--allow", "sh"])
            try home.succeed(["passdir", command, "work/folder", "work/other/"])
            #expect(
                try lines(home) == [
                    Line(secret: "work/folder/b", outcome: "allowed", count: 1),
                    Line(secret: "work/folder/c", outcome: "allowed", count: 1),
                ])
        }
    }
}
