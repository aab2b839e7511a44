import Fuse
import Glibc
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// What stores held, below `.passdir/at` and `.passdir/history`.
@Suite struct PastTests {
    @Test func aStateIsAFolder() throws {
        try TestMount.withHistory { mount in
            try mount.makeDirectory("work/a")
            try mount.save("one", "work/a/s")
            try mount.link("work/l", to: "a/s")
            try mount.write("plain", "work/README.md")
            let first = try mount.commit(at: 0)
            try mount.save("two\n", "work/a/s")
            try mount.commit(at: 3600)
            try mount.rename("work/a/s", "work/a/t")
            try mount.unlink("work/l")
            try mount.git(["tag", "gone"])
            try mount.commit(at: 7200)

            let before = ["a/": "", "a/s": "one", "l": "-> a/s", "README.md": "plain"]
            func shown(_ when: String) throws(Errno) -> [String: String] {
                var tree = try mount.tree(".passdir/at/\(when)/work")
                tree[".gpg-id"] = nil
                return tree
            }
            for when in [first, String(first.prefix(8)), "HEAD~2", "@\(TestMount.firstTime + 3599)"] {
                #expect(try shown(when) == before, "\(when)")
            }
            #expect(try shown("gone")["a/s"] == "two\n")
            #expect(try shown("HEAD")["a/t"] == "two\n")
            #expect(try shown("HEAD")["l"] == nil)
            #expect(try mount.names(".passdir/at").isEmpty)
            #expect(try mount.names(".passdir/at/HEAD") == ["work"], "the other store has no history")

            let secret = ".passdir/at/\(first)/work/a/s"
            let known = try mount.look(secret)
            #expect(known.attributes.permissions == 0o400)
            #expect(known.attributes.modificationTime.seconds == TestMount.firstTime)
            let file = try mount.open(secret, O_RDONLY)
            #expect(try file.attributes.size == 3)
            try file.close()
            mount.forget(known)
            #expect(try mount.attribute("store", of: secret) == "work")
        }
    }

    /// Holds:
    /// - A time that means nothing in any store is ENOENT, and `user.passdir.error` of `at/WHEN` says why.
    @Test func whatIsMeantByNothingIsNotThere() throws {
        try TestMount.withHistory { mount in
            try mount.save("one", "work/s")
            try mount.commit(at: 0)
            for (when, why) in [("nonsense", "is not a day"), ("@1699999999", "begins after")] {
                let place = ".passdir/at/\(when)"
                #expect(
                    mount.failure { () throws(Errno) in try mount.look(place + "/work") }
                        == .noSuchFileOrDirectory)
                #expect(try mount.attribute("error", of: place).contains(why))
                #expect(
                    mount.failure { () throws(Errno) in try mount.entries(place) } == .noSuchFileOrDirectory)
            }
            let secret = ".passdir/at/HEAD/work/s"
            let refusals = [
                mount.failure { () throws(Errno) in try mount.open(secret, O_RDWR) },
                mount.failure { () throws(Errno) in try mount.unlink(secret) },
                mount.failure { () throws(Errno) in try mount.makeDirectory(".passdir/at/HEAD/work/d") },
                mount.failure { () throws(Errno) in try mount.truncate(secret, to: 0) },
                mount.failure { () throws(Errno) in try mount.makeNode(".passdir/at/HEAD/work/x") },
            ]
            #expect(refusals.allSatisfy { $0 == .readOnlyFileSystem }, "\(refusals)")
            #expect(throws: Errno.self) { try mount.look(secret + "/x") }
            #expect(throws: Errno.self) { try mount.look(".passdir/at/HEAD/nosuch") }
        }
    }

    /// A folder stays the state that it was when it was looked up, and its name comes to mean another.
    @Test func whoIsInAFolderStaysInItsState() throws {
        try TestMount.withHistory { mount in
            try mount.save("one", "work/s")
            try mount.commit(at: 0)
            let folder = try mount.look(".passdir/at/HEAD/work")
            defer { mount.forget(folder) }
            let file = try mount.open(".passdir/at/HEAD/work/s", O_RDONLY)
            try mount.save("two", "work/s")
            try mount.commit(at: 1)
            #expect(try mount.read(".passdir/at/HEAD/work/s") == "two")
            #expect(try file.text == "one")
            try file.close()
            let entry = try mount.value(
                try mount.filesystem.lookup(in: folder.inode, name: "s", for: mount.caller))
            let opened = try mount.value(
                try mount.filesystem.open(entry.inode, flags: OpenFlags(rawValue: 0), for: mount.caller))
            let old = TestFile(mount: mount, inode: entry.inode, handle: opened.handle)
            #expect(try old.text == "one")
            try old.close()
        }
    }

    /// Holds:
    /// - `history/STORE/PATH` is a folder with a file for each version of a secret, named by time and commit, also under
    ///   earlier names and of a secret that was removed from a folder that is still there.
    @Test func versionsAreFiles() throws {
        try TestMount.withHistory { mount in
            for (index, text) in ["one", "two", "three"].enumerated() {
                try mount.save(text, "work/s")
                try mount.commit(at: Int64(index) * 86_400)
            }
            try mount.rename("work/s", "work/t")
            try mount.commit(at: 300_000)
            let names = try mount.names(".passdir/history/work/t")
            let days = ["2023-11-14", "2023-11-15", "2023-11-16"]
            let commits = try ["HEAD~3", "HEAD~2", "HEAD~1"].map { try mount.git(["rev-parse", $0]) }
            #expect(names == zip(days, commits).map { "\($0)T22.13.20Z-\($1.prefix(10))" })
            #expect(
                try names.map { try mount.read(".passdir/history/work/t/\($0)") } == ["one", "two", "three"])
            let time = try mount.attributes(".passdir/history/work/t/\(names[1])").modificationTime
            #expect(time.seconds == TestMount.firstTime + 86_400)
            #expect(try mount.names(".passdir/history/work") == ["t"])
            try mount.unlink("work/t")
            try mount.commit(at: 400_000)
            #expect(try mount.names(".passdir/history/work/t") == names)
            #expect(
                mount.failure { () throws(Errno) in try mount.look(".passdir/history/work/nosuch") }
                    == .noSuchFileOrDirectory)
        }
    }

    /// Holds:
    /// - Of names that others have pushed, `at/` shows what a file can be called, and follows no link out of the store.
    @Test func hostileNamesLeadNowhere() throws {
        try TestMount.withHistory { mount in
            try mount.save("one", "work/s")
            try mount.commit(at: 0)
            let secret = try mount.git(["rev-parse", "HEAD:s.gpg"])
            let plain = try mount.git(["hash-object", "-w", "--stdin"], input: Array("plain".utf8))
            func link(_ target: String) throws -> String {
                try mount.git(["hash-object", "-w", "--stdin"], input: Array(target.utf8))
            }
            func tree(_ entries: [(String, String, String)]) throws -> String {
                try mount.git(
                    ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
                    input: entries.flatMap { mode, name, id in
                        Array("\(mode) \(name)".utf8) + [0] + Self.bytes(hex: id)
                    })
            }
            let inner = try tree([
                ("120000", "up", try link("../s")), ("120000", "out", try link("../../other/s")),
            ])
            let top = try tree([
                ("40000", "..", inner), ("100644", ".", plain), ("40000", ".git", inner),
                ("100644", "a/b", plain),
                ("160000", "module", try mount.git(["rev-parse", "HEAD"])), ("100644", "foo", plain),
                ("100644", "foo.gpg", secret), ("100644", "bar.gpg", secret), ("40000", "bar.gpg", inner),
                ("100644", String(repeating: "n", count: 300), plain), ("40000", "in", inner),
                ("100644", String(repeating: "m", count: 251) + ".gpg", secret),
                ("120000", "l.gpg", try link("bar.gpg")), ("120000", "abs", try link("/etc/passwd")),
                ("120000", "git", try link(".git/config")), ("120000", "nul", try link("a\0b")),
                ("100600", "mode", plain), ("100644", ".passdir-tmp-x", plain), ("100644", "", plain),
            ])
            let commit = try mount.git(["commit-tree", top, "-m", "hostile"])
            let shown = try mount.tree(".passdir/at/\(commit)/work")
            #expect(
                shown == [
                    "foo": "plain", "foo.gpg": "one", "bar": "one", "in/": "", "in/up": "-> ../s",
                    "in/out": "-> .passdir-refused/../../other/s", String(repeating: "m", count: 251): "one",
                    "l": "-> bar", "abs": "-> .passdir-refused//etc/passwd",
                    "git": "-> .passdir-refused/.git/config", "nul": "-> .passdir-refused",
                ])
            for name in ["..", ".git", "a/b", "module", ".passdir-refused", "mode"] {
                #expect(throws: Errno.self, "\(name)") {
                    try mount.look(".passdir/at/\(commit)/work/\(name)")
                }
            }
        }
    }

    private static func bytes(hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    /// Holds:
    /// - A lock forgets the texts of versions; a descriptor that was open reads no more.
    @Test func aLockForgetsVersions() throws {
        try TestMount.withHistory { mount in
            let kernel = ToldKernel()
            mount.filesystem.mount.kernel.withLock { $0 = kernel }
            defer { mount.filesystem.unmounted() }
            try mount.save("one", "work/s")
            try mount.commit(at: 0)
            try mount.save("two", "work/s")
            let path = ".passdir/at/HEAD/work/s"
            let entry = try mount.look(path)
            defer { mount.forget(entry) }
            let file = try mount.open(path, O_RDONLY)
            #expect(try file.text == "one")
            kernel.clear()
            mount.lock("work")
            #expect(kernel.heard.contains(.pages(entry.inode)))
            #expect(mount.failure { () throws(Errno) in try file.text } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try mount.read(path) } == .permissionDenied)
            #expect(try mount.attribute("error", of: path).contains("passdir unlock work"))
            #expect(try mount.names(".passdir/at/HEAD/work") == ["s"], "looks go on")
            mount.unlock("work")
            #expect(mount.failure { () throws(Errno) in try file.text } == .permissionDenied, "it is wiped")
            try file.close()
            #expect(try mount.read(path) == "one")
        }
    }

    @Test(arguments: [Duration.seconds(60), .zero]) func aTextIsKeptForCacheTime(_ time: Duration) throws {
        try TestMount.withHistory(cacheTime: time) { mount in
            try mount.save("one", "work/s")
            try mount.commit(at: 0)
            let path = ".passdir/at/HEAD/work/s"
            let entry = try mount.look(path)
            defer { mount.forget(entry) }
            guard case .thing(let thing)? = try mount.filesystem.tree.node(entry.inode).past,
                case .secret(let blob) = thing.content, let contents = mount.filesystem.control.past?.contents
            else { throw TestFailure("\(path) is no version") }
            func known() -> Int? {
                let content = contents.beginUse(of: blob, thing.store)
                defer { contents.endUse(of: content) }
                return content.count
            }
            #expect(known() == nil)
            #expect(try mount.read(path) == "one")
            #expect(known() == (time == .zero ? nil : 3))
            mount.filesystem.forgetContents()
            #expect(known() == nil)
        }
    }

    /// A history that does not answer holds up those who wait for it, until a signal ends that, and nobody else.
    @Test func aDiskThatDoesNotAnswerHoldsUpNobodyElse() throws {
        let past = StuckPast()
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.past = past
        try TestMount.with(options) { mount in
            let point = try mount.look(".passdir/at/HEAD")
            defer { mount.forget(point) }
            let callers = (0..<20).map { _ in Caller(processID: getpid()) }
            // Each returns although none is answered: no thread that receives requests waits.
            let replies = try callers.map {
                try mount.filesystem.lookup(in: point.inode, name: "work", for: $0)
            }
            try mount.save("x", "work/s")
            #expect(try mount.read("work/s") == "x")
            for caller in callers { caller.abandon() }
            for reply in replies {
                #expect(mount.failure { () throws(Errno) in try mount.value(reply) } == .interrupted)
            }
            past.answer()
            #expect(past.mostAtOnce == 2)
        }
    }
}

/// A history on a disk that does not answer.
private final class StuckPast: StorePast {
    private struct State {
        var isStuck = true
        var running = 0
        var most = 0
    }
    private let state = Monitor(State())

    var mostAtOnce: Int { state.withLock { $0.most } }

    func answer() {
        state.withLock { $0.isStuck = false }
        state.broadcast()
    }

    func state(
        _ typed: String, of store: Store, cancellation: Cancellation
    ) throws(StoreError) -> PastState {
        state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
        }
        state.waiting { state, _ in state.isStuck ? .wait(until: nil) : .done(()) }
        state.withLock { $0.running -= 1 }
        throw StoreError(.system(.ioError), "the disk is gone.")
    }

    func entries(of folder: PastFolder, in store: Store) throws(StoreError) -> [PastEntry] { [] }
    func content(of blob: PastBlob, in store: Store) throws(StoreError) -> [UInt8] { [] }
    func versions(
        of secret: FilePath, in store: Store, cancellation: Cancellation
    ) throws(StoreError) -> [PastVersion] { [] }
    func laterNames(
        of path: FilePath, holding blob: PastBlob, since commit: PastCommit, in store: Store,
        cancellation: Cancellation
    ) throws(StoreError) -> [FilePath] { [] }
}
