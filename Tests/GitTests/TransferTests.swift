import Git
import Glibc
import Synchronization
import SystemPackage
import Testing

/// A working repository with one commit, and a bare one beside it that is its `origin`.
struct Pair {
    let work: TestRepository
    let bare: TestRepository

    init() throws {
        work = try TestRepository()
        bare = try TestRepository(work.folder, name: "bare", bare: true)
        try work.git("remote", "add", "origin", bare.path.string)
        try work.write("a", "one")
        try work.open().record(["a"], "First")
    }

    /// A second clone that pushes a commit of its own.
    func pushFromElsewhere(_ name: FilePath) throws {
        let other = try TestRepository(work.folder, name: "other\(name)")
        try other.git("pull", "-q", bare.path.string, "main")
        try other.write(name, "other")
        try other.git("add", name.string)
        try other.git("commit", "-q", "-m", "Other")
        try other.git("push", "-q", bare.path.string, "main")
    }

    func hook(_ name: String, _ script: String) throws {
        let hook = FilePath("hooks").appending(name)
        try bare.write(hook, "#!/bin/sh\n\(script)\n")
        chmod(bare.path.pushing(hook).string, 0o755)
    }
}

private let main = "refs/heads/main"

@Suite struct TransferTests {
    @Test func pushByPathMovesTheTrackingReference() throws {
        let pair = try Pair()
        let repository = try pair.work.open()
        try repository.push(remote: "origin", localRef: main, remoteRef: main)
        let tip = try #require(try repository.tip())
        #expect(try pair.bare.git("rev-parse", "main") == "\(tip)\n")
        #expect(try repository.commit(at: "refs/remotes/origin/main") == tip)
        #expect(try pair.bare.git("fsck", "--strict") == "")
        // Again, with nothing to do, and by the path in place of the name.
        try repository.push(remote: "origin", localRef: main, remoteRef: main)
        try repository.push(remote: pair.bare.path.string, localRef: main, remoteRef: "refs/heads/copy")
        #expect(try pair.bare.git("rev-parse", "copy") == "\(tip)\n")
    }

    @Test(arguments: [false, true]) func otherCommitsStopAPush(_ known: Bool) throws {
        let pair = try Pair()
        let daemon = try GitDaemon(pair.work.folder)
        let repository = try pair.work.open()
        try repository.push(remote: "origin", localRef: main, remoteRef: main)
        try pair.pushFromElsewhere("b")
        try pair.work.write("c", "ours")
        try repository.record(["c"])
        for remote in ["origin", daemon.url("bare")] {
            if known { try repository.fetch(remote: "origin") }
            expectGitError(.nonFastForward) {
                try repository.push(remote: remote, localRef: main, remoteRef: main)
            }
        }
        #expect(try pair.bare.git("log", "-1", "--format=%s", "main") == "Other\n")
    }

    @Test func upstreamAndCounts() throws {
        let pair = try Pair()
        let repository = try pair.work.open()
        #expect(try repository.upstream(of: main) == nil)
        #expect(try repository.unpushedCount(of: main) == nil)
        #expect(try repository.onlyRemote() == "origin")
        try pair.work.git("config", "branch.main.remote", "origin")
        try pair.work.git("config", "branch.main.merge", main)
        let upstream = try #require(try repository.upstream(of: main))
        #expect(upstream.remote == "origin" && upstream.remoteRef == main)
        #expect(upstream.url == pair.bare.path.string)
        #expect(upstream.trackingRef == "refs/remotes/origin/main")
        #expect(try repository.unpushedCount(of: main) == 1)
        try repository.push(remote: "origin", localRef: main, remoteRef: main)
        #expect(try repository.unpushedCount(of: main) == 0)
        try pair.pushFromElsewhere("b")
        try pair.work.write("c", "ours")
        try repository.record(["c"])
        try repository.fetch(remote: "origin")
        let remote = try #require(try repository.commit(at: "refs/remotes/origin/main"))
        let tip = try #require(try repository.tip())
        #expect(try repository.aheadBehind(local: tip, upstream: remote) == (1, 1))
        #expect(try repository.mergeBase(tip, remote) != nil)
        try pair.work.git("remote", "add", "second", "https://example.org/x")
        #expect(try repository.onlyRemote() == "origin")
        try pair.work.git("remote", "rename", "origin", "first")
        #expect(try pair.work.open().onlyRemote() == nil)
    }

    /// libgit2 1.5 loses memory with each variable that one of its regular expressions does not match.
    @Test func lookingForTheUpstreamKeepsNoMemory() throws {
        let pair = try Pair()
        try pair.work.git("config", "branch.main.remote", "origin")
        try pair.work.git("config", "branch.main.merge", main)
        let repository = try pair.work.open()
        func used() throws -> Int {
            let file = try FileDescriptor.open("/proc/self/statm", .readOnly)
            defer { try? file.close() }
            var bytes = [UInt8](repeating: 0, count: 200)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
            let pages = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")[1]
            return try #require(Int(pages)) * 4096
        }
        _ = try repository.upstream(of: main)
        let before = try used()
        for _ in 0..<2000 { _ = try repository.upstream(of: main) }
        // Other tests run in this process; what was lost were 300 MB and more.
        #expect(try used() - before < 100 << 20)
    }

    @Test func aHooksRefusalComesWithItsWords() throws {
        let pair = try Pair()
        let daemon = try GitDaemon(pair.work.folder)
        let repository = try pair.work.open()
        try pair.hook("pre-receive", "echo 'main is frozen until Monday' >&2; exit 1")
        let error = expectGitError(.rejected) {
            try repository.push(remote: daemon.url("bare"), localRef: main, remoteRef: main)
        }
        #expect(error?.message.contains("main is frozen until Monday") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("pre-receive hook declined") == true)
        #expect(
            try pair.bare.folder.run(["git", "rev-parse", "-q", "--verify", "main"], in: pair.bare.path)
                .status != 0)
        try pair.hook("pre-receive", "exit 0")
        try repository.push(remote: daemon.url("bare"), localRef: main, remoteRef: main)
        #expect(try pair.bare.git("log", "-1", "--format=%s", "main") == "First\n")
    }

    @Test func fetchAndCloneOverTheNetwork() throws {
        let pair = try Pair()
        let daemon = try GitDaemon(pair.work.folder)
        try pair.work.open().push(remote: daemon.url("bare"), localRef: main, remoteRef: main)
        let told = Mutex(0)
        let clone = try Repository.clone(
            daemon.url("bare"), to: pair.work.folder.path.appending("clone"), branch: "main",
            callbacks: TransferCallbacks(progress: { progress in
                told.withLock { $0 = max($0, progress.objects) }
                return true
            }))
        #expect(try clone.tip() == pair.work.open().tip())
        #expect(told.withLock { $0 } == 3)
        #expect(try clone.upstream(of: main)?.trackingRef == "refs/remotes/origin/main")
        #expect(try clone.changes().isEmpty)
        try pair.pushFromElsewhere("b")
        expectGitError(.cancelled) {
            try clone.fetch(remote: "origin", callbacks: TransferCallbacks(progress: { _ in false }))
        }
        try clone.fetch(remote: "origin", refspecs: ["+refs/heads/main:refs/passdir/main"])
        #expect(
            try clone.commitInfo(try #require(try clone.commit(at: "refs/passdir/main"))).message == "Other\n"
        )
    }

    @Test func wrongCredentialsAreOfferedOnce() throws {
        let server = try StubbornServer(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
        let pair = try Pair()
        let repository = try pair.work.open()
        let url = "http://user:hunter2@127.0.0.1:\(server.port)/x.git"
        let asked = Mutex<[CredentialRequest]>([])
        let callbacks = TransferCallbacks(credentials: { request in
            let count = asked.withLock { list in
                list.append(request)
                return list.count
            }
            let word = count == 1 ? "wrong" : "wrong too"
            let secret = LentSecret { use in word.utf8.withContiguousStorageIfAvailable { use(.init($0)) }
            }
            return .password(username: "user", secret)
        })
        let error = expectGitError(.authentication) {
            try repository.push(remote: url, localRef: main, remoteRef: main, callbacks: callbacks)
        }
        let requests = asked.withLock { $0 }
        #expect(requests.map(\.attempt) == [0, 1, 2])
        #expect(requests.first?.usernameFromURL == "user")
        #expect(requests.first?.allowed.contains(.usernamePassword) == true)
        #expect(error?.message.contains("hunter2") == false, "\(error?.message ?? "")")
        expectGitError(.authentication) {
            try repository.fetch(remote: "http://127.0.0.1:\(server.port)/x.git")
        }
        expectGitError(.authentication) {
            try repository.fetch(
                remote: "http://127.0.0.1:\(server.port)/x.git",
                callbacks: TransferCallbacks(credentials: { _ in nil }))
        }
    }

    @Test func whatCannotBeReachedIsTheNetwork() throws {
        let pair = try Pair()
        let repository = try pair.work.open()
        let port = try Listener().port
        for scheme in ["git", "http", "https", "ssh"] {
            expectGitError(.network) { try repository.fetch(remote: "\(scheme)://127.0.0.1:\(port)/x.git") }
        }
        let server = try StubbornServer("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        expectGitError(.network) { try repository.fetch(remote: "http://127.0.0.1:\(server.port)/x.git") }
        expectGitError(.notFound) { try repository.fetch(remote: "nobody") }
        expectGitError(.notFound) { try repository.fetch(remote: "/no/such/repository") }
    }
}
