import Stores
import Synchronization
import SystemPackage

/// Secrets that were renamed to a scratch name, as an editor does with `f` to `f~` before it writes a new `f`.
///
/// Their names are gone in the mount, but the ciphertext stays on disk until a new secret takes its place (then the
/// two renames were one edit) or the grace time is over (then it was a removal). A crash meanwhile loses nothing.
final class ParkedSecrets: Sendable {
    private struct Parked {
        var status: FileStatus
        var deadline: ContinuousClock.Instant
    }

    private let parked = Mutex<[FilePath: Parked]>([:])

    /// Notes that the ciphertext at `path` stands for nothing any more after `grace`.
    func add(_ path: FilePath, _ status: FileStatus, grace: Duration) {
        parked.withLock { $0[path] = Parked(status: status, deadline: .now + grace) }
    }

    /// What lies at a path, if the path is parked.
    func status(at path: FilePath) -> FileStatus? {
        parked.withLock { $0[path]?.status }
    }

    /// Something else lies there now, or nothing.
    func remove(_ path: FilePath) {
        parked.withLock { _ = $0.removeValue(forKey: path) }
    }

    /// Paths whose grace time is over. They are not parked any more.
    func takeExpired() -> [(path: FilePath, status: FileStatus)] {
        let now = ContinuousClock.now
        return take { $1.deadline <= now }
    }

    /// All in a folder, as if their grace time were over.
    func take(below folder: FilePath) -> [(path: FilePath, status: FileStatus)] {
        take { path, _ in path != folder && path.starts(with: folder) }
    }

    /// As `take(below:)`, of the secret that a folder or link stands beside, which has its name now.
    func take(beside path: FilePath) -> [(path: FilePath, status: FileStatus)] {
        guard let name = path.lastComponent else { return [] }
        let secret = path.removingLastComponent().appending(name.appendingSuffix())
        return take { path, _ in path == secret }
    }

    private func take(
        where isDue: (FilePath, Parked) -> Bool
    ) -> [(path: FilePath, status: FileStatus)] {
        parked.withLock { parked in
            let due = parked.filter { isDue($0.key, $0.value) }
            for path in due.keys { parked[path] = nil }
            return due.map { ($0.key, $0.value.status) }
        }
    }

    /// Whether nothing is parked: the usual case.
    var isEmpty: Bool { parked.withLock { $0.isEmpty } }
}
