import Git

/// The step that others notice: a new index and then the branch, both finished but for their renames. The index is on the disk
/// only afterwards (`PreparedIndex.synchronize`): a large one takes longer than all the rest.
struct BranchStep: ~Copyable {
    var index: PreparedIndex
    var move: PreparedMove
}
