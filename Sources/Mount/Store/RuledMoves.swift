import System

/// Renames to where other rules apply, and the opens that must not fall in between.
///
/// An open is judged by the name that a secret has, and counts as open from then on. A rename looks for what is open, and then
/// changes the name. Either would miss the other between its two steps, and what is open would follow into other rules.
final class RuledMoves: Sendable {
    private struct State {
        /// What is being renamed.
        var moving: [Node] = []
        /// What is being opened, and the folders in which a file is being made.
        var entered: [Node] = []
    }

    private let state = Monitor(State())
    private let tree: Tree

    init(_ tree: Tree) { self.tree = tree }

    /// Begins an open of a secret, or the making of a file in a folder; waits while that is renamed.
    func enter(_ node: Node) {
        state.waiting { state, _ in enter(node, &state) ? .done(()) : .wait(until: nil) }
    }

    /// As `enter`; false where that would wait.
    func enterAtOnce(_ node: Node) -> Bool { state.withLock { enter(node, &$0) } }

    /// Ends what `enter` began: it was refused, or counts as open.
    func leave(_ node: Node) {
        state.withLock { state in
            guard let index = state.entered.lastIndex(where: { $0 === node }) else { return }
            state.entered.remove(at: index)
        }
    }

    /// Begins a rename of these; false where one of them, or something in it, is being opened.
    func begin(_ nodes: [Node]) -> Bool {
        state.withLock { state in
            guard !state.entered.contains(where: { isConcerned($0, by: nodes) }) else { return false }
            state.moving += nodes
            return true
        }
    }

    /// The names are changed, or not.
    func end(_ nodes: [Node]) {
        state.withLock { state in
            for node in nodes {
                if let index = state.moving.firstIndex(where: { $0 === node }) {
                    state.moving.remove(at: index)
                }
            }
        }
        state.broadcast()
    }

    private func enter(_ node: Node, _ state: inout State) -> Bool {
        guard !isConcerned(node, by: state.moving) else { return false }
        state.entered.append(node)
        return true
    }

    private func isConcerned(_ node: Node, by moving: [Node]) -> Bool {
        moving.contains { $0 === node || tree.isBelow(node, $0) }
    }
}

/// A rename that `Subtree.checkMove` has let begin.
struct RuledMove: Sendable {
    /// A rename under the same rules: nobody has to wait for it.
    static let free = RuledMove(moves: nil, nodes: [])

    fileprivate let moves: RuledMoves?
    fileprivate let nodes: [Node]

    private init(moves: RuledMoves?, nodes: [Node]) { (self.moves, self.nodes) = (moves, nodes) }

    /// nil where something of these is being opened.
    init?(_ nodes: [Node], in moves: RuledMoves) {
        guard moves.begin(nodes) else { return nil }
        self.init(moves: moves, nodes: nodes)
    }

    /// The names are changed, or not.
    func end() { moves?.end(nodes) }
}
