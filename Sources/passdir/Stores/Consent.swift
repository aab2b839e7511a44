import Glibc

/// Asks before something is destroyed: on a terminal; without one `--yes` must say it.
enum Consent {
    /// Returns when the user agrees.
    /// - Throws: `CommandFailure` when they do not, or nobody can be asked.
    static func require(_ question: String, yes: Bool) throws {
        if yes { return }
        guard Terminal.showsOutput else {
            throw CommandFailure("\(question) Say --yes to do it without being asked")
        }
        guard let answer = Terminal.line("\(question) [y/N] "), ["y", "yes"].contains(answer.lowercased())
        else {
            throw CommandFailure("Nothing was changed.")
        }
    }
}
