import Access
import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// What is to be done so that the content of an open secret is in memory.
private enum LoadingStep {
    case done
    /// Others still read the version that was replaced: the kernel is to look the name up anew.
    case outdated
    case wait(SharedDecryption)
    case start(SharedDecryption)
}

extension SecretFile.State {
    /// What is to be done with the content that is in memory, when `disk` lies on disk; nil where it has to be read.
    /// - Parameters:
    ///   - seen: what the open that asks has seen there since it began: that is as right for it as what came later.
    ///   - mayBeGone: that open only reads, so that nothing is lost where the name is gone.
    ///   - isLost: the name was taken away by others on disk.
    fileprivate mutating func loadedStep(
        _ disk: FileStatus?, seen: FileStatus? = nil, mayBeGone: Bool = false, isLost: Bool = false
    ) -> LoadingStep? {
        guard isLoaded else { return nil }
        if isDirty || isScratch { return .done }
        if mayBeGone, let base, let seen, seen.isUnchanged(since: base) { return .done }
        guard let disk else {
            // On disk, others may have replaced or removed it before this open began. Who reads it goes on.
            if isLost { return .outdated }
            // It has just been replaced or removed in the mount: whoever had found it before that gets what it was, as on a
            // disk.
            if handles > 1 || mayBeGone { return .done }
            drop()
            return nil
        }
        if let base, disk.isUnchanged(since: base) { return .done }
        if handles > 1 { return .outdated }
        drop()
        return nil
    }
}

extension MountedStore {
    /// Makes sure that the content of an open secret is in memory and is what lies on disk, unless it has unsaved
    /// edits, as far as `permit` goes; then `body` runs, once: at once, or on another thread when the decryption has ended. The interruption of
    /// `caller` ends the wait with EINTR.
    func load(
        _ node: Node, _ file: SecretFile, _ caller: Caller?, _ permit: ReadPermit, onlyReads: Bool = false,
        seen: FileStatus? = nil, attempt: Int = 1,
        then body: @escaping @Sendable (Result<Void, Errno>) -> Void
    ) {
        let decryption: SharedDecryption
        var isAsked = false
        do throws(Errno) {
            switch try loadingStep(node, file, permit, onlyReads, seen) {
            case .done: return body(.success(()))
            case .outdated: return body(.failure(.staleNFSFileHandle))
            case .wait(let running): decryption = running
            case .start(let fresh):
                (decryption, isAsked) = (fresh, true)
                let reader = caller?.processID ?? 0
                do throws(Errno) {
                    try PosixThread.start(named: "decryption") {
                        self.decrypt(node, file, fresh, permit, for: reader)
                    }
                } catch {
                    // This one waits for it in any case.
                    decrypt(node, file, fresh, permit, for: reader)
                }
            }
        } catch {
            return body(.failure(error))
        }
        decryption.wait(caller, isAsked: isAsked) { ending in
            do throws(Errno) {
                try self.judge(ending, of: decryption, node, mayRetry: attempt < 16)
            } catch {
                return body(.failure(error))
            }
            // Where stat(2) goes on telling of another file than was read there is no end.
            guard attempt < 64 else { return body(.failure(.resourceTemporarilyUnavailable)) }
            self.load(
                node, file, caller, permit, onlyReads: onlyReads, seen: decryption.ciphertext,
                attempt: attempt + 1, then: body)
        }
    }

    /// As `load`, but asks nobody for a passphrase and waits for nobody who was asked: EXDEV where that would be needed.
    /// For what the kernel does under locks that everybody needs; mv(1) copies then.
    func loadWithoutAsking(_ node: Node, _ file: SecretFile) throws(Errno) {
        if let step = try step(node, file, { $0.loadedStep($1) }) {
            if case .outdated = step { throw .staleNFSFileHandle }
            return
        }
        guard let path = tree.backingPath(of: node) else {
            throw .noSuchFileOrDirectory
        }
        // Of a locked store nothing is decrypted, as if the key were.
        guard let permit = mayReadAtOnce(node) else { throw .improperLink }
        runningDecryptions.withLock { $0 += 1 }
        defer { endDecryption() }
        do throws(StoreError) {
            let plaintext = try store.plaintext(of: path, cancellation: nil, mayAsk: false)
            let isAllowed = file.state.withLock { state in
                guard holds(permit) else { return false }
                if !state.isLoaded { state.install(plaintext) }
                return true
            }
            guard isAllowed else { throw lockedError }
            mount.settleSize(of: node, to: Int64(plaintext.bytes.count))
        } catch {
            switch error.code {
            case .openPGP(.noPinentry), .openPGP(.timedOut), .locked: throw .improperLink
            default: throw Errno(error)
            }
        }
    }

    private func loadingStep(
        _ node: Node, _ file: SecretFile, _ permit: ReadPermit, _ onlyReads: Bool, _ seen: FileStatus?
    ) throws(Errno) -> LoadingStep {
        let step = try step(node, file) { (state, disk) throws(Errno) -> LoadingStep? in
            let isLost = tree.lostPlace(of: node) != nil
            if let step = state.loadedStep(disk, seen: seen, mayBeGone: onlyReads, isLost: isLost) {
                return holds(permit) ? step : nil
            }
            guard holds(permit, forDecryption: true) else { return nil }
            // Another file may have the name, or none: the kernel looks it up again.
            guard disk != nil else { throw .staleNFSFileHandle }
            if let decryption = state.decryption, !decryption.isAbandoned {
                if let disk, let awaited = decryption.ciphertext, !disk.isUnchanged(since: awaited) {
                    return .outdated
                }
                return .wait(decryption)
            }
            let decryption = SharedDecryption(of: disk, mayPrompt: true)
            state.decryption = decryption
            // Under the lock, so that who locks the store waits for it.
            runningDecryptions.withLock { $0 += 1 }
            return .start(decryption)
        }
        guard let step else { throw noteLocked(node) }
        return step
    }

    /// What `body` says is to be done, of the content and of what lies on disk.
    private func step(
        _ node: Node, _ file: SecretFile,
        _ body: (inout SecretFile.State, FileStatus?) throws(Errno) -> LoadingStep?
    ) throws(Errno) -> LoadingStep? {
        var disk = try diskStatusIfNamed(node)
        while true {
            let step = try file.state.withLock { (state) throws(Errno) in try body(&state, disk) }
            guard case .outdated = step else { return step }
            // A save of our own may have come between the two looks: then the content is what lies there now.
            let current = try diskStatusIfNamed(node)
            if current?.identity == disk?.identity { return step }
            disk = current
        }
    }

    /// A decryption has ended that `runningDecryptions` counts.
    func endDecryption() {
        runningDecryptions.withLock { $0 -= 1 }
        runningDecryptions.broadcast()
    }

    func diskStatusIfNamed(_ node: Node) throws(Errno) -> FileStatus? {
        try namespace.withLock { _ throws(Errno) in
            guard let path = self.tree.backingPath(of: node) else { return nil }
            return try root.statusIfPresent(of: path)
        }
    }

    /// - Parameter reader: who is asked for a passphrase where it sits; without a place, where the mount was made.
    private func decrypt(
        _ node: Node, _ file: SecretFile, _ decryption: SharedDecryption, _ permit: ReadPermit,
        for reader: Int32
    ) {
        let outcome = decrypted(node, file, decryption, permit, for: reader)
        decryption.finish(outcome)
        // Whoever waits for all decryptions finds their readers answered.
        endDecryption()
        if case .success = outcome, case .byPassphrase = permit.extent {
            forgetPromptFailures()
            endQuestion(.success(()))
        }
    }

    private func decrypted(
        _ node: Node, _ file: SecretFile, _ decryption: SharedDecryption, _ permit: ReadPermit,
        for reader: Int32
    ) -> Result<Void, StoreError> {
        guard let path = tree.backingPath(of: node) else {
            file.state.withLock { state in
                if state.decryption === decryption { state.decryption = nil }
            }
            return .failure(StoreError(.system(.noSuchFileOrDirectory), "the secret was removed."))
        }
        do throws(StoreError) {
            let plaintext = try store.plaintext(of: path, cancellation: decryption.cancellation) {
                PromptPlace.of(process: reader) ?? .ofThisProcess
            }
            let isAllowed = file.state.withLock { state in
                // Another one has taken its place, or a lock has ended it.
                guard state.decryption === decryption else { return true }
                state.decryption = nil
                if case .byPassphrase = permit.extent {
                    guard lock.unlock(lockedTimes: permit.lockCount) else { return false }
                }
                if !state.isLoaded, state.handles > 0 { state.install(plaintext) }
                return true
            }
            guard isAllowed else { return .failure(lockedError) }
            // Its size is known now, which the packets may have told wrongly.
            mount.settleSize(of: node, to: Int64(plaintext.bytes.count))
            return .success(())
        } catch {
            file.state.withLock { state in
                if state.decryption === decryption { state.decryption = nil }
            }
            return .failure(error)
        }
    }

    /// Returns when it is worth another look at what is loaded: after success, and after a failure that was not this
    /// reader's, while there may be another attempt.
    private func judge(
        _ ending: SharedDecryption.Ending, of decryption: SharedDecryption, _ node: Node, mayRetry: Bool
    ) throws(Errno) {
        let path = tree.visiblePath(of: node)
        switch ending {
        case .interrupted: throw .interrupted
        case .decrypted:
            failures.withLock { $0.remove { $0.path == path && $0.keptAt == nil } }
        case .failed(let error) where error.code == .locked: throw noteLocked(node)
        case .failed(let error) where mayRetry && error.isOfAnother(decryption): return
        case .failed(let error):
            let errno = Errno(error)
            if let path, let backing = tree.backingPath(of: node), errno != .interrupted {
                note(error.message, about: path, at: backing, isOfPrompt: error.isAPersonsAnswer)
            }
            throw errno
        }
    }
}

extension StoreError {
    /// Whether somebody else's doing ended a decryption: the last of those who waited gave it up at the moment
    /// when this reader came to wait, or the file was renamed before it was opened.
    fileprivate func isOfAnother(_ decryption: SharedDecryption) -> Bool {
        switch code {
        case .openPGP(.canceled): decryption.isAbandoned
        case .system(.noSuchFileOrDirectory): true
        default: false
        }
    }
}
