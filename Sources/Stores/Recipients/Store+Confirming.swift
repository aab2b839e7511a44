import Git
import SystemPackage

extension Store {
    /// Whether keys that others added to a `.gpg-id` must be agreed to before anything is encrypted to them
    /// (`recipients.confirm`): where nothing is set, when the repository of the file has a remote, by which others can
    /// add some.
    public func mustConfirm(_ file: FilePath) -> Bool {
        options.mustConfirm ?? hasRemote(around: file)
    }

    private func hasRemote(around file: FilePath) -> Bool {
        let repositories = repositories
        // Only repositories of the store are opened; what lies in another one is taken for shared.
        guard let place = repositories.around(file) else { return isInAnyRepository(file) }
        var folder = place
        while true {
            do throws(GitError) {
                if try repositories.open(folder)?.remotes().isEmpty == false { return true }
            } catch {
                // What cannot be looked at is taken for shared.
                return true
            }
            guard folder.removeLastComponent() else { return false }
        }
    }

    /// Whether a file lies in a git repository, be it the store's or one around it.
    public func isInAnyRepository(_ file: FilePath) -> Bool {
        var folder = file.removingLastComponent()
        while true {
            if ((try? root.statusIfPresent(of: folder.appending(".git"))) ?? nil) != nil { return true }
            guard folder.removeLastComponent() else { return false }
        }
    }
}
