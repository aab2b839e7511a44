import Synchronization
public import SystemPackage

/// An open that is not answered yet.
public struct WaitingOpen: Sendable, Equatable {
    /// The thread that waits, which for a process of one thread is the process.
    public var thread: Int32
    /// What it opens, as the mount shows it.
    public var path: FilePath
}

/// The opens that wait, as for a passphrase: nothing in /proc tells of them.
final class WaitingOpens: Sendable {
    private struct State {
        var opens: [Int: (thread: Int32, node: Node)] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// An open is to be answered later.
    /// - Returns: what `end` takes.
    func begin(_ thread: Int32, _ node: Node) -> Int {
        state.withLock { state in
            state.next += 1
            state.opens[state.next] = (thread, node)
            return state.next
        }
    }

    /// It is answered.
    func end(_ number: Int) { state.withLock { _ = $0.opens.removeValue(forKey: number) } }

    /// Those that wait, the longest wait first.
    var all: [(thread: Int32, node: Node)] {
        state.withLock { $0.opens.sorted { $0.key < $1.key }.map(\.value) }
    }
}
