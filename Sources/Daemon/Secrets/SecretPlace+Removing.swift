import Glibc
import Stores
import System
public import SystemPackage

extension SecretPlace {
    /// The files of a folder that are no secrets, links or lists of recipients: they are the user's, and stay.
    public func foreignFiles() throws(DaemonError) -> [FilePath] {
        guard kind == .folder else { return [] }
        return try DaemonError.wrapping { try files(below: file).others }
    }

    /// Of what `remove` would take away, what no commit holds, as STORE/PATH, after what waits for that was committed.
    public func unkeptBelow() throws(DaemonError) -> [String] {
        guard kind == .folder else { return try unkept() }
        let found = try DaemonError.wrapping { try files(below: file) }
        return try unkept(found.removable + found.lists)
    }

    /// Removes what lies here, and folders that are empty then; commits that as pass does. What waits to be committed is
    /// committed before, so that `passdir restore` can bring it back.
    /// - Parameter loss: of what no commit can hold.
    /// - Throws: one sentence where something could not be removed.
    public func remove(losing loss: Loss = .refused, environment: [String: String]) throws(DaemonError) {
        try checkSaved(environment: environment)
        guard kind == .folder else {
            guard let known = try status() else { throw DaemonError(message: "there is no secret \(name)") }
            try keepInHistory([file], losing: loss)
            try removeFile(known)
            removeEmptyFolders(above: file)
            return try commit([], also: [file], message: "Remove \(passName) from store.")
        }
        let found = try DaemonError.wrapping { try files(below: file) }
        if let other = found.others.first {
            throw DaemonError(
                message: "nothing was removed, as \(store.name)/\(other) is no secret: move it away first")
        }
        let known = try found.removable.map { (path) throws(DaemonError) in
            (path, try secret(at: path).status())
        }
        for list in found.lists {
            try checkMayChangeRecipients(of: list.removingLastComponent(), environment: environment)
        }
        try keepInHistory(found.removable + found.lists, losing: loss)
        for case (let path, let status?) in known { try secret(at: path).removeFile(status) }
        var gone = found.removable
        for list in found.lists {
            gone += try DaemonError.wrapping { try store.removeList(of: list.removingLastComponent()) }
        }
        for folder in found.folders.reversed() { try? store.root.removeDirectory(folder) }
        try? store.root.removeDirectory(file)
        removeEmptyFolders(above: file)
        try commit([], also: gone, message: "Remove \(passName) from store.")
    }

    /// Refuses to give a folder of the store a list of recipients, or to take its list away, for whoever may not read what lies there.
    func checkMayChangeRecipients(
        of folder: FilePath, environment: [String: String]
    ) throws(DaemonError) {
        try CommandRead.checkMayChangeRecipients(
            of: folder, ofStore: store.name, environment: environment)
    }

    /// Removes the file that was looked at. One that another program has put in its place since stays.
    func removeFile(_ known: FileStatus) throws(DaemonError) {
        do throws(Errno) {
            guard try store.root.status(of: file).isUnchanged(since: known) else {
                throw .staleNFSFileHandle
            }
            // Under another name nobody replaces it any more; whoever kills us here finds it as a conflict of that secret.
            let aside = try store.freeConflictPath(beside: file)
            try store.root.rename(file, to: aside, flags: .noReplace)
            FaultPoint.mayDie("secret.aside")
            let now = try store.root.status(of: aside)
            guard now.isSameContent(as: known) else {
                try store.root.rename(aside, to: file, flags: .noReplace)
                throw .staleNFSFileHandle
            }
            try store.root.unlink(aside)
            try store.root.synchronizeParent(of: file)
        } catch .noSuchFileOrDirectory {
            return
        } catch .staleNFSFileHandle {
            throw DaemonError(message: "\(name) stays: another program saved it just now")
        } catch {
            throw DaemonError(message: "\(name) cannot be removed: \(error)")
        }
    }

    /// Takes away the folders that were made for a secret, where it has not come.
    public func removeUnusedFolders() {
        if (try? status()) == .some(nil) { removeEmptyFolders(above: file) }
    }

    /// As pass: no empty folder stays behind.
    func removeEmptyFolders(above file: FilePath) {
        var folder = file.removingLastComponent()
        while !folder.isEmpty, (try? store.root.removeDirectory(folder)) != nil {
            folder.removeLastComponent()
        }
    }

    /// What lies below a folder, each on disk; outer folders first.
    private func files(
        below top: FilePath
    ) throws(Errno) -> (removable: [FilePath], lists: [FilePath], others: [FilePath], folders: [FilePath]) {
        var (removable, lists, others, folders): ([FilePath], [FilePath], [FilePath], [FilePath]) = (
            [], [], [], []
        )
        var waiting = [top]
        while let folder = waiting.popLast() {
            for entry in try store.root.entries(of: folder) {
                let path = folder.appending(entry.name)
                switch entry.kind {
                case .directory where entry.name.string == ".git": others.append(path)
                case .directory:
                    folders.append(path)
                    waiting.append(path)
                case .regular where entry.name == Store.recipientFileName: lists.append(path)
                // Goes with its list.
                case .regular where entry.name == Store.signatureFileName: break
                case .regular where entry.name.strippingSuffix() != nil, .symbolicLink: removable.append(path)
                case .regular, .other: others.append(path)
                }
            }
        }
        return (
            removable.sorted { $0.string < $1.string }, lists.sorted { $0.string > $1.string }, others,
            folders
        )
    }
}
