import Glibc
import Synchronization
import SystemPackage
import TestKit
import Testing

/// The daemon is killed in the middle of saves: what was acknowledged is there, nothing is half, and the next mount
/// commits everything.
@Suite struct KillTests {
    /// Holds:
    /// - A save that was acknowledged outlives a crash of the daemon at any moment, none is half, and the
    ///   next mount commits it.
    @Test func acknowledgedSavesSurviveAKill() throws {
        let rounds = Soak.count(inSuite: 5)
        try TestHome.guarded(limit: .seconds(120 + rounds * 20)) { home in
            let keys = try ["a", "b"].map { try home.makeKey("\($0)@example.org") }
            let store = try home.makeStore("work", recipients: [keys[0]], remote: true)
            try FileCalls.makeDirectory(store.path.appending("shared"))
            try home.write(keys.map(\.fingerprint).joined(separator: "\n"), to: "work/shared/.gpg-id")
            try store.git("add", ".")
            try store.git("commit", "--quiet", "--message", "Share a folder")
            // Often, so that kills hit commits, too.
            try home.configure(["commit.delay": "50ms"])
            try home.addStores([store])

            let writers = (0..<4).map { SaveStream(name: "w\($0)", top: home.visible("work")) }
            var daemon = try home.mount()
            var saves = 0
            for round in 1...rounds {
                try runUntilKilled(writers, daemon, after: .random(in: 20_000...1_200_000))
                try home.waitUntil("the killed daemon is gone") { home.daemons().isEmpty }
                try home.freeMount()
                let acknowledged = writers.reduce(0) { $0 + $1.acknowledged } - saves
                saves += acknowledged
                let touched = try writers.map { try check($0, store, "after kill \(round)") }
                daemon = try home.mount()
                for (writer, names) in zip(writers, touched) {
                    try check(writer, names, throughMount: home.visible("work"))
                }
                try home.waitUntilCommitted(store)
                try checkNothingLeft(store)
                Soak.say("kill \(round): \(acknowledged) saves acknowledged, \(saves) in all")
            }
            #expect(saves >= rounds, "the writers hardly ran")
            for writer in writers { try check(writer, nil, throughMount: home.visible("work")) }
            try home.unmount()
            try store.git("fsck", "--strict", "--full")
            #expect(try store.git("status", "--porcelain").isEmpty)
            try store.git("update-index", "--really-refresh")
            #expect(try store.git("diff", "HEAD", "--name-only").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }

    private func runUntilKilled(_ writers: [SaveStream], _ daemon: pid_t, after microseconds: UInt32) throws {
        let runs = writers.map { writer in Background { writer.run() } }
        usleep(microseconds)
        kill(daemon, SIGKILL)
        for run in runs {
            guard try run.value(within: .seconds(30)) != nil else {
                throw TestFailure("a writer hangs on a mount whose daemon was killed")
            }
        }
    }

    /// What lies in the store, as gpg reads it, is what was acknowledged, or what was being saved at the kill.
    /// Returns the names that were touched.
    private func check(_ writer: SaveStream, _ store: TestStore, _ moment: String) throws -> Set<String> {
        let touched = writer.touchedSinceKill()
        for (name, allowed) in touched {
            let file = store.path.pushing(FilePath(name + ".gpg"))
            let found =
                FileCalls.exists(file)
                ? try store.home.succeed(["gpg", "--batch", "--quiet", "--decrypt", file.string]) : nil
            #expect(allowed.contains(found), "\(name) \(moment): \(SaveStream.describe(found))")
            writer.settle(name, found)
        }
        if let (source, target, content) = writer.takeInterruptedRename() {
            #expect(
                writer.contents[source] == content || writer.contents[target] == content,
                "\(source) was lost on its way to \(target) \(moment)")
        }
        return Set(touched.keys)
    }

    private func check(_ writer: SaveStream, _ names: Set<String>?, throughMount top: FilePath) throws {
        for (name, content) in writer.contents where names?.contains(name) ?? true {
            #expect(try FileCalls.read(top.pushing(FilePath(name))) == content, "\(name) through the mount")
        }
    }

    private func checkNothingLeft(_ store: TestStore) throws {
        // The daemon may be at work, with locks of its own. A transfer ends a moment after the daemon that was killed, and
        // the lock of a reference that it leaves goes with the next fetch.
        // What libgit2 had begun to write of a pack lies there for a day, as what git has begun does.
        var left = ""
        do {
            try store.home.waitUntil("nothing is left in the store") {
                try store.home.succeed(["passdir", "sync"])
                let found = try store.home.succeed([
                    "find", store.path.string, "!", "-name", "pack_git2_*", "(", "-name", ".passdir-*", "-o",
                    "-name", "*.lock", "-o", "-name", "passdir-commit", ")", "-printf", "%p %Cs %Ts\\n",
                ])
                left = String(decoding: found, as: UTF8.self)
                return left.isEmpty
            }
        } catch {
            throw TestFailure("left in the store: \(left)")
        }
    }
}

/// One program that saves again and again in names of its own, and keeps book of what was acknowledged.
final class SaveStream: Sendable {
    private struct Book {
        /// What must be there: acknowledged.
        var contents: [String: [UInt8]] = [:]
        /// What may be there instead, for names that an operation was at work on when it failed; nil: nothing.
        var possible: [String: [[UInt8]?]] = [:]
        var touched: Set<String> = []
        var renaming: (source: String, target: String, content: [UInt8]?)?
        var acknowledged = 0
        var number = 0
    }

    let name: String
    private let top: FilePath
    private let book = Mutex(Book())

    init(name: String, top: FilePath) {
        self.name = name
        self.top = top
    }

    var contents: [String: [UInt8]] { book.withLock { $0.contents } }
    var acknowledged: Int { book.withLock { $0.acknowledged } }

    /// Saves until a call fails, as it does when the daemon is gone.
    func run() {
        do {
            while true { try step() }
        } catch {
            return
        }
    }

    /// For each name that was touched since the last time: what may be found; nil is "nothing there".
    func touchedSinceKill() -> [String: [[UInt8]?]] {
        book.withLock { book in
            defer { book.touched = [] }
            return Dictionary(
                uniqueKeysWithValues: book.touched.map { name in
                    (name, [book.contents[name]] + (book.possible[name] ?? []))
                })
        }
    }

    /// Takes what was found as what is there from now on.
    func settle(_ name: String, _ found: [UInt8]?) {
        book.withLock { book in
            book.contents[name] = found
            book.possible[name] = nil
        }
    }

    /// The rename that the kill came into, if it did.
    func takeInterruptedRename() -> (source: String, target: String, content: [UInt8]?)? {
        book.withLock { book in
            defer { book.renaming = nil }
            return book.renaming
        }
    }

    static func describe(_ content: [UInt8]?) -> String {
        guard let content else { return "is not there" }
        return "holds \(content.count) bytes: \(String(decoding: content.prefix(40), as: UTF8.self))"
    }

    private func step() throws(Errno) {
        let number = book.withLock { book in
            book.number += 1
            return book.number
        }
        let known = contents.keys.sorted()
        switch number % 7 {
        case 1, 4:
            try save("\(name)-new-\(number)", number)
        case 2:
            let folder = "\(name)-folder-\(number % 5)"
            try FileCalls.ensureDirectory(top.appending(folder))
            try save("\(folder)/deep-\(number)", number)
        case 3:
            try save("shared/\(name)-\(number)", number)
        case 5:
            // As editors and rsync do: a new file renamed over the old one.
            guard let target = known.randomElement() else { return }
            try save("\(name)-part", number)
            try rename("\(name)-part", to: target)
        case 6:
            // To a new name; from or into the folder with other recipients, too.
            guard let source = known.randomElement() else { return }
            try rename(
                source, to: number % 2 == 0 ? "shared/\(name)-moved-\(number)" : "\(name)-moved-\(number)")
        default:
            guard let target = known.randomElement() else { return }
            try save(target, number)
        }
    }

    private func save(_ path: String, _ number: Int) throws(Errno) {
        let content =
            Array("\(name) \(number) ".utf8) + Array(repeating: UInt8(ascii: "x"), count: number * 97 % 5000)
        // A truncated file may be saved empty when the program that truncated it is killed; the daemon's end isn't
        // that: until close() the old content stays.
        book.withLock { book in
            book.touched.insert(path)
            book.possible[path] = [content]
        }
        try FileCalls.save(content, to: top.pushing(FilePath(path)))
        book.withLock { book in
            book.contents[path] = content
            book.possible[path] = nil
            book.acknowledged += 1
        }
    }

    private func rename(_ source: String, to target: String) throws(Errno) {
        guard source != target else { return }
        book.withLock { book in
            book.touched.formUnion([source, target])
            // Where other recipients apply, the new file is there before the old one is gone.
            book.possible[target] = [book.contents[source]]
            book.possible[source] = [nil]
            book.renaming = (source, target, book.contents[source])
        }
        try FileCalls.rename(top.pushing(FilePath(source)), to: top.pushing(FilePath(target)))
        book.withLock { book in
            book.contents[target] = book.contents.removeValue(forKey: source)
            book.possible[target] = nil
            book.possible[source] = nil
            book.renaming = nil
        }
    }
}
