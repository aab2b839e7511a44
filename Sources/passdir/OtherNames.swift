/// What else hands call a command, at every level: `passdir delete` as `passdir store rm`.
enum OtherNames {
    /// Words that mean the same: who knows a command by one of them is understood by the others.
    private static let alike: [Set<String>] = [
        ["rm", "remove", "delete"], ["list", "ls"], ["mv", "rename"], ["cp", "copy"], ["insert", "add"],
    ]
    /// Words that may mean the same: one of them leads to another. The first row that leads to a command is it.
    private static let akin: [Set<String>] = [
        ["rm", "remove", "delete", "del", "drop", "erase", "forget", "unset"],
        ["add", "new", "create", "insert", "put"],
        ["set", "add", "new", "create", "edit", "change", "update", "modify"],
        ["show", "list", "ls", "get", "cat", "print", "view", "info"],
        ["mv", "move", "rename"], ["cp", "copy", "duplicate"], ["test", "check", "verify"],
        ["status", "stat", "state", "st"],
    ]

    /// The aliases of a command.
    /// - Parameter word: what the command does, where its name is a finer word for that.
    static func of(_ name: String, like word: String? = nil) -> [String] {
        (alike.first { $0.contains(word ?? name) } ?? []).subtracting([name]).sorted()
    }

    /// Those of some names that somebody may mean who types a word.
    static func akin(to word: String, among names: [String]) -> [String] {
        let rows = akin.filter { $0.contains(word) }
        return rows.lazy.map { row in names.filter(row.contains) }.first { !$0.isEmpty } ?? []
    }
}
