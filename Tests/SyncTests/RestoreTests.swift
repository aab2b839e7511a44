import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir restore` puts an old content into a place where something newer may lie: no text may go that way which no
/// commit and no file holds.
@Suite struct RestoreTests {
    /// Every text that a secret, or a file beside it, has now or had in any commit that a reference reaches.
    private func texts(_ store: TestStore, beside name: String) throws -> Set<String> {
        var found: Set<String> = []
        let home = store.home
        for line in try store.git("rev-list", "--objects", "--all").split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[1].hasPrefix(name), parts[1].hasSuffix(".gpg") else { continue }
            let blob = try home.succeed(["git", "cat-file", "blob", String(parts[0])], in: store.path)
            let plain = try home.succeed(["gpg", "--batch", "-qd"], input: blob)
            found.insert(String(decoding: plain, as: UTF8.self))
        }
        return found
    }

    private func prepared(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            try store.insert("a/b", "one\n")
            try store.insert("a/b", "two\n")
            try home.addStores([store])
            try home.succeed([
                "git", "config", "--file", home.path("config/passdir/config").string, "commit.delay", "1h",
            ])
            try body(home, store)
        }
    }

    /// What the newest version is when `restore` comes.
    enum Newest: CaseIterable, Sendable {
        /// Saved through the mount; the daemon waits before it commits.
        case waiting
        /// As `waiting`, and the secret was removed since.
        case waitingRemoval
        /// Put there by a program that commits nothing, with nothing mounted.
        case foreign
        /// As `foreign`, with a mount.
        case foreignMounted
        /// In an open descriptor of the mount, written and synchronized.
        case synchronized
        /// In an open descriptor of the mount, written only.
        case open
    }

    @Test(.slow, arguments: Newest.allCases) func theNewestVersionIsKept(_ newest: Newest) throws {
        try prepared { home, store in
            let seen = home.mountPoint.pushing("work/a/b").string
            // By its id: the look at the start may commit what is saved meanwhile.
            let first = try store.git("rev-parse", "HEAD~1")
            if newest != .foreign { try home.mount() }
            try home.succeed(["mkfifo", home.path("go").string])
            var editor: Program?
            switch newest {
            case .waiting, .waitingRemoval:
                try home.succeed(["sh", "-c", "echo three > \(seen)"])
                if newest == .waitingRemoval { try home.succeed(["rm", seen]) }
            case .foreign, .foreignMounted:
                try home.succeed(
                    [
                        "gpg", "--batch", "--yes", "-qeo", store.path.pushing("a/b.gpg").string, "-r",
                        "one@example.org",
                    ], input: Array("three\n".utf8))
            case .synchronized, .open:
                // A program of its own that starts no other: every copy of a descriptor that a program closes saves, and
                // this process has programs started all the time.
                let script = """
                    use IO::Handle;
                    open(my $file, ">", $ARGV[0]) or die $!;
                    $file->autoflush(1);
                    print $file "three\n";
                    if ($ARGV[1] eq "synchronized") { $file->sync or die $!; }
                    open(my $told, ">", "$ARGV[2].told") or die $!;
                    close($told);
                    open(my $go, "<", $ARGV[2]) or die $!;
                    <$go>;
                    close($file) or die $!;
                    """
                editor = try home.start(["perl", "-e", script, seen, "\(newest)", home.path("go").string])
                try home.waitUntil("the write") { access(home.path("go.told").string, F_OK) == 0 }
            }
            try home.succeed(["passdir", "restore", "work/a/b", "--at", first])
            if let editor {
                try home.succeed(["sh", "-c", "echo >\(home.path("go"))"])
                #expect(try editor.wait(limit: .seconds(60)).exitCode == 0)
            } else {
                #expect(try store.show("a/b") == Array("one\n".utf8))
            }
            if newest != .foreign { try home.unmount() }
            #expect(try store.git("status", "--porcelain") == "")
            let all = try texts(store, beside: "a/b")
            #expect(all.isSuperset(of: ["one\n", "two\n"]))
            // A save that was taken back before it was committed is nobody's any more.
            if newest != .waitingRemoval { #expect(all.contains("three\n")) }
            let files = try store.git("ls-files").split(separator: "\n").filter { $0.hasPrefix("a/") }
            if newest == .open {
                // Saved after the restore: what was restored lies beside it.
                #expect(try store.show("a/b") == Array("three\n".utf8))
                #expect(files.count == 2)
            } else {
                #expect(try store.show("a/b") == Array("one\n".utf8))
                #expect(files == ["a/b.gpg"])
            }
        }
    }

    /// A secret that git does not commit has no past that could hold it.
    @Test func anIgnoredSecretIsKeptBeside() throws {
        try prepared { home, store in
            try store.pass(["rm", "-f", "a/b"])
            try home.write("/a/b.gpg\n", to: "work/.git/info/exclude")
            try home.succeed(["mkdir", "-p", store.path.pushing("a").string])
            try home.succeed(
                [
                    "gpg", "--batch", "-qeo", store.path.pushing("a/b.gpg").string, "-r", "one@example.org",
                ], input: Array("three\n".utf8))
            let result = try home.passdir("restore", "work/a/b", "--at", "HEAD~1")
            #expect(result.exitCode == 0 && result.errors.contains("is kept as work/a/b.conflict-"))
            #expect(try store.show("a/b") == Array("two\n".utf8))
            let kept = try home.succeed(["ls", store.path.pushing("a").string])
            let names = String(decoding: kept, as: UTF8.self).split(separator: "\n")
                .filter { $0.contains(".conflict-") }
            #expect(names.count == 1)
            #expect(try names.map { try store.show("a/\($0.dropLast(4))") } == [Array("three\n".utf8)])
        }
    }

    /// What cannot be committed first stays where it is.
    @Test(.slow) func nothingIsRestoredOverWhatCannotBeCommitted() throws {
        try prepared { home, store in
            try home.mount()
            try home.succeed(["sh", "-c", "echo three > \(home.mountPoint)/work/a/b"])
            try home.write("", to: "work/.git/index.lock")
            try home.succeed(["touch", "-d", "1 hour ago", store.path.pushing(".git/index.lock").string])
            let result = try home.passdir("restore", "work/a/b", "--at", "HEAD~1")
            #expect(result.exitCode == 1 && result.errors.contains("lock"))
            #expect(try store.show("a/b") == Array("three\n".utf8))
            try home.succeed(["rm", store.path.pushing(".git/index.lock").string])
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    @Test(.slow) func aFolderComesBack() throws {
        try prepared { home, store in
            try store.insert("a/c", "stays\n")
            try store.pass(["rm", "-f", "a/b"])
            try home.succeed(["passdir", "restore", "work/a", "--at", "HEAD~2"])
            #expect(try store.show("a/b") == Array("two\n".utf8))
            #expect(try store.show("a/c") == Array("stays\n".utf8))
            #expect(try store.git("status", "--porcelain") == "")
            try store.pass(["rm", "-rf", "a"])
            try home.succeed(["passdir", "restore", "work/a", "--at", "HEAD~1"])
            #expect(try store.show("a/b") == Array("two\n".utf8))
            let missing = try home.passdir("restore", "work/c", "--at", "HEAD~1")
            #expect(missing.errors.contains("it did not exist at HEAD~1"))
        }
    }

    /// Who only looks is told of reading; what a restore commits says so.
    @Test(.slow) func aLookAndARestoreAreToldApart() throws {
        try prepared { home, store in
            try store.insert("a/c", "x\n")
            try store.git("rm", "-qr", "a")
            try store.git("commit", "-qm", "Gone.")
            let then = try store.git("log", "-1", "--date=short", "--format=%ad (%H", "HEAD~1").prefix(22)
            for (path, name) in [("work/a/b", "a/b"), ("work/a", "a")] {
                try home.succeed(["passdir", "restore", path, "--at", "HEAD~1"])
                #expect(try store.git("log", "-1", "--format=%s") == "Restore \(name) as of \(then)).")
                try store.git("reset", "-q", "--hard", "HEAD~1")
            }
            #expect(try home.passdir("log", "--ages", "work").exitCode == 0)
            for words in [["show"], ["restore", "--show"]] {
                let none = try home.run(["passdir"] + words + ["work/a/b", "--at", "1999-12-31"])
                #expect(
                    none.exitCode == 1 && none.errors.contains("work/a/b cannot be read: the history begins"),
                    "\(none)")
            }
            try home.succeed(["sh", "-c", "gpgconf --kill all; rm -r ~/gnupg/private-keys-v1.d"])
            for words in [["show"], ["restore", "--show"]] {
                let none = try home.run(["passdir"] + words + ["work/a/b", "--at", "HEAD~1"])
                #expect(none.exitCode == 1 && none.errors.contains("work/a/b cannot be read: "), "\(none)")
            }
            let put = try home.passdir("restore", "work/a/b", "--at", "HEAD~1")
            #expect(put.exitCode == 1 && put.errors.contains("work/a/b cannot be restored: "), "\(put)")
        }
    }

    /// What cannot be restored of a folder is named, and the rest is restored.
    @Test(.slow) func oneOddSecretKeepsNoFolderFromTheRest() throws {
        try prepared { home, store in
            for name in ["c", "d", "e"] { try store.insert("a/\(name)", "old \(name)\n") }
            // One that is damaged in the history, and one in whose place there is a folder now.
            try home.write("no message", to: "work/a/c.gpg")
            try store.git("commit", "-qam", "Damaged.")
            try store.git("rm", "-q", "a/b.gpg", "a/d.gpg", "a/e.gpg")
            try home.succeed(["mkdir", "-p", "work/a/d.gpg"])
            try store.git("commit", "-qm", "Gone.")
            let restored = try home.passdir("restore", "work/a", "--at", "HEAD~1")
            #expect(restored.exitCode == 1, "\(restored)")
            let told = restored.errors.split(separator: "\n")
            #expect(told.count == 2 && told.allSatisfy { $0.contains(" cannot be restored: ") }, "\(told)")
            #expect(told.contains { $0.contains("/a/c ") } && told.contains { $0.contains("/a/d") })
            #expect(
                try store.show("a/b") == Array("two\n".utf8) && store.show("a/e") == Array("old e\n".utf8))
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    /// Without `--at` the versions are listed, and one is chosen.
    @Test(.slow) func aVersionIsChosenOnATerminal() throws {
        try prepared { home, store in
            let chosen = try home.onTerminal(
                ["passdir", "restore", "work/a/b"], [TerminalStep(at: "Which one? [1-2] ", type: "2\n")])
            #expect(chosen.exitCode == 0, "\(chosen)")
            // By its id it can be named to --at and to git.
            let first = try store.git("rev-parse", "--short=10", "HEAD~2").filter { !$0.isNewline }
            #expect(chosen.output.contains("2  \(first)  "), "\(chosen)")
            #expect(chosen.output.contains("Add given password for a/b to store."), "\(chosen)")
            #expect(chosen.output.contains("work/a/b is restored to "), "\(chosen)")
            #expect(try store.show("a/b") == Array("one\n".utf8))
            let none = try home.onTerminal(
                ["passdir", "restore", "work/a/b"], [TerminalStep(at: "Which one? ", type: "\n")])
            #expect(none.exitCode == 1 && none.output.contains("nothing was changed"))
            let again = try home.onTerminal(["passdir", "restore", "work/a/b", "--at", "HEAD~2"], [])
            #expect(again.output.contains(" already"), "\(again)")
            let quiet = try home.onTerminal(
                ["passdir", "restore", "--quiet", "work/a/b", "--at", "HEAD~1"], [])
            #expect(quiet.exitCode == 0 && quiet.output == "", "\(quiet)")
        }
    }
}
