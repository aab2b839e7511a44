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
        var pause: UInt32 = 1000
        while true {
            let isFree = !isBusy(top)
            let since = ContinuousClock.now
            let isLast = since >= end()
            if isFree || isLast {
                let prepared = try prepare()
                if isLast { return prepared }
                let rest = (quiet - (.now - since)).components.attoseconds / 1_000_000_000_000
                if since + quiet > .now { usleep(UInt32(rest)) }
                if !isBusy(top) { return prepared }
            }
            usleep(pause)
            pause = min(pause * 2, 8000)
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
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/\(process)/cwd", &buffer, buffer.count - 1)
            guard count > 0 else { return true }
            let folder = FilePath(
                String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self))
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
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9 - ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The first 512 bytes of a file.
    private static func read(_ file: String) -> String {
        let opened = open(file, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return "" }
        defer { close(opened) }
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = Glibc.read(opened, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
    }

    /// Calls for each process of git's, by its number, until `body` returns false. Programs start while this looks, and what
    /// is decided by it should still be true: so of all others it reads the name only, without a copy.
    private static func forEachProcess(_ body: (String) -> Bool) {
        guard let stream = opendir("/proc") else { return }
        defer { closedir(stream) }
        let folder = dirfd(stream)
        while let entry = readdir(stream) {
            let isGit = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { isGits($0, in: folder) }
            }
            guard isGit else { continue }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !body(name) { return }
        }
    }

    /// Whether an entry of `/proc` is a process whose name begins with "git".
    private static func isGits(_ name: UnsafePointer<CChar>, in folder: CInt) -> Bool {
        guard name[0] >= 48, name[0] <= 57 else { return false }
        let length = strlen(name)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            guard length + 6 <= buffer.count, let path = buffer.baseAddress else { return false }
            memcpy(path, name, length)
            memcpy(path + length, "/comm", 6)
            let opened = openat(folder, path, O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else { return false }
            defer { close(opened) }
            return Glibc.read(opened, path, 3) == 3 && memcmp(path, "git", 3) == 0
        }
    }
}
