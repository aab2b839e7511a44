import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A version of a secret that a program has open.
final class OpenVersion: OpenFile {
    let node: Node
    let content: PastContent
    let size: Int64
    private let contents: PastContents

    /// Takes over a use of the content, which is in memory; nil where a lock has ended it.
    init?(_ node: Node, _ content: PastContent, among contents: PastContents) {
        guard let count = content.count else { return nil }
        (self.node, self.content, self.contents, size) = (node, content, contents, Int64(count))
    }

    func read(at offset: Int, count: Int, _ reply: (UnsafeRawBufferPointer) -> Void) throws(Errno) {
        guard let bytes = content.state.withLock({ $0.bytes }) else { throw .permissionDenied }
        let start = min(max(offset, 0), bytes.count)
        let end = min(start + min(count, bytes.count), bytes.count)
        bytes.withUnsafeBytes { reply(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        content.store.mount.options.locks.noteRead()
    }

    func close() {
        contents.endUse(of: content)
        content.store.mount.forgetPages(of: node)
    }
}

extension PastDirectory {
    func open(_ node: Node, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<any OpenFile> {
        guard case .thing(let thing)? = node.past else { throw .isDirectory }
        try checkShown(node)
        guard !flags.isWritable, !flags.truncates else { throw .readOnlyFileSystem }
        let reply = PendingReply<any OpenFile>()
        switch thing.content {
        case .folder: throw .isDirectory
        case .link: throw .tooManySymbolicLinkLevels
        case .plain(let blob): openPlain(node, blob, thing.store, caller, reply)
        case .secret(let blob): openSecret(node, blob, thing, caller, reply)
        }
        return .later(reply)
    }

    /// What is no secret is read by everybody, as in the store.
    private func openPlain(
        _ node: Node, _ blob: PastBlob, _ store: MountedStore, _ caller: Caller,
        _ reply: PendingReply<any OpenFile>
    ) {
        store.lookBack(for: caller) { past, _ throws(StoreError) in
            try past.content(of: blob, in: store.store)
        } then: { result in
            do throws(Errno) {
                let file = PlainFile(bytes: try self.told(result, of: node))
                self.noteSize(file.size, of: node)
                reply.give(.success(file))
            } catch {
                reply.give(.failure(error))
            }
        }
    }

    /// Opens a version as a secret is opened: who asks is judged, then whether the store is locked; then it is decrypted.
    private func openSecret(
        _ node: Node, _ blob: PastBlob, _ thing: PastThing, _ caller: Caller,
        _ reply: PendingReply<any OpenFile>
    ) {
        let store = thing.store
        @Sendable func fail(_ error: Errno) { reply.give(.failure(error)) }
        store.lookBack(for: caller) { past, cancellation throws(StoreError) in
            let places = try store.judgedPlaces(of: thing, blob, past, cancellation)
            return (places, try past.content(of: blob, in: store.store))
        } then: { result in
            do throws(Errno) {
                let (places, ciphertext) = try self.told(result, of: node)
                store.judge(places, caller) { judgement in
                    do throws(Errno) {
                        self.load(node, blob, thing, ciphertext, caller, try judgement.get(), reply)
                    } catch {
                        fail(error)
                    }
                }
            } catch {
                fail(error)
            }
        }
    }

    private func load(
        _ node: Node, _ blob: PastBlob, _ thing: PastThing, _ ciphertext: [UInt8], _ caller: Caller,
        _ note: ReadNote, _ reply: PendingReply<any OpenFile>
    ) {
        let store = thing.store
        @Sendable func refuse(_ error: Errno, _ sentence: String?, _ note: ReadNote) {
            if let sentence { self.sentences.set(sentence, for: self.tree.visiblePath(of: node)) }
            note.ended(error == .permissionDenied && store.lock.isLocked ? .locked : .failed)
            reply.give(.failure(error))
        }
        store.mayRead(ciphertext, called: thing.path, caller) { permission in
            switch permission {
            case .failure(let error):
                refuse(error, error == .permissionDenied ? store.lockedError.message : nil, note)
            case .success(let permit):
                let content = self.contents.beginUse(of: blob, store)
                content.load(ciphertext, permit, caller) { result in
                    if case .failure(let error) = result {
                        self.contents.endUse(of: content)
                        return refuse(Errno(error), error.message, note)
                    }
                    store.judgeAgain(thing, blob, caller, note) { judged in
                        let note: ReadNote
                        do throws(Errno) {
                            note = try judged.get()
                        } catch {
                            // A refusal is noted already.
                            self.contents.endUse(of: content)
                            return reply.give(.failure(error))
                        }
                        guard let file = OpenVersion(node, content, among: self.contents) else {
                            self.contents.endUse(of: content)
                            return refuse(Errno(store.lockedError), store.lockedError.message, note)
                        }
                        self.noteSize(file.size, of: node)
                        self.sentences.set(nil, for: self.tree.visiblePath(of: node))
                        note.read()
                        reply.give(.success(file))
                    }
                }
            }
        }
    }

    /// The size is exact from now on.
    private func noteSize(_ size: Int64, of node: Node) {
        mount.correctSize(of: node, to: size)
        node.noteTold(size)
    }
}
