public import System

extension ProcessEnvironment {
    /// The variables of this process, without those that would lead git to another repository or to a question on a
    /// terminal.
    public static var forGit: [String: String] {
        var variables = variables(without: [
            "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
            "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
            "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_ASKPASS",
        ])
        variables["GIT_TERMINAL_PROMPT"] = "0"
        // Whatever runs git in the end finds no repository that nobody named.
        variables["GIT_CEILING_DIRECTORIES"] = "/"
        return variables
    }
}
