import Glibc
import SystemPackage
import TestKit
import Testing

/// `.passdir/at` and `.passdir/history` as the kernel and real programs see them; the rules themselves are in MountTests.
@Suite struct PastViewTests {
    /// Holds:
    /// - `at/WHEN/STORE/PATH` is a store as it was, read-only; WHEN is a commit, tag, branch, day or time, as for `passdir restore --at`.
    /// - A version is judged by the rules for the name that the secret has now, also where it was renamed since, and for the one that it
    ///   had; and for each name under which the same ciphertext lies today.
    @Test func statesAreFoldersToEveryProgram() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("web/site", "hunter2\nlogin: ann\n")
            try store.git("tag", "first")
            try store.insert("web/site", "changed\n")
            try store.insert("mail", "post\n")
            try home.addStores([store])
            try home.mount()
            let control = home.mountPoint.appending(".passdir").string
            func output(_ command: String...) throws -> String {
                String(decoding: try home.succeed(command), as: UTF8.self)
            }
            let then = "\(control)/at/first/work"
            try Self.readsAsFolders(home, then, output)
            for (when, text) in [
                ("HEAD", "changed\n"), ("main", "changed\n"), ("HEAD~2", "hunter2\nlogin: ann\n"),
                ("2999-01-01", "changed\n"), (try store.git("rev-parse", "first"), "hunter2\nlogin: ann\n"),
            ] {
                #expect(try output("cat", "\(control)/at/\(when)/work/web/site") == text, "\(when)")
            }
            let missing = try home.run(["ls", "\(control)/at/1999-01-01/work"])
            #expect(missing.exitCode == 2 && missing.errors.contains("No such file"))
            let ask = "import os, sys; print(os.getxattr(sys.argv[1], 'user.passdir.error').decode())"
            #expect(
                try output("python3", "-c", ask, "\(control)/at/1999-01-01").contains(
                    "the history begins after 1999-01-01"))

            let versions = "\(control)/history/work/web/site"
            let names = try output("ls", versions).split(separator: "\n")
            #expect(names.count == 2)
            #expect(
                try Set(names.map { try output("cat", "\(versions)/\($0)") })
                    == ["hunter2\nlogin: ann\n", "changed\n"])

            // A secret that is renamed to where a rule forbids it is not read by its old name.
            try store.insert("web/other", "x\n")
            try store.pass(["mv", "web/site", "bank/site"])
            try home.succeed(["passdir", "access", "set", "work/bank", "--deny"])
            var refused = ["\(then)/web/site", "\(control)/history/work/bank/site/\(names[0])"]
            // Nor among the versions of what is called so, which is nothing or another secret.
            refused.append("\(versions)/\(names[0])")
            #expect(try home.run(["cat", refused[2]]).errors.contains("Permission denied"))
            try store.insert("web/site", "another\n")
            // Within one second the names are in no order of time.
            let newest = try output("ls", versions).split(separator: "\n").filter { !names.contains($0) }
            #expect(newest.count == 1)
            #expect(try output("cat", "\(versions)/\(try #require(newest.first))") == "another\n")
            for path in refused {
                let result = try home.run(["cat", path])
                #expect(result.exitCode == 1 && result.errors.contains("Permission denied"), "\(path)")
            }
            try home.succeed(["ls", "-lR", then])
            #expect(try output("cat", "\(control)/at/HEAD/work/mail") == "post\n")
            try home.waitUntil("the refusal is noted") {
                try home.passdir("access", "log", "--json").output.contains("work/bank/site")
            }
            try home.unmount()
        }
    }

    private static func readsAsFolders(
        _ home: TestHome, _ then: String, _ output: (String...) throws -> String
    ) throws {
        #expect(
            try output("find", then, "-mindepth", "1", "-printf", "%y %P\\n")
                .split(separator: "\n").sorted() == ["d web", "f .gitattributes", "f .gpg-id", "f web/site"])
        #expect(try output("cat", "\(then)/web/site") == "hunter2\nlogin: ann\n")
        #expect(try output("wc", "-c", "\(then)/web/site").hasPrefix("19 "))
        #expect(try output("grep", "-rl", "hunter2", then) == "\(then)/web/site\n")
        let copy = home.path("copy").string
        try home.succeed(["cp", "-r", then, copy])
        #expect(try output("diff", "-r", then, copy).isEmpty)
        let changed = try home.run(["diff", "-r", "\(then)/web", home.visible("work/web").string])
        #expect(changed.exitCode == 1 && changed.output.contains("> changed"))
        let time = try output("git", "-C", home.path("work").string, "log", "-1", "--format=%at", "first")
        #expect(try output("stat", "-c", "%Y", "\(then)/web/site") == time)
        for change in ["echo x > \(then)/web/site", "touch \(then)/new", "rm \(then)/web/site"] {
            let result = try home.run(["sh", "-c", change])
            #expect(result.exitCode != 0 && result.errors.contains("Read-only file system"), "\(change)")
        }
        try home.succeed(["rm", "-r", copy])
    }
}
