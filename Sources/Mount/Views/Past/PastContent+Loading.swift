import Access
import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

extension PastContent {
    private enum Step {
        case done
        case wait(SharedDecryption)
        case start(SharedDecryption)
    }

    /// Makes sure that the text is in memory, as far as `permit` goes; then `body` runs, once: at once, or on another thread when
    /// the decryption has ended. The interruption of the caller ends the wait.
    func load(
        _ ciphertext: [UInt8], _ permit: ReadPermit, _ caller: Caller, attempt: Int = 1,
        then body: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        guard let step = step(permit) else { return body(.failure(store.lockedError)) }
        let decryption: SharedDecryption
        var isAsked = false
        switch step {
        case .done: return body(.success(()))
        case .wait(let running): decryption = running
        case .start(let fresh):
            (decryption, isAsked) = (fresh, true)
            let reader = caller.processID
            do throws(Errno) {
                try PosixThread.start(named: "decryption") { self.decrypt(ciphertext, fresh, permit, reader) }
            } catch {
                // This one waits for it in any case.
                decrypt(ciphertext, fresh, permit, reader)
            }
        }
        decryption.wait(caller, isAsked: isAsked) { ending in
            switch ending {
            case .interrupted: body(.failure(StoreError(.openPGP(.canceled), "a signal ended the wait.")))
            // The last of those who waited gave it up when this one came, or the one who was asked.
            case .failed where decryption.isAbandoned && attempt < 16 && !self.state.withLock { $0.isWiped }:
                self.load(ciphertext, permit, caller, attempt: attempt + 1, then: body)
            case .failed(let error): body(.failure(error))
            case .decrypted:
                self.load(ciphertext, permit, caller, attempt: attempt + 1, then: body)
            }
        }
    }

    /// What is to be done; nil where a lock forbids it.
    private func step(_ permit: ReadPermit) -> Step? {
        state.withLock { state in
            guard !state.isWiped, store.holds(permit, forDecryption: state.bytes == nil) else { return nil }
            if state.bytes != nil { return .done }
            if let running = state.decryption, !running.isAbandoned { return .wait(running) }
            let fresh = SharedDecryption(mayPrompt: true)
            state.decryption = fresh
            // Under the lock, so that who locks the store waits for it.
            store.runningDecryptions.withLock { $0 += 1 }
            return .start(fresh)
        }
    }

    private func decrypt(
        _ ciphertext: [UInt8], _ decryption: SharedDecryption, _ permit: ReadPermit, _ reader: Int32
    ) {
        let outcome: Result<Void, StoreError>
        do throws(StoreError) {
            let bytes = try store.store.decrypt(ciphertext, cancellation: decryption.cancellation) {
                PromptPlace.of(process: reader) ?? .ofThisProcess
            }
            outcome = install(bytes, decryption, permit) ? .success(()) : .failure(store.lockedError)
        } catch {
            state.withLock { state in
                if state.decryption === decryption { state.decryption = nil }
            }
            outcome = .failure(error)
        }
        decryption.finish(outcome)
        store.endDecryption()
        if case .success = outcome, case .byPassphrase = permit.extent {
            store.forgetPromptFailures()
            store.endQuestion(.success(()))
        }
    }

    /// - Returns: false where a lock has come first.
    private func install(
        _ bytes: SecretBytes, _ decryption: SharedDecryption, _ permit: ReadPermit
    ) -> Bool {
        state.withLock { state in
            // Nobody waits for this one any more.
            guard state.decryption === decryption else { return !state.isWiped }
            state.decryption = nil
            if case .byPassphrase = permit.extent {
                guard store.lock.unlock(lockedTimes: permit.lockCount) else { return false }
            } else if !store.holds(permit) {
                return false
            }
            state.bytes = bytes
            return true
        }
    }
}
