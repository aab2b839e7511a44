import Git
import Glibc
import System
import SystemPackage

/// Whether programs of git are at work in a working tree right now.
///
/// `git commit` reads HEAD when it starts and fails when the branch has moved at its end; `git add` fails when it
/// meets `index.lock`. Neither tries again. So that nobody's `pass insert` fails for us, the short moment in which
/// index and branch move is put where no git program runs, nor has run for a few milliseconds: `pass` runs `git add`,
/// `git status` and `git commit` in a row. A program can start between the last look and the move; so all that takes time
/// is done before the look (`BranchStep`), and the last look comes right before the branch moves.
enum GitTraffic {
    /// How long there must have been none.
    private static let quiet = Duration.milliseconds(4)

    /// How long a commit or merge waits: git programs that come one after another must not keep it waiting for ever.
    static let patience = Duration.seconds(10)

    /// How long it waits for a `git pull`, which asks a remote before it compares and places files. One that finds another
    /// tip than it began with ends in the middle, with `git reset --hard` as its advice.
    static let patienceWithPulls = Duration.seconds(60)

    /// One that has run for so many seconds waits for somebody: `git commit` for its editor, `git log` for its pager.
    private static let longest = 10.0
    private static let longestPull = 60.0

    /// Waits until it is quiet, or the patience has come to its end.
    static func waitForQuiet(in top: FilePath) {
        let end = ContinuousClock.now + patience
        quietly(in: top, until: { end }) {}
    }

    /// Prepares something and waits until it is quiet, at the same time. What was prepared before a git program came is
    /// prepared anew.
    /// - Parameters:
    ///   - end: when it is to go on in any case; asked anew each time.
    static func quietly<Prepared: ~Copyable, Failure>(
        in top: FilePath, until end: () -> ContinuousClock.Instant, _ prepare: () throws(Failure) -> Prepared
    ) throws(Failure) -> Prepared {
        var pause = Duration.milliseconds(1)
        while true {
            let isFree = !isBusy(top)
            let since = ContinuousClock.now
            let isLast = since >= end()
            if isFree || isLast {
                let prepared = try prepare()
                if isLast { return prepared }
                PosixThread.sleep(for: since + quiet - .now)
                if !isBusy(top) { return prepared }
            }
            PosixThread.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(8))
        }
    }

    /// Whether a git program runs, wherever, that may be removing objects which no branch leads to: it may have been told
    /// where by `--git-dir`.
    static var isCollecting: Bool {
        var isFound = false
        forEachProcess { process in
            let words = read("/proc/\(process)/cmdline").split(separator: "\0").dropFirst()
            isFound = words.contains { collectors.contains(String($0)) }
            return !isFound
        }
        return isFound
    }

    private static let collectors: Set = ["gc", "prune", "repack", "maintenance", "multi-pack-index"]

    /// A look that is the last one before the branch moves: false while a git program may be at work, until `end`.
    static func mayMove(in top: FilePath, until end: () -> ContinuousClock.Instant) -> Bool {
        !isBusy(top) || .now >= end()
    }

    /// Whether a git program runs that may work on the tree: one with its working directory in it, or one that has just
    /// been started with words that may lead there (`git -C store commit`).
    static func isBusy(_ top: FilePath) -> Bool { isAtWork(in: top) { _ in true } }

    /// As `isBusy`, of a `git pull`.
    static func isPulling(in top: FilePath) -> Bool { isAtWork(in: top) { $0 == "pull" } }

    private static func isAtWork(in top: FilePath, _ isMeant: (String?) -> Bool) -> Bool {
        var isFound = false
        let top = top.lexicallyNormalized()
        forEachProcess { process in
            let words = read("/proc/\(process)/cmdline").split(separator: "\0").dropFirst().map(String.init)
            let command = command(in: words)
            guard isMeant(command), !(command.map(unconcerned.contains) ?? false) else { return true }
            guard let place = FilePath("/proc/\(process)/cwd").linkTarget else { return true }
            let folder = FilePath(bytes: place)
            if folder.starts(with: top) {
                isFound = age(of: process) < (command == "pull" ? longestPull : longest)
            } else if destinations(in: words).contains(where: { leads($0, from: folder, to: top) }) {
                // It has not changed its directory yet.
                isFound = age(of: process) < 1
            }
            return !isFound
        }
        return isFound
    }

    /// Where the words of a git program send it.
    static func destinations(in words: [String]) -> [String] {
        zip(words, words.dropFirst()).filter { $0.0 == "-C" }.map(\.1)
            + words.compactMap { word in
                ["--work-tree=", "--git-dir="].first(where: word.hasPrefix).map {
                    String(word.dropFirst($0.count))
                }
            }
    }

    static func leads(_ path: String, from folder: FilePath, to top: FilePath) -> Bool {
        let path = folder.pushing(FilePath(path))
        return ((try? path.resolvingLinks()) ?? path).starts(with: top)
    }

    /// Commands that neither fail when the branch moves nor make it fail. Some run for as long as a window is open, or for
    /// minutes.
    private static let unconcerned: Set = [
        "blame", "cat-file", "credential-cache--daemon", "diff", "fsmonitor--daemon", "gc", "grep", "gui",
        "log",
        "maintenance", "multi-pack-index", "pack-objects", "pack-refs", "prune", "reflog", "repack",
        "rev-parse",
        "shortlog", "show",
    ]

    /// The command among the words of a git program; nil when it cannot be told.
    private static func command(in words: [String]) -> String? {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "-C" || word == "-c" {
                _ = rest.popFirst()
            } else if !word.hasPrefix("-") {
                return word
            }
        }
        return nil
    }

    /// In seconds; 0 when it cannot be told.
    private static func age(of process: String) -> Double {
        // The name in parentheses may hold anything; the start time is the twentieth field after it.
        let text = read("/proc/\(process)/stat")
        guard let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 19, let ticks = Double(fields[19]) else { return 0 }
        let now = timespec(on: CLOCK_BOOTTIME)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9 - ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The first 512 bytes of a file.
    private static func read(_ file: String) -> String {
        guard let opened = try? OwnedDescriptor(opening: FilePath(file), O_RDONLY) else { return "" }
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = Glibc.read(opened.raw, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
    }

    /// Calls for each process of git's, by its number, until `body` returns false. Programs start while this looks, and what
    /// is decided by it should still be true: so of all others it reads the name only.
    private static func forEachProcess(_ body: (String) -> Bool) {
        guard var stream = try? DirectoryStream("/proc") else { return }
        while let entry = try? stream.next() {
            guard isGits(entry.name, in: stream.descriptor) else { continue }
            if !body(String(decoding: entry.name, as: UTF8.self)) { return }
        }
    }

    /// Whether an entry of `/proc` is a process whose name begins with "git".
    private static func isGits(_ entry: [UInt8], in folder: CInt) -> Bool {
        guard let first = entry.first, first >= UInt8(ascii: "0"), first <= UInt8(ascii: "9"),
            let file = try? OwnedDescriptor(
                opening: FilePath(String(decoding: entry, as: UTF8.self) + "/comm"), in: folder, O_RDONLY)
        else { return false }
        var start: [UInt8] = [0, 0, 0]
        return Glibc.read(file.raw, &start, 3) == 3 && start.elementsEqual("git".utf8)
    }
}
