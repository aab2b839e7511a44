import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// rename(2), durable on return: EXDEV between stores, for a folder to where other recipients apply, and for
    /// a secret for which a passphrase would have to be asked.
    func rename(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags
    ) throws(Errno) {
        guard !VisibleName.isHidden(newName) else { throw .notPermitted }
        sink.beginRename()
        defer { sink.endRename() }
        // What was looked at may change before the names are: look again.
        for _ in 0..<16 {
            if flags.contains(.exchange) {
                if try exchange(oldName, in: source, with: newName, in: destination) { return }
                continue
            }
            let move = try namespace.withLock { _ throws(Errno) in
                try look(
                    oldName, in: place(of: source), newName, in: place(of: destination),
                    mayReplace: !flags.contains(.noReplace))
            }
            defer { forgetLook(move) }
            if move.replaced === move.node { return }
            if try perform(move) { return }
        }
        throw .resourceBusy
    }

    private func forgetLook(_ move: Move) {
        tree.forget(move.node.inode, count: 1)
        if let replaced = move.replaced { tree.forget(replaced.inode, count: 1) }
    }

    /// Under the namespace lock; counts a lookup of the source and of what is to be replaced.
    private func look(
        _ oldName: Name, in from: FolderPlace, _ newName: Name, in to: FolderPlace, mayReplace: Bool
    ) throws(Errno) -> Move {
        let (node, status) = try find(oldName, in: from)
        var move = Move(
            node: node, sourceStatus: status, source: from.path.appending(oldName), folder: to, name: newName,
            destination: to.path.appending(newName), isToScratch: false)
        do throws(Errno) {
            guard let source = tree.backingPath(of: node) else { throw .noSuchFileOrDirectory }
            move.source = source
            move.replaced = try findIfPresent(newName, in: to)
            if move.replaced === node { return move }
            if move.replaced != nil, !mayReplace { throw .fileExists }
            try lookAtDestination(&move)
            return move
        } catch {
            forgetLook(move)
            throw error
        }
    }

    private func lookAtDestination(_ move: inout Move) throws(Errno) {
        let isFile = move.node.fileKind != .directory
        if let replaced = move.replaced {
            switch (isFile, replaced.fileKind == .directory) {
            case (false, false): throw .notDirectory
            case (true, true): throw .isDirectory
            default: break
            }
            move.isToScratch = isFile && isScratch(replaced)
            guard let path = tree.backingPath(of: replaced) else { throw .noSuchFileOrDirectory }
            if isFile { try replace(path, of: replaced, &move) }
        } else if isFile, mount.scratchNames.match(move.name) {
            move.isToScratch = true
        } else if isStoredWithSuffix(move.node, move.source) {
            move.destination = move.folder.path.appending(
                try newBackingName(move.name, in: move.folder.path))
        }
        guard !move.isToScratch else { return }
        if !isFile, isClaimed(move.name, in: move.folder) { throw .fileExists }
        try checkPlace(
            of: move.node, from: move.source, to: move.destination, isNew: move.replaced == nil)
        move.replacedStatus = try root.statusIfPresent(of: move.destination)
        // Something lies there that is shown under another name: a secret `x` where a folder is to become `x.gpg`.
        let isHeldByAnother = move.replaced == nil || move.superseded != nil
        if isHeldByAnother, move.replacedStatus != nil,
            !isFile || parked.status(at: move.destination) == nil
        {
            throw .fileExists
        }
    }

    /// Where a file lies on disk that takes the visible name of another.
    private func replace(_ path: FilePath, of replaced: Node, _ move: inout Move) throws(Errno) {
        let hasSuffix = isStoredWithSuffix(move.node, move.source)
        guard hasSuffix != isStoredWithSuffix(replaced, path), !move.isToScratch, replaced.kind != .plain
        else {
            move.destination = path
            return
        }
        let name = hasSuffix ? move.name.appendingSuffix() : move.name
        guard name.byteCount <= 255 else { throw .fileNameTooLong }
        move.destination = move.folder.path.appending(name)
        move.superseded = path
    }

    /// Removes what the new name showed before, where that was saved. Under the namespace lock.
    func removeSuperseded(_ move: Move) throws(Errno) {
        guard let path = move.superseded, try root.statusIfPresent(of: path) != nil else { return }
        try root.unlink(path)
    }

    private func isStoredWithSuffix(_ node: Node, _ path: FilePath) -> Bool {
        switch node.kind {
        case .secret: true
        case .symbolicLink: path.lastComponent?.strippingSuffix() != nil
        case .root, .directory, .plain, .memoryLink: false
        }
    }

    /// Returns false when what was looked at has changed.
    private func perform(_ move: Move) throws(Errno) -> Bool {
        if move.replaced?.kind == .plain { throw .notPermitted }
        switch move.node.kind {
        case .root, .plain: throw .notPermitted
        case .directory: return try renameDirectory(move)
        case .memoryLink:
            // It is on no disk: mv(1) makes it anew where it is to be.
            guard move.isToScratch else { throw .improperLink }
            return renameInMemory(move)
        case .symbolicLink:
            // A link on disk has no content that could be kept in memory. One that leads to no secret would lose the
            // `.gpg` of its name: mv(1) makes it anew.
            guard !move.isToScratch else { throw .notPermitted }
            guard isStoredWithSuffix(move.node, move.source) || move.name.strippingSuffix() == nil else {
                throw .improperLink
            }
            return try renameOnDisk(move)
        case .secret: return try renameSecret(move)
        }
    }

    private func renameDirectory(_ move: Move) throws(Errno) -> Bool {
        if let replaced = move.replaced, try !entries(of: replaced).isEmpty { throw .directoryNotEmpty }
        guard try haveSameRecipientsBelow(move) else { throw .improperLink }
        // Their names would not follow, and a folder in which they lie is not empty to the disk.
        for path in [move.source, move.destination] { expire(parked.take(below: path)) }
        return try withLists(of: move.source, movedTo: move.destination) { () throws(Errno) in
            try renameOnDisk(move)
        }
    }

    /// Nothing but names change.
    func renameOnDisk(_ move: Move) throws(Errno) -> Bool {
        let done = try namespace.withLock { _ throws(Errno) -> DoneMove? in
            guard self.stands(move) else { return nil }
            let folders = try self.changedFolders(move)
            try root.rename(
                move.source, to: move.destination, flags: move.replacedStatus == nil ? .noReplace : [])
            if let replaced = move.replacedStatus { store.forgetSize(of: replaced) }
            try self.removeSuperseded(move)
            try self.keepName(
                besides: move.source, shownAs: self.tree.visiblePath(of: move.node)?.lastComponent)
            self.settle(move)
            if move.node.kind == .secret, let status = try root.statusIfPresent(of: move.destination) {
                if let earlier = move.sourceStatus { store.keepSize(of: earlier, as: status) }
                move.node.secret?.state.withLock { $0.base = status }
            }
            return DoneMove(links: self.settleLinks(of: move), folders: folders)
        }
        guard let done else { return false }
        try done.synchronize()
        if move.node.kind != .secret { expireBeside(move.node) }
        sink.note(.renamed(from: move.source, to: move.destination))
        if let path = move.superseded { sink.note(.removed(path)) }
        tell(done.links)
        return true
    }

    /// Only names in memory change.
    func renameInMemory(_ move: Move) -> Bool {
        namespace.withLock { _ in
            guard stands(move) else { return false }
            settle(move)
            return true
        }
    }

    /// Whether source and destination still are what was looked at. Under the namespace lock.
    func stands(_ move: Move) -> Bool {
        guard tree.backingPath(of: move.node) == move.source,
            tree.backingPath(of: move.folder.node) == move.folder.path,
            tree.child(move.name, of: move.folder.node) === move.replaced,
            isStillThere(move)
        else { return false }
        if move.isToScratch { return true }
        let disk = try? root.statusIfPresent(of: move.destination)
        return (disk == nil) == (move.replacedStatus == nil)
    }

    /// Whether the source lies on disk, or in memory only, as when it was looked at: the save that the last close of
    /// a new file has begun may have put it there since, where it would stay under its old name.
    private func isStillThere(_ move: Move) -> Bool {
        if move.sourceStatus == nil, isScratch(move.node) { return true }
        guard let disk = try? root.statusIfPresent(of: move.source) else {
            return move.sourceStatus == nil
        }
        let isParked = parked.status(at: move.source).map(disk.isUnchanged(since:)) ?? false
        return isParked == (move.sourceStatus == nil)
    }

    /// The names in the tree follow those on disk. Under the namespace lock.
    func settle(_ move: Move) {
        if let replaced = move.replaced {
            unwatch(replaced)
            if isScratch(replaced) {
                dropScratch(replaced)
            } else if let file = replaced.secret {
                file.state.withLock { $0.abandonEdits() }
                unmarkIfSaved(replaced, file)
            }
        }
        tree.move(move.node, to: move.folder.node, name: move.name, backing: move.backing)
        parked.remove(move.destination)
        kept.remove(move.source)
        if let superseded = move.superseded { kept.remove(superseded) }
        if move.node.kind == .directory { kept.move(move.source, to: move.destination) }
    }

    /// The folders that a rename changes, the new one first. Under the namespace lock.
    func changedFolders(_ move: Move) throws(Errno) -> [ChangedFolder] {
        let isOne = move.source.removingLastComponent() == move.destination.removingLastComponent()
        return try (isOne ? [move.destination] : [move.destination, move.source])
            .map { path throws(Errno) in try root.folder(holding: path) }
    }

    /// A folder that brings its own `.gpg-id` keeps its recipients wherever it goes.
    private func haveSameRecipientsBelow(_ move: Move) throws(Errno) -> Bool {
        let own = move.source.appending(Store.recipientFileName)
        if try root.statusIfPresent(of: own) != nil { return true }
        return try haveSameRecipients(move.source, move.destination)
    }
}
