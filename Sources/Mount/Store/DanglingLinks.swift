import Fuse
import Synchronization
import SystemPackage

/// Symbolic links that were made or moved through the mount and lead to nothing, or to another link.
///
/// A link to a secret has `.gpg` in its name and its target on disk; whether it is one is only known when there is
/// something where it leads. With the mount they are forgotten.
final class DanglingLinks: Sendable {
    private struct State {
        /// Where each leads, as the mount shows it.
        var targets: [InodeNumber: FilePath] = [:]
        var nodes: [FilePath: [InodeNumber: Node]] = [:]

        mutating func take(at target: FilePath) -> [Node] {
            let taken = nodes.removeValue(forKey: target) ?? [:]
            for inode in taken.keys { targets[inode] = nil }
            return Array(taken.values)
        }
    }

    private let state = Mutex(State())

    /// Notes where a link leads, whose node is pinned.
    func add(_ node: Node, to target: FilePath) {
        state.withLock { state in
            state.targets[node.inode] = target
            state.nodes[target, default: [:]][node.inode] = node
        }
    }

    /// Takes out the links that lead to a path; they stay pinned.
    func take(at target: FilePath) -> [Node] {
        state.withLock { $0.targets.isEmpty ? [] : $0.take(at: target) }
    }

    /// Takes out all; they stay pinned.
    func takeAll() -> [Node] {
        state.withLock { state in
            defer { state = State() }
            return state.nodes.values.flatMap(\.values)
        }
    }

    /// Takes out a link, which stays pinned. Returns false when it was not there.
    func remove(_ node: Node) -> Bool {
        state.withLock { state in
            guard let target = state.targets.removeValue(forKey: node.inode) else { return false }
            state.nodes[target]?[node.inode] = nil
            if state.nodes[target]?.isEmpty == true { state.nodes[target] = nil }
            return true
        }
    }
}
