import Access
import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// What an open may do whose caller may read: see `MountedStore.mayRead`.
struct ReadPermit: Sendable {
    /// How far it goes.
    enum Extent: Sendable {
        /// What is no secret, such as a `.gpg-id`, is read at any time.
        case noSecret
        /// The store was not locked when it was granted.
        case unlocked
        /// The store is locked, and gpg-agent asks for a passphrase before it decrypts: who enters it agrees, and unlocks
        /// the store.
        case byPassphrase
    }

    let extent: Extent
    /// How often the store had been locked; it is void once that is another number.
    let lockCount: UInt64
}

/// The one place that every open for reading passes before it sees anything of a secret.
extension MountedStore {
    /// Decides whether a caller may read a secret, then runs `body`, once: at once, or on another thread when a person has
    /// answered. Holds no thread meanwhile; the interruption of `caller` ends the wait with EINTR.
    func mayRead(
        _ node: Node, _ caller: Caller, then body: @escaping @Sendable (Result<ReadPermit, Errno>) -> Void
    ) {
        if let permit = mayReadAtOnce(node) { return body(.success(permit)) }
        let count = lock.count
        guard lock.isLocked else { return body(.success(ReadPermit(extent: .unlocked, lockCount: count))) }
        guard let path = tree.backingPath(of: node) else { return body(.failure(.staleNFSFileHandle)) }
        if !node.isOnlyInMemory, store.asksForPassphrase(toRead: path) {
            return body(.success(ReadPermit(extent: .byPassphrase, lockCount: count)))
        }
        let shown = tree.visiblePath(of: node)
        waitForConsent(to: shown, lockedTimes: count, caller) {
            self.noteLocked(node)
        } then: { result in
            body(result.map { ReadPermit(extent: .unlocked, lockCount: count) })
        }
    }

    /// As `mayRead`, of a ciphertext that is no file of the store: an earlier version of a secret.
    /// - Parameter path: what the secret was called, as the mount shows it.
    func mayRead(
        _ ciphertext: [UInt8], called path: FilePath, _ caller: Caller,
        then body: @escaping @Sendable (Result<ReadPermit, Errno>) -> Void
    ) {
        let count = lock.count
        guard lock.isLocked else { return body(.success(ReadPermit(extent: .unlocked, lockCount: count))) }
        if store.asksForPassphrase(toDecrypt: ciphertext) {
            return body(.success(ReadPermit(extent: .byPassphrase, lockCount: count)))
        }
        let error = Errno(lockedError)
        waitForConsent(to: path, lockedTimes: count, caller) {
            error
        } then: { result in
            body(result.map { ReadPermit(extent: .unlocked, lockCount: count) })
        }
    }

    /// As `mayRead`, where that can be told at once and nobody has to be asked; nil where it cannot.
    func mayReadAtOnce(_ node: Node) -> ReadPermit? {
        // The count first: a lock between the two makes it void.
        let count = lock.count
        guard lock.isLocked else { return ReadPermit(extent: .unlocked, lockCount: count) }
        return isRecipientFile(node) ? ReadPermit(extent: .noSecret, lockCount: count) : nil
    }

    /// Whether a permit still holds for a content that is in memory, or for beginning a decryption. Asked under
    /// `SecretFile.state`, which a lock takes after it has locked: what this allows, the lock still finds.
    func holds(_ permit: ReadPermit, forDecryption: Bool = false) -> Bool {
        switch permit.extent {
        case .noSecret: true
        case .unlocked: permit.lockCount == lock.count && !lock.isLocked
        case .byPassphrase: permit.lockCount == lock.count && (forDecryption || !lock.isLocked)
        }
    }

    /// Why a read of a locked store fails.
    var lockedError: StoreError {
        StoreError(.locked, "\(store.name) is locked; passdir unlock \(ShellWord.quoted(store.name))")
    }

    /// Notes that a read failed as the store is locked, and gives its errno.
    func noteLocked(_ node: Node) -> Errno {
        let error = lockedError
        if let path = tree.visiblePath(of: node), let backing = tree.backingPath(of: node) {
            note(error.message, about: path, at: backing, because: .lock)
        }
        return Errno(error)
    }

    /// Asks once, however many wait.
    /// - Parameter refusal: the errno of whoever may not read.
    private func waitForConsent(
        to path: FilePath?, lockedTimes count: UInt64, _ caller: Caller,
        refusal: @escaping @Sendable () -> Errno,
        then body: @escaping @Sendable (Result<Void, Errno>) -> Void
    ) {
        let asked = question.withLock { question -> (SharedDecryption, isFirst: Bool)? in
            // Answered since this reader found the store locked.
            guard lock.isLocked else { return nil }
            if let known = question, !known.isAbandoned { return (known, false) }
            let new = SharedDecryption(mayPrompt: true)
            question = new
            // Who locks the store waits for it as for a prompt.
            runningDecryptions.withLock { $0 += 1 }
            return (new, true)
        }
        // The permit is void where the store was locked again.
        guard let (wait, isFirst) = asked else { return body(.success(())) }
        if isFirst { ask(path, lockedTimes: count, caller, wait) }
        wait.wait(caller, isAsked: isFirst) { ending in
            switch ending {
            case .decrypted: body(.success(()))
            // The one who was asked gave up; the next is.
            case .failed where wait.isAbandoned:
                self.waitForConsent(to: path, lockedTimes: count, caller, refusal: refusal, then: body)
            case .failed: body(.failure(refusal()))
            case .interrupted: body(.failure(.interrupted))
            }
        }
    }

    private func ask(
        _ path: FilePath?, lockedTimes count: UInt64, _ caller: Caller, _ wait: SharedDecryption
    ) {
        let about = UnlockQuestion(
            store: store.name, path: path?.string ?? "", caller: caller.processID)
        let end = mount.options.consent.askToUnlock(about) { answer in
            // An answer that nobody waits for any more counts for nobody.
            let isUnlocked = self.question.withLock { question in
                guard question === wait, !wait.isAbandoned else { return false }
                question = nil
                // Before the next reader can ask.
                return answer == .granted && self.lock.unlock(lockedTimes: count)
            }
            wait.finish(isUnlocked ? .success(()) : .failure(self.lockedError))
            self.endDecryption()
        }
        wait.cancellation.whenCancelled(end)
    }
}
