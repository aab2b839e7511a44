import Glibc
public import Stores
public import System
import SystemPackage

extension SecretPlace {
    /// What a command has put in a secret's place.
    struct Put {
        /// The file of the secret.
        var file: FilePath
        /// A version that somebody else saved meanwhile and that is kept beside it.
        var kept: FilePath?
    }

    /// What becomes of a text that gives way and that no commit holds.
    public enum Loss: Sendable {
        /// It stays, and nothing is changed.
        case refused
        /// A person agreed that it is gone for good.
        case agreed
    }

    /// The facts of the secret that lies here, to tell later whether it is still the same; nil where there is none.
    /// - Throws: one sentence where a new secret may not be made here, nothing can be encrypted for this place, or the mount
    ///   holds text that waits to be saved here: before anybody has typed a text in vain.
    /// - Parameter encrypting: whether what is saved is encrypted anew; what is only moved need not be.
    public func lookToSave(
        environment: [String: String], encrypting: Bool = true
    ) throws(DaemonError) -> FileStatus? {
        switch kind {
        case .folder:
            throw DaemonError(
                message: file.isEmpty
                    ? "\(name) is a store: name a secret in it"
                    : "\(name) is a folder: name a secret in it")
        case .link: throw DaemonError(message: "\(name) is a symbolic link: name the secret that it leads to")
        case .nothing where namesFolder:
            throw DaemonError(message: "\(name)/ names a folder: leave out the slash at the end")
        case .nothing: if let objection = objectionToNew { throw DaemonError(message: objection) }
        case .secret: break
        }
        try checkSaved(environment: environment)
        if encrypting {
            do throws(StoreError) { try store.checkCanEncrypt(file) } catch {
                throw DaemonError(message: "\(name) cannot be saved: \(error)")
            }
        }
        return try status()
    }

    /// The facts of the file that lies here; nil where there is none.
    func status() throws(DaemonError) -> FileStatus? {
        do throws(Errno) {
            return try store.root.statusIfPresent(of: file)
        } catch .notDirectory {
            throw DaemonError(message: "\(name) cannot be made: something above it is no folder")
        } catch {
            throw DaemonError(message: "cannot look at \(name): \(error)")
        }
    }

    /// Encrypts a text to the recipients of this place, saves and commits it.
    ///
    /// - Parameters:
    ///   - known: the secret that it replaces, as it was looked at; another one that has come since is kept beside it.
    ///   - loss: of the secret that it replaces.
    ///   - message: what the commit says.
    /// - Returns: where such a version is kept, as STORE/PATH; nil where there is none.
    /// - Throws: one sentence; it says so where the text was saved all the same.
    public func save(
        _ text: SecretBytes, replacing known: FileStatus?, losing loss: Loss = .refused, message: String
    ) throws(DaemonError) -> String? {
        if known != nil { try keepInHistory([file], losing: loss) }
        let put = try put(text, replacing: known)
        try commit([put], also: [], message: message)
        return put.kept.map { "\(store.name)/\(store.visiblePath(of: $0))" }
    }

    /// Commits the secret that lies here, where it waits for that, as it is about to give way.
    /// - Returns: its name where no commit holds it all the same, as git ignores it.
    public func unkept() throws(DaemonError) -> [String] { try unkept([file]) }

    /// As above, of files of this store; of what is no git repository all may give way.
    func unkept(_ files: [FilePath]) throws(DaemonError) -> [String] {
        do throws(DaemonError) {
            try access.commit(files.map { .saved($0) }, pushing: false)
            return try access.uncommitted(among: files).map { "\(store.name)/\(store.visiblePath(of: $0))" }
        } catch {
            throw DaemonError(
                message:
                    "nothing was changed, as the present text of \(name) is not committed: \(error.message)")
        }
    }

    /// What is at these paths must be in the history before it gives way.
    func keepInHistory(_ files: [FilePath], losing loss: Loss) throws(DaemonError) {
        guard let first = try unkept(files).first, loss == .refused else { return }
        throw DaemonError(
            message: "nothing was changed, as git ignores \(first), so that no commit holds its present text")
    }

    /// Encrypts a text and puts it here, durably and not committed yet.
    func put(_ text: SecretBytes, replacing known: FileStatus?) throws(DaemonError) -> Put {
        var hasNewFolder = false
        do {
            var (result, ours): (Put, FileStatus?) = (Put(file: file), nil)
            for _ in 0..<16 {
                // Where it cannot be encrypted, nothing is made for it.
                let staged = try store.stage(text, for: file)
                hasNewFolder = try makeFolders() || hasNewFolder
                let own = ours
                // What was written into it in place meanwhile is not replaced, either; looked at here, as the exchange changes
                // the ctime.
                let seen = try store.root.statusIfPresent(of: file)
                let known = known.flatMap { seen?.isUnchanged(since: $0) == false ? nil : $0 }
                let published = try staged.publish(as: file) { status, _ in
                    known.map { status.isSameContent(as: $0) } ?? false
                        || own.map { status.isSameContent(as: $0) } ?? false
                } keepingOthersAt: { () throws(Errno) in
                    try store.freeConflictPath(beside: file)
                }
                result.kept = published.kept ?? result.kept
                try store.root.synchronizeParent(of: file)
                // Their list changed while it was encrypted: once more, in the place of our own.
                if store.isForItsRecipients(staged, at: file) { return result }
                ours = published.status
            }
            throw DaemonError(
                message:
                    "\(name) cannot be saved: its recipients change faster than it can be encrypted; try again"
            )
        } catch {
            if hasNewFolder { removeEmptyFolders(above: file) }
            throw error as? DaemonError ?? DaemonError(message: "\(name) cannot be saved: \(error)")
        }
    }

    /// Makes the folders above the secret.
    /// - Returns: whether one was missing.
    func makeFolders() throws(Errno) -> Bool {
        var (folder, isNew) = (FilePath(), false)
        for component in file.removingLastComponent().components {
            folder.append(component)
            guard (try? store.root.makeDirectory(folder)) != nil else { continue }
            isNew = true
            try store.root.synchronizeParent(of: folder)
        }
        return isNew
    }

    /// Commits what was put in place, and other files that are changed or gone with it.
    func commit(_ puts: [Put], also files: [FilePath], message: String) throws(DaemonError) {
        do throws(DaemonError) {
            let kept = puts.compactMap(\.kept)
            if !kept.isEmpty { try access.commit(kept.map { .saved($0) }, pushing: false) }
            try access.commit(puts.map(\.file) + files, message: message, pushing: !access.isServed)
        } catch {
            throw DaemonError(
                message: "\(name) is changed, but the change is not committed yet: \(error.message)")
        }
    }

    /// - Throws: one sentence where the mount holds text at this place, or below it, that it could not save.
    func checkSaved(environment: [String: String]) throws(DaemonError) {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        guard let report = try? client.status(limit: .seconds(2)),
            let unsaved = report.stores.first(where: { $0.name == store.name })?.unsaved
        else { return }
        guard let first = unsaved.first(where: { FilePath($0.path).starts(with: path) }) else { return }
        let secret = "\(store.name)/\(first.path)"
        throw DaemonError(
            message:
                "the mount holds text of \(secret) that could not be saved: passdir status says why, and "
                + "passdir discard \(ShellWord.quoted(secret)) gives it up")
    }
}
