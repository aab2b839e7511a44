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
            let (file, consent, note) = try beginJudged(node, flags, caller)
            if let consent { return .later(openAgreed(node, file, flags, caller, consent, note)) }
            guard flags.truncates else { return .later(openLoaded(node, file, flags, caller, note)) }
            return .now(try openEmptied(node, file, flags, caller, note))
        }
    }

    /// Judges an open, from then on it counts as one; a person may have to be asked yet.
    private func beginJudged(
        _ node: Node, _ flags: OpenFlags, _ caller: Caller
    ) throws(Errno) -> (SecretFile, AwaitedConsent?, ReadNote) {
        ruledMoves.enter(node)
        defer { ruledMoves.leave(node) }
        let (consent, note): (AwaitedConsent?, ReadNote)
        switch judge(node, flags, caller) {
        case .refused, .unasked: throw .permissionDenied
        case .allowed(let whenRead): (consent, note) = (nil, whenRead)
        case .asked(let asked, let whenRead): (consent, note) = (asked, whenRead)
        }
        guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
        return (file, consent, note)
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
        @Sendable func refuse(_ error: Errno, _ note: ReadNote?) {
            endHandle(node, file)
            note?.ended(error == .permissionDenied && lock.isLocked ? .locked : .failed)
            reply.give(.failure(error))
        }
        mayRead(node, caller) { permission in
            switch permission {
            case .failure(let error): refuse(error, note)
            case .success(let permit):
                self.load(node, file, caller, permit, onlyReads: !flags.isWritable) { result in
                    if case .failure(let error) = result { return refuse(error, note) }
                    self.judgeAgain(node, flags, caller, note) { judged in
                        let note: ReadNote
                        // A refusal is noted already.
                        do throws(Errno) { note = try judged.get() } catch { return refuse(error, nil) }
                        do throws(Errno) {
                            let opened = try OpenSecret(self, node, file, flags, for: caller, by: permit)
                            self.mount.correctSize(of: node, to: opened.size)
                            note.read()
                            reply.give(.success(opened))
                        } catch {
                            refuse(error, note)
                        }
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
            ruledMoves.enterAtOnce(node)
        else { return nil }
        defer { ruledMoves.leave(node) }
        guard let file = beginHandle(node) else { return nil }
        let isReady = file.state.withLock {
            $0.isLoaded && ($0.isDirty || $0.base.map(disk.isUnchanged(since:)) == true)
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
}
