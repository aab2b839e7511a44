import Glibc
import SystemPackage

/// A program that has a file of a mount open for writing, and does with it what the test says, step by step.
///
/// The test itself must not have it open where it matters when the file is saved: tests run side by side and start
/// programs all the time, each of which closes copies of the descriptors of this process, and a close saves.
public final class Editor {
    /// How the file is opened.
    public enum Mode: String {
        /// As a shell's `>`.
        case truncate = "O_WRONLY | O_CREAT | O_TRUNC"
        /// As a shell's `>>`.
        case append = "O_WRONLY | O_APPEND"
    }

    private let program: Program
    private let commands: Int32
    private let answers: Int32

    /// Opens `path`.
    public init(_ home: TestHome, _ path: FilePath, _ mode: Mode) throws {
        let folder = home.path("editor-\(UInt64.random(in: 0 ... .max))")
        mkdir(folder.string, 0o700)
        let pipes = ["commands", "answers"].map { folder.appending($0).string }
        for pipe in pipes { mkfifo(pipe, 0o600) }
        // Open in both directions, so that nobody waits for the other one.
        commands = open(pipes[0], O_RDWR | O_CLOEXEC)
        answers = open(pipes[1], O_RDWR | O_CLOEXEC)
        let script = """
            use Fcntl; use IO::Handle;
            open(my $commands, "<", $ARGV[1]) or die $!;
            open(my $answers, ">", $ARGV[2]) or die $!;
            sub answer { syswrite $answers, ($_[0] ? 0 : $! + 0) . "\\n" }
            answer(sysopen(my $file, $ARGV[0], \(mode.rawValue), 0600));
            while (my $line = <$commands>) {
                chomp $line;
                my ($word, $text) = split / /, $line, 2;
                if ($word eq "write") { answer(defined syswrite($file, pack "H*", $text)) }
                if ($word eq "sync") { answer($file->sync) }
                if ($word eq "close") { answer(close $file); exit 0 }
            }
            """
        program = try home.start(["perl", "-e", script, path.string] + pipes)
        try check(answer())
    }

    /// write(2).
    public func write(_ text: String) throws {
        let digits = text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try check(step("write \(digits)"))
    }

    /// fsync(2).
    public func synchronize() throws { try check(step("sync")) }

    /// close(2), and the end of the program.
    public func close() throws {
        let errno = try step("close")
        _ = try program.wait()
        try check(errno)
    }

    deinit {
        // Where the test failed on its way.
        if !program.hasEnded { program.signal(SIGKILL) }
        Glibc.close(commands)
        Glibc.close(answers)
    }

    private func check(_ errno: Int32) throws {
        guard errno == 0 else { throw Errno(rawValue: errno) }
    }

    private func step(_ line: String) throws -> Int32 {
        let bytes = Array((line + "\n").utf8)
        guard Glibc.write(commands, bytes, bytes.count) == bytes.count else { throw Errno(rawValue: errno) }
        return try answer()
    }

    /// The error number that the program tells; 0 for success.
    private func answer() throws -> Int32 {
        var poller = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
        guard poll(&poller, 1, 60_000) == 1 else { throw TestFailure("the editor does not answer") }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = read(answers, &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
        guard let number = Int32(text.split(separator: "\n").first ?? "") else {
            throw TestFailure("the editor answers \(text)")
        }
        return number
    }
}
