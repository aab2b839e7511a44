import SystemPackage

/// What this part has to know of the files of a password store.
enum StoreFile {
    /// A list of recipients, and its signature.
    static let lists: Set = [".gpg-id", ".gpg-id.sig"]

    /// Whether a file is a secret by its name: no attribute and no program of git's changes what is encrypted.
    static func isMessage(_ path: FilePath) -> Bool { path.extension == "gpg" }
}
