import Glibc
import SystemPackage
import TestKit
import Testing

/// More readers wait for a passphrase than the mount has threads.
@Suite struct ManyReadersTests {
    private static let count = 600

    /// Forks readers, tells their process ids in a file, and prints how many got the text.
    private static let readers = """
        my ($file, $pids, $count, $text) = @ARGV;
        my @children;
        for (1..$count) {
            my $child = fork();
            die "fork: $!" if !defined $child;
            if (!$child) {
                open(my $in, "<", $file) or exit 1;
                local $/;
                exit(<$in> eq "$text\\n" ? 0 : 2);
            }
            push @children, $child;
        }
        open(my $out, ">", "$pids.new") or die $!;
        print $out map { "$_\\n" } @children;
        close $out;
        rename("$pids.new", $pids) or die $!;
        my $good = 0;
        for (@children) { waitpid($_, 0); $good++ if $? == 0 }
        print $good;
        """

    private func waitUntilAllWait(_ home: TestHome) throws -> [pid_t] {
        try home.waitUntil("the readers have started", limit: .seconds(120)) {
            FileCalls.exists(home.path("pids"))
        }
        let pids = try home.text(of: "pids").split(separator: "\n").compactMap { pid_t($0) }
        for pid in pids {
            try home.waitUntil("reader \(pid) waits for the mount", limit: .seconds(60)) {
                let place = SystemFile.text("/proc/\(pid)/wchan") ?? ""
                return place.contains("fuse") || place.contains("request_wait") || place == "0"
            }
        }
        return pids
    }

    /// Whatever the daemon has no descriptor for, the reader is told so: nothing looks like a damaged secret.
    @Test func whoFindsNoDescriptorIsToldSo() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org")], git: false)
            try store.insert("s0", "text\n")
            for number in 1..<60 {
                try home.succeed(["cp", "work/s0.gpg", "work/s\(number).gpg"])
            }
            try home.addStores([store])
            // Each reader waits for a gpg of its own, with a descriptor to be woken by.
            try home.configure(["openpgp.engine": "gpg", "cache.time": "0s"])
            try home.succeed(["prlimit", "--nofile=64", "passdir", "mount", home.mountPoint.string])
            // cat writes its error in pieces, between which another's may come.
            let script = #"""
                for round in 1 2 3 4; do
                    for s in work/s*; do { said=$(cat $s 2>&1); echo "${said##*: }"; } & done
                    wait
                done | sort -u
                """#
            let said = String(
                decoding: try home.succeed(["sh", "-c", script], in: home.mountPoint), as: UTF8.self)
            #expect(["Too many open files\ntext\n", "text\n"].contains(said), "\(said)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - An open that waits for a passphrase blocks no other reader, writer or looker, however many wait.
    @Test(.slow) func readersWhoWaitHoldNoThread() throws {
        try TestHome.guarded { home in
            let locked = try home.makeKey("locked@example.org", passphrase: "correct horse")
            let open = try home.makeKey("open@example.org")
            let store = try home.makeStore("locked", recipients: [locked])
            let other = try home.makeStore("other", recipients: [open])
            try store.insert("secret", "behind a passphrase\n")
            try other.insert("one", "first\n")
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            try home.addStores([store, other])
            try home.mount()

            let readers = try home.start([
                "perl", "-e", Self.readers, home.visible("locked/secret").string, home.path("pids").string,
                "\(Self.count)", "behind a passphrase",
            ])
            let pids = try waitUntilAllWait(home)
            #expect(pids.count == Self.count)
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }

            try home.workEveryday(in: "other", during: "readers")
            // One of those for whom there was no thread.
            let killed = try #require(pids.last)
            kill(killed, SIGKILL)
            try home.waitUntil("the killed reader is gone") {
                SystemFile.text("/proc/\(killed)/stat")?.contains(") Z ") ?? true
            }
            #expect(!readers.hasEnded)
            try pinentry.release()
            #expect(try readers.wait(limit: .seconds(120)).output == "\(Self.count - 1)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - Many secrets of one locked key that are opened at once hold up no other store.
    @Test(.slow) func manyLockedSecretsHoldNobodyElseUp() throws {
        try TestHome.guarded { home in
            let locked = try home.makeKey("locked@example.org", passphrase: "correct horse")
            let open = try home.makeKey("open@example.org")
            let store = try home.makeStore("locked", recipients: [locked])
            let other = try home.makeStore("other", recipients: [open])
            let names = (0..<40).map { "secret\($0)" }
            for name in names { try store.insert(name, "behind a passphrase\n") }
            try other.insert("one", "first\n")
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            try home.addStores([store, other])
            try home.mount()

            let readers = try names.map { try home.start(["cat", $0], in: home.visible("locked")) }
            for reader in readers { try home.waitUntilBlocked(reader) }
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            try home.workEveryday(in: "other", during: "secrets")
            for reader in readers { #expect(!reader.hasEnded) }
            try pinentry.release()
            for reader in readers {
                #expect(try reader.wait(limit: .seconds(60)).output == "behind a passphrase\n")
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - truncate(2) of a secret by its name asks nobody: where a passphrase is needed to decrypt it, or its store is locked, it is
    ///   EACCES, and `passdir status` says so. What is open is shortened at once.
    @Test func whoeverTruncatesIsNotAsked() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "locked", recipients: [home.makeKey("locked@example.org", passphrase: "correct horse")])
            for name in ["one", "two"] { try store.insert(name, "behind a passphrase\n") }
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            try home.addStores([store])
            try home.mount()
            let folder = home.visible("locked")
            func truncate(_ name: String) throws -> ProgramResult {
                try home.run(["perl", "-e", "truncate($ARGV[0], 6) or die $!", name], in: folder)
            }
            let refused = try truncate("one")
            #expect(refused.exitCode != 0 && refused.errors.contains("Permission denied"), "\(refused)")
            #expect(pinentry.promptCount() == 0)
            #expect(try home.passdir("status").output.contains("passdir unlock locked"))

            // One that opens it first is asked, and holds no name.
            let program = try home.start(
                ["perl", "-e", "open F, '+<', 'one' or die $!; truncate(F, 6) or die $!; close F or die $!"],
                in: folder)
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            #expect(try truncate("one").exitCode != 0)
            try home.succeed(
                ["sh", "-c", "echo new > new && mv two three && mv one first && rm new"], in: folder)
            try pinentry.release()
            #expect(try program.wait(limit: .seconds(60)).exitCode == 0)
            #expect(try store.show("first") == Array("behind".utf8))
            // The agent knows the passphrase by now.
            #expect(try truncate("three").exitCode == 0)
            #expect(try store.show("three") == Array("behind".utf8))
            #expect(try !home.passdir("status").output.contains("passdir unlock locked"))
            try home.unmount()
        }
    }
}
