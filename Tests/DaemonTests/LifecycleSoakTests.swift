import Glibc
import SystemPackage
import TestKit
import Testing

/// Kills at random moments, where fault points are not: `scripts/soak lifecycle COUNT`.
@Suite struct LifecycleSoakTests {
    @Test func killedAtAnyMoment() throws {
        let count = getenv("PASSDIR_SOAK").flatMap { Int(String(cString: $0)) } ?? 6
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            let two = try home.makeStore("two", recipients: [key], remote: true)
            try one.insert("a/one", "1")
            try two.insert("b/two", "2")
            for store in [one, two] { try store.git("push", "-q") }
            let urls = (one.remote?.string ?? "", two.remote?.string ?? "")
            for round in 0..<count {
                // Usually an operation takes 50 to 300 ms.
                let pause = Double((round * 7919) % 300) / 1000
                try killed(home, after: pause, ["add", "s", "--url", urls.0])
                var state = try look(home)
                #expect(["none", "one"].contains(state), "round \(round), add: \(state)")
                if state == "none" { try home.succeed(["passdir", "store", "add", "s", "--url", urls.0]) }
                try killed(home, after: pause, ["reclone", "s", "--url", urls.1, "--yes"])
                state = try look(home)
                #expect(["one", "two"].contains(state), "round \(round), reclone: \(state)")
                try killed(home, after: pause, ["remove", "s", "--yes"])
                state = try look(home)
                #expect(["none", "one", "two"].contains(state), "round \(round), remove: \(state)")
                if state != "none" { try home.succeed(["passdir", "store", "remove", "s", "--yes"]) }
                #expect(try look(home) == "none", "round \(round)")
            }
        }
    }

    private func killed(_ home: TestHome, after seconds: Double, _ arguments: [String]) throws {
        _ = try home.run(["timeout", "-s", "KILL", "\(max(seconds, 0.001))", "passdir", "store"] + arguments)
    }

    /// Which store there is: none with no folder, or one with its section, its folder and its secret.
    private func look(_ home: TestHome) throws -> String {
        let listed = try home.passdir("list")
        guard listed.exitCode == 0 || listed.errors.contains("there is no store yet") else {
            return "broken: \(listed.errors)"
        }
        let folders = String(
            decoding: try home.succeed([
                "sh", "-c", "ls -A '\(home.path("data/passdir/stores"))' 2>/dev/null; true",
            ]),
            as: UTF8.self
        ).split(separator: "\n")
        let journal = String(
            decoding: try home.succeed([
                "sh", "-c", "ls '\(home.path("state/passdir/operations"))' 2>/dev/null; true",
            ]),
            as: UTF8.self)
        guard ["", "lock\n"].contains(journal) else { return "a journal stays: \(journal)" }
        let config = (try? home.text(of: "config/passdir/config")) ?? ""
        let urls = config.split(separator: "\n").filter { $0.contains("url = ") }
        switch (listed.output, folders.count, urls.count) {
        case ("", 0, 0): return "none"
        case ("s/a/one\n", 1, 1) where urls[0].hasSuffix("one.git"): return "one"
        case ("s/b/two\n", 1, 1) where urls[0].hasSuffix("two.git"): return "two"
        default: return "mixed: \(listed.output) \(folders) \(urls)"
        }
    }
}
