import Glibc
import SystemPackage
import TestKit
import Testing

/// What git ignores is saved, never committed, and told: pass refuses to add it, too.
@Suite struct IgnoredSecretsTests {
    private func state(_ home: TestHome, _ path: String) throws -> String {
        let result = try home.run([
            "python3", "-c",
            "import os,sys; sys.stdout.write(os.getxattr(sys.argv[1],'user.passdir.state').decode())",
            home.mountPoint.pushing(FilePath(path)).string,
        ])
        return result.output + result.errors
    }

    private func write(_ home: TestHome, _ path: String, _ text: String) throws {
        let file = home.mountPoint.pushing(FilePath(path)).string
        try home.succeed([
            "sh", "-c", "mkdir -p \"$(dirname \"$0\")\"; printf '%s' \"$1\" > \"$0\"", file, text,
        ])
    }

    /// Where a rule can stand, and a secret that it matches.
    static let rules: [(script: String, secret: String)] = [
        ("echo 'private*' > work/.gitignore", "private"),
        ("echo '/local/' > work/.gitignore", "local/deep/token"),
        (
            "mkdir work/team; echo '*' > work/team/.gitignore; echo '!.gitignore' >> work/team/.gitignore",
            "team/mine"
        ),
        ("echo '*.gpg' > work/.git/info/exclude", "private"),
        (
            "echo 'private.gpg' > excludes; git config --global core.excludesFile \"$HOME/excludes\"",
            "private"
        ),
        ("printf '*\\n!*/\\n!known.gpg\\n!seen.gpg\\n!open.gpg\\n' > work/.gitignore", "a/b/c"),
    ]

    /// Holds:
    /// - What git ignores is saved, not committed, and `status` says so.
    @Test(.slow, arguments: rules.indices) func savedButNotCommitted(_ index: Int) throws {
        let (script, secret) = Self.rules[index]
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("known", "1\n")
            try store.git("push", "-q")
            try home.succeed(["sh", "-ec", script])
            try home.addStores([store])
            try home.mount()
            try write(home, "work/\(secret)", "mine")
            try write(home, "work/known", "2")
            _ = try home.passdir("sync", "work")
            func check(_ when: String) throws {
                let committed = try store.remoteGit("ls-tree", "-r", "--name-only", "main")
                #expect(!committed.contains("\(secret).gpg"), "\(when): \(committed)")
                let status = try home.passdir("status").output
                #expect(
                    status.contains(
                        "note     saved but not committed, because .gitignore matches: \(secret)"),
                    "\(when): \(status)")
                #expect(!status.contains("error "), "\(when): \(status)")
                let json = try home.passdir("status", "--json").output
                #expect(json.contains("\"notes\":[\"saved but not committed"), "\(when): \(json)")
                #expect(json.contains("\"pendingChanges\":0"), "\(when): \(json)")
                #expect(try state(home, "work/\(secret)") == "ignored", "\(when)")
                #expect(try state(home, "work/known") == "saved", "\(when)")
            }
            try check("after saving")
            // What git has already is committed, whatever matches it.
            #expect(try store.show("known") == Array("2".utf8))
            #expect(
                try store.remoteGit("log", "--format=%s", "-1") == "Edit password for known using passdir.")
            #expect(try store.show(secret) == Array("mine".utf8))
            // Another start finds it again, and does not commit it.
            try home.unmount()
            try home.mount()
            _ = try home.run(["ls", home.mountPoint.pushing("work").string])
            try home.waitUntil("the start has looked") {
                try home.passdir("status").output.contains("because .gitignore matches")
            }
            _ = try home.passdir("sync", "work")
            try check("after another start")
            // Nothing of it is lost with the store's folder.
            let removal = try home.passdir("store", "remove", "work", "--purge")
            #expect(removal.exitCode != 0, "\(removal.output)")
            #expect((removal.output + removal.errors).contains("\(secret).gpg"), "\(removal.errors)")
            #expect(try store.show(secret) == Array("mine".utf8))
            // Once nothing matches it, the next commit takes it along.
            try home.succeed(
                [
                    "sh", "-c",
                    "rm -f work/.gitignore work/team/.gitignore work/.git/info/exclude; git config --global --unset core.excludesFile || true",
                ])
            try home.mountIfNeeded()
            try write(home, "work/open", "3")
            _ = try home.passdir("sync", "work")
            #expect(try store.remoteGit("ls-tree", "-r", "--name-only", "main").contains("\(secret).gpg"))
            #expect(try !home.passdir("status").output.contains(".gitignore matches"))
            try home.unmount()
        }
    }

    /// What others pushed as `.gitignore` and is no such file is not opened: git follows no link there either.
    @Test(.slow, arguments: sampled(["link to a pipe", "link to the mount", "folder", "huge"])) func notAFile(
        _ kind: String
    )
        throws
    {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("known", "1\n")
            let make =
                switch kind {
                case "link to a pipe": "mkfifo pipe; ln -s ../../pipe work/team/.gitignore"
                case "link to the mount": "ln -s ../../mnt/work/known work/team/.gitignore"
                case "folder": "mkdir work/team/.gitignore"
                default: "truncate -s 1G work/team/.gitignore"
                }
            try home.addStores([store])
            try home.mount()
            try home.succeed(["sh", "-ec", "mkdir work/team; \(make)"])
            try write(home, "work/team/new", "x")
            #expect(try home.passdir("sync", "work", limit: .seconds(30)).timedOut == false)
            let status = try home.passdir("status").output
            #expect(status.contains("team/.gitignore is not a file of up to 1 MiB"), "\(status)")
            #expect(try store.show("team/new") == Array("x".utf8))
            try home.succeed(["sh", "-c", "rm -rf work/team/.gitignore"])
            _ = try home.passdir("sync", "work")
            #expect(try store.remoteGit("ls-tree", "-r", "--name-only", "main").contains("team/new.gpg"))
            try home.unmount()
        }
    }
}

/// The look for uncommitted secrets at the start and at the end meets what others pushed, too.
@Suite struct RuleFileTests {
    /// Holds:
    /// - passdir never follows a pushed link in place of one of git's rule files.
    @Test(arguments: sampled([".gitignore", ".gitattributes", ".gitmodules"])) func noLinkIsOpened(
        _ name: String
    )
        throws
    {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("known", "1\n")
            try home.addStores([store])
            try home.succeed([
                "sh", "-ec", "mkdir -p work/a/b; mkfifo pipe; ln -s ../../../pipe work/a/b/\(name)",
            ])
            try home.mount()
            _ = try home.run(["ls", home.mountPoint.pushing("work").string])
            try home.waitUntil("the start has looked") {
                try home.passdir("status").output.contains("a/b/\(name) is not a file of up to 1 MiB")
            }
            try home.succeed(["sh", "-c", "echo 1 > mnt/work/new"])
            #expect(try home.passdir("sync", "work", limit: .seconds(30)).timedOut == false)
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
            try home.unmount()
        }
    }
}

extension TestHome {
    fileprivate func mountIfNeeded() throws {
        if daemons().isEmpty { try mount() }
    }
}
