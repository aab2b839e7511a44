import SystemPackage

/// The programs in Python that tests drive.
enum Programs {
    private static let folder = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .appending("Programs")

    /// docs/semantics.md, in which programs look for the reasons of what they see.
    static let semantics = folder.removingLastComponent().removingLastComponent().removingLastComponent()
        .pushing("docs/semantics.md").string

    /// The path of one.
    static func path(_ name: String) -> String {
        folder.appending(name).string
    }
}
