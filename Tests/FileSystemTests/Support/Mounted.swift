import Dispatch
import FoundationEssentials
import Glibc
import SystemPackage
import TestKit
import Testing

/// A store of one recipient, mounted, for tests of what programs do with its files.
struct Mounted {
    let home: TestHome
    let store: TestStore
    /// A word that is in every secret of the test; new each time, so that no file of the test itself has it.
    let marker: String

    /// The store as the mount shows it.
    var folder: FilePath { home.mountPoint.appending("work") }
    /// A folder beside the mount, on an ordinary disk.
    var disk: FilePath { home.path("disk") }

    /// Runs a test with a mounted store; when it takes longer than `limit`, the daemon is killed, so that calls that
    /// would wait for ever fail and the test ends.
    static func with(
        _ settings: [String: String] = [:], limit: Duration = .seconds(240), isMounted: Bool = true,
        _ body: (Mounted) throws -> Void
    ) throws {
        try TestHome.with { home in
            let ended = DispatchSemaphore(value: 0)
            defer { ended.signal() }
            Thread.start {
                guard ended.wait(timeout: .now() + .seconds(Int(limit.components.seconds))) == .timedOut
                else { return }
                print("a test took longer than \(limit): its daemon is killed")
                for pid in home.daemons() { kill(pid, SIGKILL) }
            }
            let key = try home.makeKey("a@example.org")
            let marker = "mk" + String(UInt64.random(in: .min ... .max), radix: 36)
            let mounted = Mounted(
                home: home, store: try home.makeStore("work", recipients: [key]), marker: marker)
            try home.succeed(["mkdir", "-p", "config/passdir", "disk"])
            var settings = settings
            // Short, so that tests are; long enough for what a program does to save once.
            settings["commit.delay"] = settings["commit.delay"] ?? "600ms"
            for (name, value) in settings {
                try home.succeed(["git", "config", "--file", "config/passdir/config", name, value])
            }
            try home.addStores([mounted.store])
            if isMounted { try home.mount() }
            do {
                try body(mounted)
            } catch {
                print("log of the daemon: \((try? home.text(of: "state/passdir/log")) ?? "none")")
                throw error
            }
            if !home.daemons().isEmpty { try home.unmount(discardUnsaved: true) }
        }
    }

    /// Runs a script of bash in the folder of the mount. `$D` is the folder beside it, `$S` the store on disk, `$MARK`
    /// the marker.
    func run(_ script: String, limit: Duration = .seconds(60)) throws -> ProgramResult {
        try home.run(
            ["bash", "-c", script], in: folder,
            extra: [
                "D": disk.string, "S": store.path.string, "MARK": marker, "M": folder.string,
                // vim and emacs make no backups of what lies where temporary files do.
                "TMPDIR": disk.string,
            ],
            limit: limit)
    }

    /// As `run`, for a script that must succeed; gives what it prints.
    @discardableResult
    func bash(_ script: String, limit: Duration = .seconds(60)) throws -> String {
        let result = try run("set -e; " + script, limit: limit)
        guard result.exitCode == 0, !result.timedOut else {
            throw TestFailure("\(script) failed (\(result.exitCode)): \(result.errors)\(result.output)")
        }
        return result.output
    }

    /// Saves a file by create or truncate, write, close.
    func save(_ text: String, to name: String) throws {
        let file = try FileDescriptor.open(
            folder.pushing(FilePath(name)), .writeOnly, options: [.create, .truncate],
            permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// What a file holds, read through the mount.
    func read(_ name: String) throws -> String {
        String(decoding: try home.bytes(at: folder.pushing(FilePath(name))), as: UTF8.self)
    }

    /// What `pass show` prints.
    func show(_ name: String) throws -> String {
        String(decoding: try store.show(name), as: UTF8.self)
    }

    /// The names that `ls -A` shows, sorted.
    func names(in name: String = ".") throws -> [String] {
        try bash("LC_ALL=C ls -A -- '\(name)'").split(separator: "\n").map(String.init)
    }

    /// The files of the store on disk without git's, sorted.
    func backingFiles() throws -> [String] {
        let found = try home.succeed(
            ["find", ".", "-name", ".git", "-prune", "-o", "-not", "-type", "d", "-printf", "%P\\n"],
            in: store.path)
        return String(decoding: found, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0 != ".gpg-id" && $0 != ".gitattributes" }.sorted()
    }

    private struct Status: Decodable {
        struct Store: Decodable {
            var pendingChanges: Int
        }
        var stores: [Store]
    }

    /// Waits until nothing waits to be committed.
    func waitUntilCommitted() throws {
        try home.waitUntil("everything is committed") {
            // 1 tells that something is unsaved.
            let report = try home.run(["passdir", "status", "--json"]).standardOutput
            return try JSONDecoder().decode(Status.self, from: Data(report)).stores.allSatisfy {
                $0.pendingChanges == 0
            }
        }
    }

    /// The last commit.
    func head() throws -> String {
        try store.git("rev-parse", "HEAD")
    }

    /// The subjects of the commits since one, the oldest first.
    func subjects(since commit: String) throws -> [String] {
        try store.git("log", "--reverse", "--format=%s", "\(commit)..HEAD").split(separator: "\n").map(
            String.init)
    }

    /// All names that history knows, without those that `pass init` made.
    func namesInHistory() throws -> Set<String> {
        let names = try store.git("log", "--all", "--name-only", "--format=").split(separator: "\n").map(
            String.init)
        return Set(names).subtracting([".gpg-id", ".gitattributes"])
    }

    /// Where the marker lies in plaintext: in the store, git's objects, or what passdir keeps for itself.
    func plaintext() throws -> [String] {
        var places = ["work", "state/passdir", "cache/passdir", "run", "config/passdir"].filter {
            access(home.path($0).string, F_OK) == 0
        }
        places = try home.run(["grep", "-arlF", marker] + places).output.split(separator: "\n").map(
            String.init)
        // Objects are compressed: as git unpacks them.
        let inObjects = try home.run(
            [
                "bash", "-c",
                "git cat-file --batch-all-objects --batch --buffer | grep -acF \(marker)",
            ], in: store.path)
        if inObjects.exitCode != 1 { places.append("git's objects: \(inObjects.output)") }
        return places
    }
}
