import Git
import SystemPackage

extension Store {
    /// Whether keys that others added to a `.gpg-id` must be agreed to before anything is encrypted to them
    /// (`recipients.confirm`): where nothing is set, when the repository of the file has a remote, by which others can
    /// add some.
    func mustConfirm(_ file: FilePath) -> Bool {
        options.mustConfirm ?? hasRemote(around: file)
    }

    private func hasRemote(around file: FilePath) -> Bool {
        var folder = file.removingLastComponent()
        while true {
            let entry = folder.appending(".git")
            if ((try? root.statusIfPresent(of: entry)) ?? nil) != nil {
                do throws(GitError) {
                    if try !Repository.open(root.path.pushing(folder)).remotes().isEmpty { return true }
                } catch {
                    // What cannot be looked at is taken for shared.
                    return true
                }
            }
            guard folder.removeLastComponent() else { return false }
        }
    }
}
