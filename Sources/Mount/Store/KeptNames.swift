import Synchronization
import SystemPackage

/// Files that had to be shown with their `.gpg`, as something else had the name without it, and that go on being shown so
/// though it has gone: no operation of one name is to change another, and `rm -r` finds what it has listed.
///
/// Paths on disk, relative to the store. With the mount they are forgotten.
final class KeptNames: Sendable {
    private let paths = Mutex<Set<FilePath>>([])

    /// Whether the file at a path goes on being shown under its full name.
    func include(_ path: FilePath) -> Bool {
        paths.withLock { $0.contains(path) }
    }

    /// As above, of a file in a folder. There are hardly ever any, so the path is built only where there are.
    func include(_ name: FilePath.Component, in folder: FilePath) -> Bool {
        paths.withLock { !$0.isEmpty && $0.contains(folder.appending(name)) }
    }

    func add(_ path: FilePath) {
        paths.withLock { _ = $0.insert(path) }
    }

    /// Something else lies there from now on, or nothing.
    func remove(_ path: FilePath) {
        paths.withLock { _ = $0.remove(path) }
    }

    /// A folder has another path now; what is in it comes along.
    func move(_ from: FilePath, to: FilePath) {
        paths.withLock { paths in paths = Set(paths.map { Self.moved($0, from, to) }) }
    }

    /// Two folders have changed places.
    func exchange(_ one: FilePath, _ other: FilePath) {
        paths.withLock { paths in
            paths = Set(
                paths.map { $0.starts(with: one) ? Self.moved($0, one, other) : Self.moved($0, other, one) })
        }
    }

    private static func moved(_ path: FilePath, _ from: FilePath, _ to: FilePath) -> FilePath {
        var rest = path
        guard rest != from, rest.removePrefix(from) else { return path }
        return to.pushing(rest)
    }
}
