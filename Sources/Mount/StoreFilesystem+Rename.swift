public import Fuse
import OpenPGP
import Stores
import Synchronization
public import SystemPackage

/// A rename that is being looked at: where from, where to, and what lies there.
private struct Move {
    var store: MountedStore
    var node: Node
    /// nil when the source is only in memory so far.
    var sourceStatus: FileStatus?
    var source: FilePath
    var destinationFolder: Node
    var destinationName: Name
    var destination: FilePath
    var replaced: Node?
    var replacedStatus: FileStatus?

    var backing: Name { destination.lastComponent! }
}

extension StoreFilesystem {
    public func rename(
        _ request: Request, from: InodeNumber, _ oldName: Name, to: InodeNumber, _ newName: Name, flags: RenameFlags
    ) throws(Errno) {
        let (sourceFolder, store, sourcePath) = try folder(from)
        let (destinationFolder, destinationStore, destinationPath) = try folder(to)
        guard store === destinationStore else { throw .improperLink }
        guard !VisibleName.isHidden(newName) else { throw .notPermitted }
        if flags.contains(.exchange) {
            return try exchange(
                (sourceFolder, oldName, sourcePath), (destinationFolder, newName, destinationPath), store)
        }
        // What was looked at may change before the names are: look again.
        for _ in 0..<16 {
            let move = try store.namespace.withLock { _ throws(Errno) in
                try self.look(
                    (sourceFolder, oldName, sourcePath), (destinationFolder, newName, destinationPath), store)
            }
            defer {
                tree.forget(move.node.inode, count: 1)
                if let replaced = move.replaced { tree.forget(replaced.inode, count: 1) }
            }
            if move.replaced === move.node { return }
            if move.replaced != nil, flags.contains(.noReplace) { throw .fileExists }
            if try perform(move, request) { return }
        }
        throw .resourceBusy
    }

    private typealias Side = (folder: Node, name: Name, path: FilePath)

    /// Under the namespace lock; counts a lookup of the source and of what is to be replaced.
    private func look(_ from: Side, _ to: Side, _ store: MountedStore) throws(Errno) -> Move {
        let (node, status) = try find(from.name, in: from.folder, at: from.path, of: store)
        do throws(Errno) {
            guard let source = tree.backingPath(of: node) else { throw .noSuchFileOrDirectory }
            var move = Move(
                store: store, node: node, sourceStatus: status, source: source, destinationFolder: to.folder,
                destinationName: to.name, destination: to.path.appending(to.name))
            do throws(Errno) {
                let (replaced, replacedStatus) = try find(to.name, in: to.folder, at: to.path, of: store)
                move.replaced = replaced
                move.replacedStatus = replacedStatus
                guard let path = tree.backingPath(of: replaced) else { throw .noSuchFileOrDirectory }
                if node.fileKind != .directory { move.destination = path }
            } catch .noSuchFileOrDirectory {
                move.replaced = nil
                if isStoredWithSuffix(node, source) {
                    move.destination = to.path.appending(try newBackingName(to.name, in: to.path, of: store))
                }
            }
            return move
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    private func isStoredWithSuffix(_ node: Node, _ path: FilePath) -> Bool {
        switch node.kind {
        case .secret: true
        case .symbolicLink: path.lastComponent?.strippingSuffix() != nil
        case .root, .directory, .plain: false
        }
    }

    /// Returns false when what was looked at has changed.
    private func perform(_ move: Move, _ request: Request) throws(Errno) -> Bool {
        if let replaced = move.replaced {
            switch (move.node.fileKind == .directory, replaced.fileKind == .directory) {
            case (true, false): throw .notDirectory
            case (false, true): throw .isDirectory
            default: break
            }
            if case .plain = replaced.kind { throw .notPermitted }
        }
        switch move.node.kind {
        case .root, .plain: throw .notPermitted
        case .directory:
            if let replaced = move.replaced, hasUnsavedChildren(replaced) { throw .directoryNotEmpty }
            guard try haveSameRecipientsBelow(move) else { throw .improperLink }
            return try renameOnDisk(move)
        case .symbolicLink: return try renameOnDisk(move)
        case .secret(let file):
            let isDirty = file.state.withLock { $0.isDirty }
            if isDirty { return try renameUnsaved(move, file) }
            guard try haveSameRecipients(move) else { return try renameToOtherRecipients(move, file, request) }
            return try renameOnDisk(move)
        }
    }

    /// Nothing but names change.
    private func renameOnDisk(_ move: Move) throws(Errno) -> Bool {
        let root = move.store.store.root
        let isDone = try move.store.namespace.withLock { _ throws(Errno) -> Bool in
            guard self.stands(move) else { return false }
            try root.rename(move.source, to: move.destination, flags: move.replaced == nil ? .noReplace : [])
            self.settle(move)
            if let file = move.node.secret, let status = try root.statusIfPresent(of: move.destination) {
                file.state.withLock { $0.rebase(status) }
            }
            return true
        }
        guard isDone else { return false }
        try synchronizeParents(move)
        move.store.sink.note(.renamed(from: move.source, to: move.destination))
        return true
    }

    /// The secret has edits that are not on disk: they are encrypted for the new place right now, and the errors of
    /// that are rename's errors.
    private func renameUnsaved(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        let isEmptyAndOpen = file.state.withLock { $0.isOnlyTruncated && $0.base == nil && $0.handles > 0 }
        if isEmptyAndOpen {
            // Made a moment ago and still to be written: it is saved under its new name when it is closed.
            return move.store.namespace.withLock { _ in
                guard self.stands(move) else { return false }
                self.settle(move)
                file.state.withLock { $0.base = move.replacedStatus }
                return true
            }
        }
        return try encryptAtDestination(move, file)
    }

    private func renameToOtherRecipients(
        _ move: Move, _ file: SecretFile, _ request: Request
    ) throws(Errno) -> Bool {
        file.state.withLock { $0.handles += 1 }
        defer { file.state.withLock { state in
            state.handles -= 1
            if state.handles == 0, !state.isDirty { state.drop() }
        } }
        try load(move.node, file, request)
        return try encryptAtDestination(move, file)
    }

    /// Writes the content to the new place, encrypted to who may read there, then removes the old file. A crash in
    /// between leaves both.
    private func encryptAtDestination(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        do throws(StoreError) {
            let isDone = try file.saving.withLock { _ throws(StoreError) -> Bool in
                let (bytes, version, modified) = try self.content(of: file)
                let staged = try move.store.store.stage(
                    bytes, for: move.destination, modified: modified ?? move.sourceStatus?.identity.modified)
                return try self.place(staged, move, file, version: version, size: bytes.count)
            }
            guard isDone else { return false }
        } catch {
            let errno = Errno(error)
            file.state.withLock { state in
                guard state.isDirty else { return }
                state.failure = SecretFile.Failure(errno: errno, message: error.message, since: .now)
            }
            throw errno
        }
        unmarkIfSaved(move.node, file)
        try synchronizeParents(move)
        move.store.sink.note(
            move.sourceStatus == nil
                ? .saved(move.destination) : .renamed(from: move.source, to: move.destination))
        return true
    }

    private func place(
        _ staged: StagedSecret, _ move: Move, _ file: SecretFile, version: UInt64, size: Int
    ) throws(StoreError) -> Bool {
        try move.store.namespace.withLock { _ throws(StoreError) in
            guard self.stands(move) else { return false }
            let status = try staged.publish(as: move.destination)
            do throws(Errno) {
                if move.sourceStatus != nil { try move.store.store.root.unlink(move.source) }
            } catch {
                throw StoreError(error, "remove", move.source)
            }
            self.settle(move)
            file.state.withLock { $0.markSaved(version, as: status, size: size) }
            return true
        }
    }

    private func content(
        of file: SecretFile
    ) throws(StoreError) -> (bytes: SecretBytes, version: UInt64, modified: FileTime?) {
        do {
            return try file.state.withLock { (state) throws(Errno) in
                let (bytes, version) = try state.snapshot()
                return (bytes, version, state.modified)
            }
        } catch {
            throw StoreError(.system(error), "there is no memory for a copy of the secret.")
        }
    }

    /// Whether source and destination still are what was looked at. Under the namespace lock.
    private func stands(_ move: Move) -> Bool {
        guard tree.backingPath(of: move.node) == move.source,
            tree.backingPath(of: move.destinationFolder) == move.destination.removingLastComponent(),
            tree.child(move.destinationName, of: move.destinationFolder) === move.replaced
        else { return false }
        let disk = try? move.store.store.root.statusIfPresent(of: move.destination)
        return (disk == nil) == (move.replacedStatus == nil)
    }

    /// The names in the tree follow those on disk. Under the namespace lock.
    private func settle(_ move: Move) {
        if let replaced = move.replaced {
            replaced.secret?.state.withLock { $0.abandonEdits() }
        }
        tree.move(
            move.node, to: move.destinationFolder, name: move.destinationName, backing: move.backing)
        if let replaced = move.replaced, let file = replaced.secret { unmarkIfSaved(replaced, file) }
    }

    private func synchronizeParents(_ move: Move) throws(Errno) {
        let root = move.store.store.root
        try root.synchronizeParent(of: move.destination)
        if move.source.removingLastComponent() != move.destination.removingLastComponent() {
            try root.synchronizeParent(of: move.source)
        }
    }

    private func haveSameRecipients(_ move: Move) throws(Errno) -> Bool {
        try haveSameRecipients(move.store.store, move.source, move.destination)
    }

    /// A folder that brings its own `.gpg-id` keeps its recipients wherever it goes.
    private func haveSameRecipientsBelow(_ move: Move) throws(Errno) -> Bool {
        let own = move.source.appending(Store.recipientFileName)
        if try move.store.store.root.statusIfPresent(of: own) != nil { return true }
        return try haveSameRecipients(move.store.store, move.source, move.destination)
    }

    private func haveSameRecipients(_ store: Store, _ one: FilePath, _ other: FilePath) throws(Errno) -> Bool {
        if one.removingLastComponent() == other.removingLastComponent() { return true }
        let files = ((try? store.recipientFile(for: one)), (try? store.recipientFile(for: other)))
        if files.0 == files.1 { return true }
        do {
            let lists = (try store.recipients(for: one), try store.recipients(for: other))
            return Set(lists.0.recipients.map(\.encryptionTarget)) == Set(lists.1.recipients.map(\.encryptionTarget))
        } catch {
            throw Errno(error)
        }
    }

    /// Swaps two names of the same kind where the same recipients apply; EINVAL otherwise, as a file system that
    /// cannot.
    private func exchange(_ one: Side, _ other: Side, _ store: MountedStore) throws(Errno) {
        let (first, second) = try store.namespace.withLock { _ throws(Errno) in
            let (first, _) = try self.find(one.name, in: one.folder, at: one.path, of: store)
            defer { self.tree.forget(first.inode, count: 1) }
            let (second, _) = try self.find(other.name, in: other.folder, at: other.path, of: store)
            defer { self.tree.forget(second.inode, count: 1) }
            return (first, second)
        }
        for node in [first, second] {
            if let file = node.secret { try save(node, file) }
        }
        guard let onePath = tree.backingPath(of: first), let otherPath = tree.backingPath(of: second) else {
            throw .noSuchFileOrDirectory
        }
        switch (first.kind, second.kind) {
        case (.secret, .secret), (.directory, .directory): break
        default: throw .invalidArgument
        }
        guard try haveSameRecipients(store.store, onePath, otherPath) else { throw .invalidArgument }
        try store.namespace.withLock { _ throws(Errno) in
            guard self.tree.backingPath(of: first) == onePath, self.tree.backingPath(of: second) == otherPath else {
                throw .resourceBusy
            }
            try store.store.root.rename(onePath, to: otherPath, flags: .exchange)
            self.tree.exchange(first, second)
        }
        try store.store.root.synchronizeParent(of: onePath)
        try store.store.root.synchronizeParent(of: otherPath)
        store.sink.note(.saved(onePath))
        store.sink.note(.saved(otherPath))
    }
}

extension Recipient {
    /// What gpg encrypts to: two recipients are the same when this is.
    fileprivate var encryptionTarget: String {
        "\(key.fingerprint) \(subkey.map(\.description) ?? "")"
    }
}
