import Glibc
import SystemPackage
import TestKit
import Testing

/// Mounting, unmounting, and what may be wrong on the way.
@Suite struct LifeCycleTests {
    /// A home with a store `work`; `settings` are written before it is added.
    private func prepared(
        _ settings: [String: String] = [:], remote: Bool = false, git: Bool = true,
        _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: git, remote: remote)
            try home.configure(settings)
            try home.addStores([store])
            try body(home, store)
        }
    }

    private func expectFailure(_ result: ProgramResult, _ sentence: String) {
        #expect(result.exitCode == 1, "\(result.errors)")
        #expect(result.errors.hasPrefix("passdir: ") && result.errors.contains(sentence), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    /// Holds:
    /// - Changes are committed with pass's messages after `commit.delay`, and pushed; unmounting commits and
    ///   pushes what waits.
    @Test(.slow) func unmountingCommitsAndPushesWhatWaits() throws {
        try prepared(["commit.delay": "1h"], remote: true) { home, store in
            try store.insert("old", "text\n")
            try home.succeed(["cp", "work/old.gpg", "work/left.gpg"])
            try home.mount()
            // Until then the start would commit it as what a crash left.
            try home.waitUntil("what was left is committed") {
                try store.git("ls-files").contains("left.gpg")
            }
            // And the first exchange with the remote commits what it finds waiting.
            #expect(try home.passdir("sync").exitCode == 0)
            try FileCalls.save([1], to: home.visible("work/s"))
            #expect(try home.status().store("work").pendingChanges == 1)
            try home.unmount()
            #expect(try store.git("status", "--porcelain").isEmpty)
            #expect(try store.git("log", "-1", "--format=%s") == "Add given password for s to store.")
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
            #expect(home.mountPoints().isEmpty)
        }
    }

    /// Holds:
    /// - A remote that does not answer delays unmounting by `unmount.timeout` at most; what was not pushed is
    ///   pushed by the next mount.
    @Test(.slow) func aRemoteThatDoesNotAnswerHoldsUnmountingOnlyForAWhile() throws {
        try prepared(["commit.delay": "1h", "unmount.timeout": "2s"]) { home, store in
            let port = try SilentServer()
            defer { port.end() }
            try store.git("remote", "add", "origin", "git://127.0.0.1:\(port.number)/work.git")
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            let started = ContinuousClock.now
            try home.unmount()
            #expect(ContinuousClock.now - started < .seconds(15))
            #expect(try store.git("log", "-1", "--format=%s") == "Add given password for s to store.")
        }
    }

    /// Holds:
    /// - A push that fails is told by `passdir status`, and does not keep anything from being saved or
    ///   committed.
    @Test(.slow) func aRemoteThatIsNotThereIsTold() throws {
        try prepared(["commit.delay": "50ms"], remote: true) { home, store in
            try home.succeed(["mv", "work.git", "gone.git"])
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            // The fetch at the start may have failed before there was anything to push.
            try home.waitUntil("the push failed") {
                let report = try home.status().store("work")
                return report.lastError?.contains("origin") == true && report.unpushedCommits == 1
                    && report.pendingChanges == 0
            }
            try home.unmount()
            try home.succeed(["mv", "gone.git", "work.git"])
            // What was not pushed is pushed by the next mount.
            try home.mount()
            try home.waitUntil("it is pushed") {
                try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD")
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - Unmounting is refused while a program has a file in the mount open.
    @Test func aFileInUseRefusesUnmounting() throws {
        try prepared { home, store in
            try store.insert("s", "text\n")
            try home.mount()
            let held = try FileDescriptor.open(home.visible("work/s"), .readOnly)
            let refused = try home.passdir("unmount")
            let lines = refused.errors.split(separator: "\n")
            #expect(refused.exitCode == 1 && refused.output.isEmpty && lines.count == 2, "\(refused)")
            #expect(lines.first?.contains("in use") == true && lines[0].hasPrefix("passdir: "), "\(refused)")
            #expect(lines.last?.hasPrefix("  \(getpid()) ") == true, "\(refused)")
            #expect(lines.last?.hasSuffix(": has open work/s") == true, "\(refused)")
            #expect(try FileCalls.read(home.visible("work/s")) == Array("text\n".utf8), "the mount goes on")
            try held.close()
            try home.unmount()
        }
    }

    /// Holds:
    /// - A store that is no git repository is read and saved to without commits.
    @Test func aStoreWithoutGitIsSavedToAndNotCommitted() throws {
        try prepared(git: false) { home, store in
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            #expect(try store.show("s") == [1])
            try home.waitUntil("the store is known") { try home.status().store("work").state == "noCommits" }
            let report = try home.status().store("work")
            #expect(report.branch == nil && report.lastCommit == nil && report.lastError == nil)
            try home.waitUntil("nothing waits") { try home.status().store("work").pendingChanges == 0 }
            try home.unmount()
            #expect(!FileCalls.exists(store.path.appending(".git")))
        }
    }

    /// Holds:
    /// - While no branch is checked out, saves wait for one; `passdir status` says so.
    @Test func aDetachedHeadIsSavedToAndCommittedOnceABranchIsThere() throws {
        try prepared(["commit.delay": "50ms"]) { home, store in
            try store.git("checkout", "--quiet", "--detach")
            let head = try store.git("rev-parse", "HEAD")
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            #expect(try store.show("s") == [1])
            try home.waitUntil("status tells") {
                let report = try home.status().store("work")
                return report.state == "noCommits" && report.lastError?.contains("no branch") == true
            }
            #expect(try store.git("rev-parse", "HEAD") == head)
            try store.git("checkout", "--quiet", "main")
            try home.waitUntil("it is committed") { try store.git("rev-parse", "main") != head }
            try home.waitUntil("status tells") {
                let report = try home.status().store("work")
                return report.state == "ready" && report.branch == "main" && report.lastError == nil
            }
            try home.unmount()
            #expect(try store.git("status", "--porcelain").isEmpty)
        }
    }

    /// Holds:
    /// - What the user has staged in git stays staged and is not committed.
    @Test func theUsersStagedWorkStaysStaged() throws {
        try prepared(["commit.delay": "50ms"]) { home, store in
            try home.write("staged\n", to: "work/README")
            try store.git("add", "README")
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            try home.waitUntil("it is committed") {
                try store.git("log", "-1", "--format=%s") == "Add given password for s to store."
            }
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "A  README")
        }
    }

    /// Holds:
    /// - Where git has no identity, commits are made under the login name and the host's.
    @Test func aUserWithoutAnIdentityCommitsUnderTheLoginName() throws {
        try prepared(["commit.delay": "50ms"]) { home, store in
            try home.succeed(["git", "config", "--global", "--remove-section", "user"])
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            try home.unmount()
            let author = try store.git("log", "-1", "--format=%s|%an|%ae|%cn|%ce").split(separator: "|")
            let login = try home.succeed(["id", "--user", "--name"]).dropLast()
            #expect(author.count == 5 && author[0] == "Add given password for s to store.")
            #expect(author[2].hasPrefix("\(String(decoding: login, as: UTF8.self))@"), "\(author)")
            #expect(author[1] == author[3] && author[2] == author[4])
        }
    }

    /// Holds:
    /// - A mount that cannot be made says why in one line, with exit status 1, and leaves no daemon behind.
    @Test func aStartThatFailsSaysWhyInOneLine() throws {
        try prepared { home, _ in
            try home.write("", to: "file")
            expectFailure(try home.passdir("mount", home.path("file").string), "file")
            expectFailure(try home.passdir("mount", home.path("no/such/parent").string), "no/such/parent")
            expectFailure(try home.passdir("mount", home.path("work").string), "work")
            expectFailure(try home.passdir("mount", home.path("work/inside").string), "work")
            try FileCalls.makeDirectory(home.path("full"))
            try home.write("", to: "full/file")
            expectFailure(try home.passdir("mount", home.path("full").string), "in it: file.")

            // The only store is gone.
            try home.succeed(["mv", "work", "away"])
            expectFailure(try home.passdir("mount", home.mountPoint.string), "work")
            try home.succeed(["mv", "away", "work"])

            // A configuration that cannot be read names the line.
            let configuration = try home.text(of: "config/passdir/config")
            try home.write(configuration + "[broken\n", to: "config/passdir/config")
            expectFailure(try home.passdir("mount", home.mountPoint.string), "config")
            try home.write(configuration + "[commit]\n\tdelay = soon\n", to: "config/passdir/config")
            expectFailure(try home.passdir("mount", home.mountPoint.string), "soon")
            try home.write("", to: "config/passdir/config")
            expectFailure(try home.passdir("mount", home.mountPoint.string), "no store")
            #expect(home.mountPoints().isEmpty && home.daemons().isEmpty)
        }
    }

    /// Holds:
    /// - A store that cannot be opened is left out of the mount and told by `passdir status`; the other
    ///   stores work.
    /// - A store whose folder is missing when the mount begins is shown when its folder is there, a `save.retry` later
    ///   at most.
    @Test(.slow) func oneBrokenStoreLeavesTheOthers() throws {
        try prepared { home, store in
            let key = try home.makeKey("b@example.org")
            try home.succeed(["mkdir", "disk"])
            let other = try home.makeStore("disk/other", recipients: [key])
            try home.addStores([other])
            try home.configure(["save.retry": "100ms", "commit.delay": "10ms"])
            try store.insert("s", "text\n")
            try other.insert("t", "other text\n")
            try home.succeed(["mv", "disk", "away"])
            try home.mount()
            #expect(try FileCalls.read(home.visible("work/s")) == Array("text\n".utf8))
            let report = try home.status().store("other")
            #expect(report.state == "failed")
            #expect(
                report.lastError?.contains(
                    "its folder \(other.path) is missing, as \(home.path("disk")) does not exist;") == true,
                "\(report)")
            #expect(try home.passdir("status").output.contains("state    unusable\n"))
            #expect(try home.text(of: "state/passdir/log").ranges(of: "is missing").count == 1)

            try home.succeed(["mv", "away", "disk"])
            try home.waitUntil("it is shown") { try home.status().store("other").state == "ready" }
            #expect(try FileCalls.read(home.visible("other/t")) == Array("other text\n".utf8))
            try FileCalls.save(Array("new\n".utf8), to: home.visible("other/t"))
            try home.waitUntilCommitted(other)
            // In the order of the configuration, as if it had been there.
            #expect(try home.status().stores.map(\.name) == ["work", "other"])
            try home.unmount()
            #expect(try other.show("t") == Array("new\n".utf8))
        }
    }

    /// Holds:
    /// - The control socket answers the user who mounted, and nobody else.
    @Test func theControlSocketRefusesAnotherUser() throws {
        guard geteuid() == 0 else {
            print("not run: only root can be another user")
            return
        }
        try prepared { home, _ in
            try home.mount()
            // Even where a mistake has opened the folders and the socket to everybody.
            try home.succeed(["chmod", "755", home.folder.string, "run", "run/passdir"])
            try home.succeed(["chmod", "666", "run/passdir/control"])
            let ask = """
                import socket, sys
                s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])
                try:
                    s.sendall(b'{"method":"org.passdir.Control.Status"}' + bytes(1))
                    print(len(s.recv(100)))
                except (BrokenPipeError, ConnectionResetError):
                    print(0)
                """
            let socket = home.path("run/passdir/control").string
            let ours = try home.succeed(["python3", "-c", ask, socket])
            #expect(String(decoding: ours, as: UTF8.self) == "100\n")
            let theirs = try home.succeed(
                [
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", ask,
                    socket,
                ], in: "/")
            #expect(String(decoding: theirs, as: UTF8.self) == "0\n")
            try home.unmount()
        }
    }
}

/// A server on the local network that takes connections and never says a word.
final class SilentServer: Sendable {
    /// Its port.
    let number: UInt16
    private let listening: Int32

    init() throws {
        listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listening = listening
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listening, address, length) == 0, listen(listening, 16) == 0 else {
                    return Int32(-1)
                }
                return getsockname(listening, address, &length)
            }
        }
        guard code == 0 else { throw Errno(rawValue: errno) }
        number = UInt16(bigEndian: address.sin_port)
    }

    func end() { close(listening) }
}
