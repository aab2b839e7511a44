import SystemPackage

/// The programs in Python that tests drive.
enum Programs {
    private static let folder = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .appending("Programs")

    /// The path of one.
    static func path(_ name: String) -> String {
        folder.appending(name).string
    }
}
