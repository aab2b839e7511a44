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

    /// Removes what lies here, and folders that are empty then; commits that as pass does. What waits to be committed is
    /// committed before, so that `passdir restore` can bring it back.
    /// - Throws: one sentence where something could not be removed.
    public func remove(environment: [String: String]) throws(DaemonError) {
        try checkSaved(environment: environment)
        guard kind == .folder else {
            guard let known = try status() else { throw DaemonError(message: "there is no secret \(name)") }
            try keepInHistory([file])
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
        try keepInHistory(found.removable + found.lists)
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

    /// Removes the file that was looked at. One that another program has put in its place since stays.
    func removeFile(_ known: FileStatus) throws(DaemonError) {
        let aside = FilePath("\(Store.temporaryPrefix)\(getpid())-removed.tmp")
        do throws(Errno) {
            // Under another name nobody replaces it any more.
            try store.root.rename(file, to: aside)
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
