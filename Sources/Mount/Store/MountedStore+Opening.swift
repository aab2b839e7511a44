import Access
import Dispatch
import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    func open(_ node: Node, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<any OpenFile> {
        try checkName(of: node, onlyReads: !flags.isWritable && !flags.truncates)
        switch node.kind {
        case .root, .directory: throw .isDirectory
        case .symbolicLink, .memoryLink: throw .tooManySymbolicLinkLevels
        case .plain: return .now(try openPlain(node, flags))
        case .secret:
            if flags.isWritable || flags.truncates {
                try checkWritable()
                if !isScratch(node), let path = tree.backingPath(of: node) { try checkCanSave(path) }
            }
            let (consent, note): (AwaitedConsent?, ReadNote)
            switch flags.isReadable ? judge(node, caller) : .allowed(.none) {
            case .refused: throw .permissionDenied
            case .allowed(let whenRead): (consent, note) = (nil, whenRead)
            case .asked(let asked, let whenRead): (consent, note) = (asked, whenRead)
            }
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            if let consent { return .later(openAgreed(node, file, flags, caller, consent, note)) }
            guard flags.truncates else { return .later(openLoaded(node, file, flags, caller, note)) }
            return .now(try openEmptied(node, file, flags, caller, note))
        }
    }

    private func openEmptied(
        _ node: Node, _ file: SecretFile, _ flags: OpenFlags, _ caller: Caller, _ note: ReadNote
    ) throws(Errno) -> any OpenFile {
        do throws(Errno) {
            try truncate(node, file)
            // Nothing will ever flush it.
            if !flags.isWritable, !isScratch(node) { try save(node, file) }
        } catch {
            endHandle(node, file)
            throw error
        }
        note.read()
        return OpenSecret(self, node, file, flags, for: caller)
    }

    /// Opens when a person agrees that the caller reads it. Until then nothing is decrypted, or emptied.
    private func openAgreed(
        _ node: Node, _ file: SecretFile, _ flags: OpenFlags, _ caller: Caller, _ consent: AwaitedConsent,
        _ note: ReadNote
    ) -> PendingReply<any OpenFile> {
        let reply = PendingReply<any OpenFile>()
        ConsentWait(consent, caller).wait { error in
            if let error {
                self.endHandle(node, file)
                return reply.give(.failure(error))
            }
            if flags.truncates {
                return reply.give(
                    Result { () throws(Errno) in try self.openEmptied(node, file, flags, caller, note) })
            }
            self.openLoaded(node, file, flags, caller, note).whenGiven { reply.give($0) }
        }
        return reply
    }

    private func openLoaded(
        _ node: Node, _ file: SecretFile, _ flags: OpenFlags, _ caller: Caller, _ note: ReadNote
    ) -> PendingReply<any OpenFile> {
        let reply = PendingReply<any OpenFile>()
        @Sendable func refuse(_ error: Errno) {
            endHandle(node, file)
            if error == .permissionDenied, lock.isLocked { note.refusedByLock() } else { note.read() }
            reply.give(.failure(error))
        }
        mayRead(node, caller) { permission in
            switch permission {
            case .failure(let error): refuse(error)
            case .success(let permit):
                self.load(node, file, caller, permit, onlyReads: !flags.isWritable) { result in
                    do throws(Errno) {
                        try result.get()
                        let opened = try OpenSecret(self, node, file, flags, for: caller, by: permit)
                        self.mount.correctSize(of: node, to: opened.size)
                        note.read()
                        reply.give(.success(opened))
                    } catch {
                        refuse(error)
                    }
                }
            }
        }
        return reply
    }

    /// The content of a secret with one more handle; nil when the node is none.
    /// - Parameter isOwn: for work that the mount does of itself: no program has the file open because of it.
    func beginHandle(_ node: Node, isOwn: Bool = false) -> SecretFile? {
        let file = node.beginUse(mount.scratchMemory)
        file?.state.withLock { state in
            state.handles += 1
            if isOwn { state.ownHandles += 1 }
        }
        return file
    }

    /// One handle less; after the last one a saved content is kept for a while, or forgotten, here and in the kernel.
    func endHandle(_ node: Node, _ file: SecretFile, isOwn: Bool = false) {
        let count = file.state.withLock { state -> Int? in
            state.handles -= 1
            if isOwn { state.ownHandles -= 1 }
            return state.isIdle ? state.count : nil
        }
        if let count, !keep(node, count) { forget(node, file) }
        node.endUse()
    }

    /// Forgets a content that nobody has open and that is on disk, here and in the kernel.
    func forget(_ node: Node, _ file: SecretFile) {
        let isForgotten = file.state.withLock { state in
            guard state.isIdle else { return false }
            state.drop()
            return true
        }
        if isForgotten { mount.forgetPages(of: node) }
    }

    /// Keeps a content that was just closed; false where it is not to be kept.
    private func keep(_ node: Node, _ count: Int) -> Bool {
        guard !lock.isLocked, !hasLeft.load(ordering: .acquiring), let path = tree.backingPath(of: node),
            !Store.isRecipientFile(path)
        else { return false }
        return mount.kept.add(node, of: self, count: count)
    }

    /// Opens for reading what is in memory, and is what lies on disk.
    func openAtOnce(_ node: Node, _ flags: OpenFlags, for thread: Int32) -> (any OpenFile)? {
        guard let known = node.secret, known.state.withLock({ $0.isLoaded }),
            let permit = mayReadAtOnce(node),
            let disk = (try? node.isOnlyInMemory ? diskStatusIfNamed(node) : statusByName(of: node)) ?? nil,
            let file = beginHandle(node)
        else { return nil }
        let isReady = file.state.withLock {
            $0.isLoaded && ($0.isDirty || $0.base?.isSameContent(as: disk) == true)
        }
        if isReady, let note = mayRead(node, thread),
            let opened = try? OpenSecret(self, node, file, flags, for: nil, by: permit)
        {
            note.read()
            mount.correctSize(of: node, to: opened.size)
            return opened
        }
        endHandle(node, file)
        return nil
    }

    private func openPlain(_ node: Node, _ flags: OpenFlags) throws(Errno) -> PlainFile {
        guard !flags.isWritable else { throw .permissionDenied }
        guard let path = tree.backingPath(of: node) else { throw .staleNFSFileHandle }
        let bytes = try store.read(path, limit: mount.options.secretLimit)
        mount.correctSize(of: node, to: Int64(bytes.count))
        return PlainFile(bytes: bytes)
    }

    /// Makes an open secret empty without looking at what it held.
    func truncate(_ node: Node, _ file: SecretFile) throws(Errno) {
        let isScratch = file.state.withLock { $0.isScratch }
        let disk = isScratch ? nil : try? diskStatus(of: node)
        file.state.withLock { state in
            // Of what is only kept nobody has seen anything: it is what lies there now that is replaced.
            if !state.isLoaded || state.handles == 1 && !state.isDirty { state.base = disk }
            state.truncate(at: .now)
        }
        if !isScratch { markDirty(node) }
    }

    func create(
        _ name: Name, in folder: Node, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, any OpenFile)> {
        try checkShown(folder)
        // Before the lock: it may have to ask gpg what the keys are.
        if !isReadOnly.load(ordering: .relaxed), !mount.scratchNames.match(name), !VisibleName.isHidden(name),
            let path = tree.backingPath(of: folder)
        {
            let isList = name == Store.recipientFileName
            try checkCanSave(path.appending(isList ? name : name.appendingSuffix()))
        }
        let (node, isNew) = try inNamespace(of: folder) { place throws(Errno) -> (Node, Bool) in
            if let known = try findIfPresent(name, in: place) { return (known, false) }
            try checkWritable()
            if flags.isReadable, !mayCreate(name, in: folder, caller.processID) { throw .permissionDenied }
            do throws(Errno) {
                return (try make(name, in: place), true)
            } catch .fileExists {
                // Put there just now, by another program or with another folder that took the store's path.
                guard let known = try findIfPresent(name, in: place) else { throw .fileExists }
                return (known, false)
            }
        }
        do throws(Errno) {
            guard isNew else {
                // Somebody made it between the kernel's look-up and now.
                guard !flags.isExclusive else { throw .fileExists }
                let entry = try entry(node)
                return try open(node, flags: flags, for: caller).map { opened in
                    if case .failure = opened { self.tree.forget(node.inode, count: 1) }
                    return opened.map { (entry, $0) }
                }
            }
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            do throws(Errno) {
                // Nothing will ever flush it: what flock(1) makes must be on disk when it is open.
                try keep(node, file, isComplete: !flags.isWritable)
                return .now((try entry(node), OpenSecret(self, node, file, flags, for: caller)))
            } catch {
                endHandle(node, file)
                throw error
            }
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    func makeFile(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        let node = try inNamespace(of: folder) { place throws(Errno) in
            guard try isFree(name, in: place) else { throw .fileExists }
            return try make(name, in: place)
        }
        do throws(Errno) {
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            defer { endHandle(node, file) }
            try keep(node, file, isComplete: true)
            return try entry(node)
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    /// Takes care of a file that was just made: a scratch file stays in memory; any other is to be saved, and, when it
    /// is complete as it is, saved right now. One that cannot be saved is not there.
    private func keep(_ node: Node, _ file: SecretFile, isComplete: Bool) throws(Errno) {
        guard !file.state.withLock({ $0.isScratch }) else { return keepScratch(node) }
        markDirty(node)
        guard isComplete else { return }
        do throws(Errno) {
            try save(node, file)
        } catch {
            tree.detach(node)
            file.state.withLock { $0.abandonEdits() }
            unmarkIfSaved(node, file)
            throw error
        }
    }

    /// A new file, in memory so far. Under the namespace lock; counts a lookup.
    private func make(_ name: Name, in folder: FolderPlace) throws(Errno) -> Node {
        let isScratch = mount.scratchNames.match(name)
        let file = SecretFile(newAt: .now, isScratch: isScratch, scratchMemory: mount.scratchMemory)
        guard !isScratch else {
            return tree.insert(.secret, name: name, backing: name, in: folder.node, file: file)
        }
        let backing = try newBackingName(name, in: folder.path)
        // What an editor has just renamed away is what this one replaces.
        let replaced = parked.status(at: folder.path.appending(backing))
        file.state.withLock { $0.base = replaced }
        return tree.insert(.secret, name: name, backing: backing, in: folder.node, file: file)
    }

    /// As `find`, but nil where there is nothing.
    func findIfPresent(
        _ name: Name, in folder: FolderPlace
    ) throws(Errno) -> Node? {
        do throws(Errno) {
            return try find(name, in: folder).0
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    func entry(_ node: Node) throws(Errno) -> Entry {
        Entry(inode: node.inode, attributes: try attributes(of: node))
    }
}
