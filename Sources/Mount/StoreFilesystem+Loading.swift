import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

extension StoreFilesystem {
    /// Makes sure that the content of an open secret is in memory and is what lies on disk, unless it has unsaved
    /// edits. Waits for the decryption; the interruption of `request` ends the wait.
    func load(_ node: Node, _ file: SecretFile, _ request: Request?) throws(Errno) {
        enum Step {
            case done
            case outdated
            case wait(SharedDecryption)
            case start(SharedDecryption)
        }
        var attempts = 0
        while true {
            attempts += 1
            let disk = try diskStatusIfNamed(node)
            let step = try file.state.withLock { (state) throws(Errno) -> Step in
                if state.isLoaded {
                    if state.isDirty { return .done }
                    guard let disk else { return .done }
                    if let base = state.base, base.isSameContent(as: disk) { return .done }
                    // Others still read the version that was replaced: the kernel is to look the name up anew.
                    if state.handles > 1 { return .outdated }
                    state.drop()
                }
                guard disk != nil else { throw .noSuchFileOrDirectory }
                if let decryption = state.decryption, !decryption.isAbandoned { return .wait(decryption) }
                let decryption = SharedDecryption()
                state.decryption = decryption
                return .start(decryption)
            }
            switch step {
            case .done: return
            case .outdated: throw .staleNFSFileHandle
            case .start(let decryption):
                do throws(Errno) {
                    try PosixThread.start(named: "decryption") { self.decrypt(node, file, decryption) }
                } catch {
                    // This one waits for it in any case.
                    decrypt(node, file, decryption)
                }
                try finish(decryption, node, request, mayRetry: attempts < 16)
            case .wait(let decryption):
                try finish(decryption, node, request, mayRetry: attempts < 16)
            }
        }
    }

    private func diskStatusIfNamed(_ node: Node) throws(Errno) -> FileStatus? {
        guard let store = node.store, let path = tree.backingPath(of: node) else { return nil }
        return try store.store.root.statusIfPresent(of: path)
    }

    private func decrypt(_ node: Node, _ file: SecretFile, _ decryption: SharedDecryption) {
        guard let store = node.store, let path = tree.backingPath(of: node) else {
            decryption.finish(
                .failure(StoreError(.system(.noSuchFileOrDirectory), "the secret was removed.")))
            return
        }
        let outcome: Result<Void, StoreError>
        do {
            let plaintext = try store.store.plaintext(of: path, cancellation: decryption.cancellation)
            outcome = .success(())
            file.state.withLock { state in
                guard state.decryption === decryption else { return }
                state.decryption = nil
                if !state.isLoaded, state.handles > 0 { state.install(plaintext) }
            }
        } catch {
            outcome = .failure(error)
            file.state.withLock { state in
                if state.decryption === decryption { state.decryption = nil }
            }
        }
        decryption.finish(outcome)
    }

    /// Returns when it is worth another look at what is loaded: after success, and after a failure that was not this
    /// reader's, while there may be another attempt.
    private func finish(
        _ decryption: SharedDecryption, _ node: Node, _ request: Request?, mayRetry: Bool
    ) throws(Errno) {
        let outcome = try decryption.wait(request)
        let path = tree.visiblePath(of: node)
        switch outcome {
        case .success:
            node.store?.lastFailure.withLock { if $0?.path == path, $0?.keptAt == nil { $0 = nil } }
        case .failure(let error) where mayRetry && error.isOfAnother(decryption): return
        case .failure(let error):
            let errno = Errno(error)
            if let path, let backing = tree.backingPath(of: node), errno != .interrupted {
                node.store?.note(error.message, about: path, at: backing)
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
