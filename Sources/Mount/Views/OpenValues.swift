import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A value that was made of a secret, as it was when it was opened: of no use once the store has been locked.
final class ValueFile: OpenFile {
    let node: Node
    let store: MountedStore
    let size: Int64
    /// Who opens a code next to another has one of its own.
    let isReadDirectly: Bool
    private let content: Mutex<SecretBytes?>
    private let values: OpenValues

    init(_ value: MadeValue, node: Node, store: MountedStore, among values: OpenValues) {
        (self.node, self.store, self.values) = (node, store, values)
        let content = value.bytes
        isReadDirectly = value.isOfOneReader
        size = Int64(content.count)
        self.content = Mutex(content)
    }

    func read(at offset: Int, count: Int, _ reply: (UnsafeRawBufferPointer) -> Void) throws(Errno) {
        guard let content = content.withLock({ $0 }) else { throw .permissionDenied }
        let start = min(max(offset, 0), content.count)
        let end = min(start + min(count, content.count), content.count)
        content.withUnsafeBytes { reply(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        store.mount.options.locks.noteRead()
    }

    func close() {
        wipe()
        values.remove(self)
        store.mount.forgetPages(of: node)
    }

    /// Forgets the value; a read that is being answered ends first or fails.
    func wipe() { content.withLock { $0 = nil } }
}

/// Values that programs have open.
final class OpenValues: Sendable {
    private let files = Mutex<[ObjectIdentifier: ValueFile]>([:])

    /// Whoever locks a store finds a file from here on.
    func add(_ file: ValueFile) { files.withLock { $0[ObjectIdentifier(file)] = file } }

    func remove(_ file: ValueFile) { files.withLock { $0[ObjectIdentifier(file)] = nil } }

    /// Wipes the values of stores.
    /// - Returns: the nodes of which the kernel may have pages.
    func wipe(of stores: [MountedStore]) -> [Node] {
        let wiped = files.withLock { files in
            files.values.filter { file in stores.contains { $0 === file.store } }
        }
        for file in wiped { file.wipe() }
        return wiped.map(\.node)
    }
}
