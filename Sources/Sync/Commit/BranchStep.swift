import Git

/// The step that others notice: a new index and then the branch, both finished but for their renames.
struct BranchStep: ~Copyable {
    var index: PreparedIndex
    var move: PreparedMove
}
