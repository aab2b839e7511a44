import Glibc
import SystemPackage
import TestKit
import Testing

/// Signals that programs get while they use secrets: no error where there would be none on a disk.
@Suite struct SignalTests {
    /// Opens, reads and writes secrets while a timer sends a signal each millisecond; prints what failed and how
    /// often a signal came. An open of a second or more may have to do with a person, by whatever slowed it down:
    /// then EINTR is no fault, and the file is opened again.
    private static let busy = """
        use POSIX (); use Time::HiRes qw(setitimer ITIMER_REAL time); use Fcntl;
        my ($restarts, $rounds, @files) = @ARGV; my $signals = 0; my %failed;
        sub done { my ($what, $start, $ok) = @_; return 1 if $ok;
            $failed{"$what: $!"}++ unless $!{EINTR} && time - $start >= 1; return 0 }
        my $action = POSIX::SigAction->new(sub { $signals++ }, POSIX::SigSet->new,
            $restarts ? &POSIX::SA_RESTART : 0);
        POSIX::sigaction(&POSIX::SIGALRM, $action);
        setitimer(ITIMER_REAL, 0.001, 0.001);
        for (my $round = 0; $round < $rounds || $signals <= 50 && $round < 1000; $round++) { for my $path (@files) {
            my ($file, $text); my $start = time;
            $start = time until done("open", $start, sysopen($file, $path, O_RDONLY)) || %failed;
            last if %failed;
            done("read", 0, defined sysread($file, $text, 100));
            $failed{"content"}++ if $text !~ /^secret \\d+\\n$/;
            done("close", 0, close $file);
        } }
        my $new = "$files[0].new"; my $file;
        done("create", 0, sysopen($file, $new, O_WRONLY | O_CREAT));
        done("write", 0, syswrite $file, "secret 0\\n");
        done("save", 0, close $file);
        done("rename", 0, rename $new, "$new.er");
        setitimer(ITIMER_REAL, 0, 0);
        print join(", ", map { "$_ ($failed{$_})" } sort keys %failed), $signals > 50 ? "" : "few signals";
        """

    /// Holds:
    /// - A signal that a program handles, such as that of its timer, fails no open, whether its handler restarts
    ///   calls or not.
    @Test func aTimerFailsNoCall() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("open@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key], git: false)])
            try home.mount()
            let files = (0..<20).map { home.visible("work/s\($0)").string }
            try home.succeed(["sh", "-c", "for file; do echo secret 7 > \"$file\"; done", "sh"] + files)
            for restarts in ["1", "0"] {
                let result = try home.run(
                    ["perl", "-e", Self.busy, restarts, "5"] + files, limit: .seconds(240))
                #expect(result.exitCode == 0 && result.output == "" && result.errors == "", "\(result)")
            }
            try home.unmount()
        }
    }

    /// Opens a secret at whose prompt it gets signals; prints what it handled, and how the open ended.
    private func atThePrompt(_ body: (TestHome, Program) throws -> Void) throws {
        let script = """
            $SIG{$_} = sub { push @signals, $_[0] } for qw(WINCH CHLD URG INT);
            my $opened = open(my $file, "<", $ARGV[0]);
            print join " ", (sort @signals), $opened ? "opened" : $!{EINTR} ? "EINTR" : $!;
            """
        try TestHome.guarded { home in
            let key = try home.makeKey("locked@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try store.insert("a", "text\n")
            let pinentry = try home.usePinentry(.block("correct horse"))
            try home.addStores([store])
            try home.mount()
            defer { try? pinentry.release() }
            let program = try home.start(["perl", "-e", script, home.visible("work/a").string])
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            for signal in [SIGWINCH, SIGCHLD, SIGURG] { program.signal(signal) }
            try body(home, program)
            try pinentry.release()
            try home.unmount()
        }
    }

    /// Holds:
    /// - A signal that tells a program of something else (SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGPROF, SIGVTALRM) leaves
    ///   an open that waits for a passphrase waiting.
    @Test(.slow) func aResizedWindowLeavesThePromptOpen() throws {
        try atThePrompt { home, program in
            // That they end nothing shows only in time: a wait is taken for that for a person after a second.
            let end = ContinuousClock.now + .seconds(1.5)
            try home.waitUntil("more than a second") { ContinuousClock.now > end || program.hasEnded }
            #expect(!program.hasEnded)
            program.signal(SIGINT)
            let result = try program.wait(limit: .seconds(20))
            #expect(!result.timedOut && result.output == "CHLD INT URG WINCH EINTR")
        }
    }

    @Test func SIGKILLAfterOtherSignalsEndsTheWait() throws {
        try atThePrompt { _, program in
            program.signal(SIGKILL)
            let result = try program.wait(limit: .seconds(20))
            #expect(!result.timedOut && result.exitCode == 128 + SIGKILL)
        }
    }
}
