import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// What was made of secrets, and is wiped when one of their stores is locked.
protocol WipedByLock: AnyObject, Sendable {
    var stores: [MountedStore] { get }
    /// Of which the kernel may have pages.
    var node: Node? { get }
    func wipe()
}

/// A value that was made of secrets, as it was when it was opened: of no use once one of their stores has been locked.
final class ValueFile: OpenFile, WipedByLock {
    let node: Node?
    let stores: [MountedStore]
    let size: Int64
    /// Who opens a code next to another has one of its own.
    let isReadDirectly: Bool
    private let content: Mutex<SecretBytes?>
    private let mount: MountState
    private let values: OpenValues

    init(
        _ value: MadeValue, node: Node, stores: [MountedStore], _ mount: MountState, among values: OpenValues
    ) {
        (self.node, self.stores, self.mount, self.values) = (node, stores, mount, values)
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
        mount.options.locks.noteRead()
    }

    func close() {
        wipe()
        values.remove(self)
        if let node { mount.forgetPages(of: node) }
    }

    /// Forgets the value; a read that is being answered ends first or fails.
    func wipe() { content.withLock { $0 = nil } }
}

/// Values that programs have open, and those that are being made.
final class OpenValues: Sendable {
    private let files = Mutex<[ObjectIdentifier: any WipedByLock]>([:])

    /// Whoever locks a store finds a file from here on.
    func add(_ file: any WipedByLock) { files.withLock { $0[ObjectIdentifier(file)] = file } }

    func remove(_ file: any WipedByLock) { files.withLock { $0[ObjectIdentifier(file)] = nil } }

    /// Wipes the values of stores.
    /// - Returns: the nodes of which the kernel may have pages.
    func wipe(of stores: [MountedStore]) -> [Node] {
        let wiped = files.withLock { files in
            files.values.filter { file in
                stores.contains { store in file.stores.contains { $0 === store } }
            }
        }
        for file in wiped { file.wipe() }
        return wiped.compactMap(\.node)
    }
}
