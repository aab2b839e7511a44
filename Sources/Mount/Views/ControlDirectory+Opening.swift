import Access
import Contents
import Dispatch
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension ControlDirectory {
    /// How often a secret is read again whose counter was raised elsewhere while this waited for its turn.
    private static let mostReadings = 16

    /// Opens a value: the secret is opened for the caller as by its own name, and closed again once the value is made.
    func openValue(
        _ node: Node, _ view: View, _ store: Name, _ path: [Name], for caller: Caller
    ) throws(Errno) -> Reply<any OpenFile> {
        let reply = PendingReply<any OpenFile>()
        try make(node, view, store, path, caller, reading: 1) { reply.give($0) }
        return .later(reply)
    }

    /// Has `give` called once, unless it throws.
    /// - Parameter reading: how many times the secret has been opened for this, with this one.
    private func make(
        _ node: Node, _ view: View, _ name: Name, _ path: [Name], _ caller: Caller, reading: Int,
        _ give: @escaping @Sendable (Result<any OpenFile, Errno>) -> Void
    ) throws(Errno) {
        let (store, secret, rest) = try walk(path, in: name)
        // A lock from here on makes what is read void.
        let lockCount = store.lock.count
        let shown = tree.visiblePath(of: node)
        let finish = { @Sendable (result: Result<MadeValue, ValueError>) in
            defer { self.tree.forget(secret.inode, count: 1) }
            do throws(ValueError) {
                let value = try result.get()
                let file = try ValueError.wrapping { () throws(Errno) in
                    try self.opened(value, of: node, secret, store, lockedTimes: lockCount)
                }
                self.sentences.set(nil, for: shown)
                if value.delay == 0 { return give(.success(file)) }
                self.mount.background.asyncAfter(deadline: .now() + value.delay) { give(.success(file)) }
            } catch {
                self.sentences.set(error.sentence, for: shown)
                give(.failure(error.errno))
            }
        }
        do throws(Errno) {
            let source = try ValueSource(view, rest, of: secret, in: store)
            try store.open(secret, flags: OpenFlags(rawValue: 0), for: caller).whenGiven { result in
                do throws(ValueError) {
                    let open = try Self.secret(result)
                    do throws(ValueError) {
                        if let value = try source.value(of: open) {
                            open.close()
                            return finish(.success(value))
                        }
                    } catch {
                        open.close()
                        throw error
                    }
                    self.count(open, for: caller) { counted in
                        if let counted { return finish(counted) }
                        // Raised elsewhere while this waited.
                        guard reading < Self.mostReadings else {
                            return finish(.failure(ValueError(.resourceTemporarilyUnavailable)))
                        }
                        self.tree.forget(secret.inode, count: 1)
                        do throws(Errno) {
                            try self.make(node, view, name, path, caller, reading: reading + 1, give)
                        } catch {
                            give(.failure(error))
                        }
                    }
                } catch {
                    finish(.failure(error))
                }
            }
        } catch {
            tree.forget(secret.inode, count: 1)
            throw error
        }
    }

    /// Raises the counter of a secret when it is its turn, and closes it.
    /// - Parameter give: called once, with nil where the secret is to be read again.
    private func count(
        _ secret: OpenSecret, for caller: Caller,
        _ give: @escaping @Sendable (Result<MadeValue, ValueError>?) -> Void
    ) {
        let path = tree.backingPath(of: secret.node)?.string ?? ""
        let turn = mount.options.countingTurns.take("\(secret.store.store.name)/\(path)") { failure in
            defer { secret.close() }
            do throws(ValueError) {
                if let failure { throw ValueError(failure) }
                give(try secret.countedCode().map { .success($0) })
            } catch {
                give(.failure(error))
            }
        }
        // Who is gone has no use for a code, and another is not to be skipped for it.
        InterruptionWatch.begin(caller, isAwaited: { turn.isAwaited }) {
            guard turn.withdraw() else { return }
            secret.close()
            give(.failure(ValueError(.interrupted)))
        }
    }

    private static func secret(_ opened: Result<any OpenFile, Errno>) throws(ValueError) -> OpenSecret {
        let file = try ValueError.wrapping { () throws(Errno) in try opened.get() }
        guard let secret = file as? OpenSecret else {
            file.close()
            throw ValueError(.invalidArgument)
        }
        return secret
    }

    /// Runs `body` with what the open of a secret gave, and closes it.
    private func withSecret<Value>(
        _ opened: Result<any OpenFile, Errno>, _ body: (OpenSecret) throws(ValueError) -> Value
    ) throws(ValueError) -> Value {
        let secret = try Self.secret(opened)
        defer { secret.close() }
        return try body(secret)
    }

    private func opened(
        _ value: MadeValue, of node: Node, _ secret: Node, _ store: MountedStore, lockedTimes count: UInt64
    ) throws(Errno) -> any OpenFile {
        let file = ValueFile(value, node: node, stores: [store], mount, among: values)
        // First known, then looked at: a lock finds it, or is found.
        values.add(file)
        guard !store.lock.isLocked, store.lock.count == count else {
            file.close()
            throw store.noteLocked(secret)
        }
        mount.correctSize(of: node, to: file.size)
        node.noteTold(file.size)
        return file
    }

    func listsAtOnce(_ folder: Node) -> Bool {
        guard case .below(.fields, let name, let path) = try? place(of: folder), !path.isEmpty,
            let (_, node, _) = try? walk(path, in: name)
        else { return true }
        defer { tree.forget(node.inode, count: 1) }
        return node.kind != .secret
    }

    /// The fields of a secret, which is decrypted for that.
    func listing(of folder: Node, for caller: Caller) throws(Errno) -> Reply<[ListedEntry]> {
        guard case .below(.fields, let name, let path) = try place(of: folder) else { throw .notDirectory }
        let (store, secret, rest) = try walk(path, in: name)
        do throws(Errno) {
            _ = try ValueSource(.first, rest, of: secret, in: store)
            let reply = PendingReply<[ListedEntry]>()
            try store.open(secret, flags: OpenFlags(rawValue: 0), for: caller).whenGiven { result in
                defer { self.tree.forget(secret.inode, count: 1) }
                do throws(ValueError) {
                    let names = try self.withSecret(result) { (secret) throws(ValueError) in
                        try secret.withText { SecretText($0).fieldNames }
                    }
                    reply.give(.success(self.listed(names, .regular, in: folder)))
                } catch {
                    reply.give(.failure(error.errno))
                }
            }
            return .later(reply)
        } catch {
            tree.forget(secret.inode, count: 1)
            throw error
        }
    }
}

extension SecretText {
    /// The names of the fields that can be names of files, each once.
    fileprivate var fieldNames: [Name] {
        var seen: Set<String> = []
        return fields.filter { $0.isFileName && seen.insert($0.name).inserted }.compactMap { Name($0.name) }
    }
}
