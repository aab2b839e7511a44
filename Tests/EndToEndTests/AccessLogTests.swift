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
    /// - Parameter since: without it only what comes is shown, which may be more of what is in the log.
    @Test(arguments: ["--since 1h", ""]) func whatFollowsIsShownOnce(since: String) throws {
        try with { home, _ in
            let shown = try home.succeed(
                [
                    "bash", "-c",
                    """
                    cat mnt/work/a >/dev/null
                    # So that it is in the log.
                    passdir access log >/dev/null
                    exec 3< <(exec timeout 60 passdir access log --follow --json \(since))
                    if [[ -z "\(since)" ]]; then
                        until ls -l /proc/$(pgrep -P $!)/fd 2>/dev/null | grep -q access.sqlite; do :; done
                        cat mnt/work/a >/dev/null
                    fi
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
            let none = try home.run(["passdir", "access", "log", "work/folder"])
            #expect(none.output == "nothing like that has been logged\n", "\(none)")
        }
    }

    /// A program is found by a name that leads to it.
    @Test func aLinkToAProgramNamesIt() throws {
        try with { home, _ in
            try home.succeed(["cat", home.visible("work/a").string])
            try home.succeed(["ln", "-s", "/bin/cat", "linked"])
            for name in ["cat", "./linked", "/bin/cat"] {
                #expect(
                    try home.passdir("access", "log", "--program", name).output.contains("work/a"), "\(name)")
            }
            #expect(try !home.passdir("access", "log", "--program", "head").output.contains("work/a"))
        }
    }

    /// What was logged goes when its time is over, also where nothing is logged any more.
    @Test func linesGoWhenTheirTimeIsOver() throws {
        try with { home, _ in
            func sql(_ text: String) throws -> String {
                let program = """
                    import sqlite3, sys
                    base = sqlite3.connect(sys.argv[1], timeout=20)
                    print(*base.execute(sys.argv[2]))
                    base.commit()
                    """
                let file = try #require(
                    try home.succeed(["find", ".", "-name", "access.sqlite"]).split(separator: 10).first)
                return String(
                    decoding: try home.succeed(
                        ["python3", "-c", program, String(decoding: file, as: UTF8.self), text]),
                    as: UTF8.self)
            }
            try home.succeed(["cat", home.visible("work/a").string])
            #expect(try home.passdir("access", "log").output.contains("work/a"))
            _ = try sql("UPDATE read SET first = first - 7200, last = last - 7200")
            try home.configure(["access.keep": "1h", "access.log": "false"])
            #expect(try home.passdir("access", "log").output == "nothing like that has been logged\n")
            try home.waitUntil("the line is gone") { try sql("SELECT count(*) FROM read") == "(0,)\n" }
            let follow = try home.run(["timeout", "1", "passdir", "access", "log", "--follow"])
            #expect(follow.errors.contains("access.log is false"), "\(follow)")
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
