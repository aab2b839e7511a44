import Access
import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// What a lock does to a store. `StoreFilesystem.lock` says in which order.
extension MountedStore {
    /// Ends the decryptions that run, and the question to a person, so that all who wait are answered.
    func endWaits(_ nodes: [Node], with error: StoreError) {
        endQuestion(.failure(error))
        for node in nodes where !isRecipientFile(node) {
            let decryption = node.secret?.state.withLock { state in
                defer { state.decryption = nil }
                return state.decryption
            }
            decryption?.end(.failure(error))
        }
    }

    /// Answers those who wait for a person's answer to the question about this store.
    func endQuestion(_ outcome: Result<Void, StoreError>) {
        let asked = question.withLock { question in
            defer { question = nil }
            return question
        }
        asked?.end(outcome)
    }

    /// Forgets the contents that a lock forgets. The kernel's pages of them are left.
    func wipeContents(of nodes: [Node]) {
        for node in nodes where !isRecipientFile(node) { node.secret?.state.withLock { $0.wipe() } }
    }

    /// As `wipeContents`, of one file, and the kernel's pages of it soon after.
    func wipe(_ node: Node, _ file: SecretFile) {
        guard !isRecipientFile(node) else { return }
        file.state.withLock { $0.wipe() }
        mount.forgetPages(of: node)
    }

    /// Waits until nothing is being decrypted.
    /// - Parameter seconds: the longest to wait.
    func waitForDecryptions(atMost seconds: Double) {
        let end = MonotonicTime(secondsFromNow: seconds)
        runningDecryptions.waiting { count, isOver in count == 0 || isOver ? .done(()) : .wait(until: end) }
    }

    /// Lets programs read again; those who wait for consent have it.
    func unlock() {
        lock.unlock()
        forgetPromptFailures()
        endQuestion(.success(()))
    }
}
