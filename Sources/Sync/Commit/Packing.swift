import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// Has git pack a repository in which as much lies loose, or in as many packs, as git packs at by itself.
///
/// `git commit` does that behind itself (git-maintenance(1), `--auto`), so that pass never has many; where only passdir commits nobody
/// would. Whether and how is git's to decide, by the user's configuration (`gc.auto`, `gc.autoPackLimit`).
final class Packing: Sendable {
    private struct State {
        /// When git was last asked to, by the git directory: it may not want to.
        var last: [FilePath: ContinuousClock.Instant] = [:]
        var isAtWork = false
        /// git, while it runs.
        var child: ChildProcess?
        var isStopped = false
    }

    /// What git packs at where nothing is configured (git-config(1)): so many packs, or as many loose objects as make 27 of one in
    /// 256 of them.
    private static let limits = (packs: 50, loose: 27)
    private static let pause = Duration.seconds(600)
    /// Some seconds for each hundred thousand objects.
    private static let longest = Duration.seconds(3600)

    private let state = Monitor(State())
    private let log: Logger

    init(log: Logger) { self.log = log }

    /// Packs a repository where that is due, on a thread of its own; one at a time.
    func packIfDue(_ repository: Repository) {
        let directory = repository.gitDirectory
        guard Self.isDue(repository) else { return }
        let mayBegin = state.withLock { state in
            guard !state.isStopped, !state.isAtWork,
                state.last[directory].map({ .now - $0 >= Self.pause }) ?? true
            else { return false }
            state.last[directory] = .now
            state.isAtWork = true
            return true
        }
        guard mayBegin else { return }
        PosixThread.startWhenPossible(named: "packing") {
            self.pack(directory)
            self.state.withLock { $0.isAtWork = false }
        }
    }

    private func pack(_ directory: FilePath) {
        var environment = ProcessEnvironment.forGit
        environment["LC_ALL"] = "C"
        // Here, not behind us: it is ended with us. One thread leaves the others to who works here. What others pushed and took back
        // stays in a pack: as files of their own its objects could take a hundred times as much room.
        let words = [
            "git", "-c", "gc.autoDetach=false", "-c", "pack.threads=1", "-c", "gc.cruftPacks=true",
            "--git-dir", directory.string, "gc", "--auto", "--quiet",
        ]
        let child: ChildProcess?
        do throws(Errno) {
            child = try state.withLock { (state) throws(Errno) in
                guard !state.isStopped else { return nil }
                let child = try ChildProcess(
                    words, environment: environment, directory: "/", descriptors: [nil, nil, nil])
                state.child = child
                return child
            }
        } catch {
            return log.debug("cannot start git to pack the repository: \(error)")
        }
        guard let child else { return }
        if !child.waitForEnd(atMost: Self.longest) { child.kill() }
        // Whoever stops it must not end a process that has its number.
        let end = state.withLock { state in
            state.child = nil
            return child.wait()
        }
        if end != .exited(0) { log.info("git has not packed the repository: \(end)") }
    }

    /// Ends git where it is at work; nothing is packed any more. git removes what it has not finished, and begins anew some other
    /// time.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            if let child = state.child { kill(-child.pid, SIGTERM) }
        }
    }

    /// Whether git is at work, or about to be.
    var isAtWork: Bool { state.withLock { $0.isAtWork } }

    private static func isDue(_ repository: Repository) -> Bool {
        let objects = repository.commonDirectory.appending("objects")
        // git looks at this one folder, too.
        if DirectoryStream.names(in: objects.appending("17")).count >= limits.loose { return true }
        let packs = DirectoryStream.names(in: objects.appending("pack"))
        let kept = Set(packs.filter { $0.hasSuffix(".keep") }.map { $0.dropLast(5) })
        return packs.count { $0.hasSuffix(".pack") && !kept.contains($0.dropLast(5)) } > limits.packs
    }
}
