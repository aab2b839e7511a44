import Fuse
import Glibc
import Stores
import System
import SystemPackage
import TestKit

@testable import Fuse
@testable import Mount

/// Random operations on a store in a mount, each compared with what a plain tree in memory says. The sequence depends on the
/// seed alone.
///
/// As the kernel does, it keeps the numbers of folders and some others that it has looked up, and gives them back later.
final class MountModel {
    struct Handle {
        var node: ModelNode
        var file: TestFile
        var isWritable: Bool
        var appends: Bool
    }

    static let names = ["a", "b", "c", "d", "l", "a.gpg", "d.gpg"]
    static let scratchNames = ["a~", "b~", ".c.swp", ".#l"]
    static let flags: [(Int32, UInt64)] = [
        (O_RDONLY, 2), (O_RDWR, 3), (O_RDWR | O_TRUNC, 2), (O_WRONLY | O_TRUNC, 2), (O_RDWR | O_APPEND, 1),
    ]

    let mount: TestMount
    let stores: [Store]
    let seed: UInt64
    var random: SeededGenerator
    var number = 0
    let tops: [ModelNode]
    var folders: [ModelNode]
    var listings: [Listing] = []
    var handles: [Handle] = []
    var held: [(inode: InodeNumber, node: ModelNode)] = []
    /// How often each was done, and what time it took in all.
    private(set) var done: [String: (count: Int, time: Duration)] = [:]
    private var recent: [String] = []
    private var step = ""

    var filesystem: StoreFilesystem { mount.filesystem }

    init(_ mount: TestMount, _ stores: [Store], seed: UInt64) throws {
        self.mount = mount
        self.stores = stores
        self.seed = seed
        random = SeededGenerator(state: seed)
        tops = try stores.map { store in
            let top = ModelNode(isFolder: true)
            top.name = store.name
            top.isTop = true
            top.readers = mount.keys.ann.fingerprint
            top.inode = try mount.look(store.name).inode
            return top
        }
        folders = tops
        // What is in one folder of the first store is for somebody else.
        let bobs = ModelNode(isFolder: true)
        bobs.inode = try mount.makeDirectoryHeld("\(tops[0].name)/c")
        bobs.readers = mount.keys.bob.fingerprint
        try mount.write(mount.keys.bob.fingerprint + "\n", "\(tops[0].name)/c/.gpg-id")
        tops[0].put(bobs, "c")
        folders.append(bobs)
    }

    // MARK: Choices

    func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }
    func anyFolder() -> ModelNode { below(2) == 0 ? tops[below(4) / 3] : one(of: folders) }
    func anyName() -> String { below(4) == 0 ? one(of: Self.scratchNames) : one(of: Self.names) }
    func anyHandle() -> Handle? { handles.isEmpty ? nil : one(of: handles) }
    func anyBytes() -> [UInt8] {
        let count = one(of: [0, 1, 3, 100, 1000, 4096, 9000])
        return [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: count)
    }

    // MARK: Comparing

    func fail(_ what: String) -> TestFailure {
        TestFailure(
            "seed \(seed), operation \(number): \(what). Before that: \(recent.joined(separator: "; "))")
    }

    /// Remembers what has changed names or handles, to be told beside a failure.
    private func remember(_ what: @autoclosure () -> String) {
        guard !Self.frequent.contains(step) else { return }
        if recent.count > 80 { recent.removeFirst(40) }
        recent.append("\(number) \(what())")
    }

    private static let frequent: Set<String> = [
        "lookup", "read", "write", "getattr", "hold", "list", "ftruncate", "fallocate", "getxattr", "lseek",
        "readlink",
        "readdir",
    ]

    /// Where it counts what links are called on disk, or what they lead to may go.
    private static let onNames: Set<String> = [
        "open", "rename", "unlink", "symlink", "mkdir", "rmdir", "mknod", "exchange", "setattr", "outside",
    ]

    /// Does something in the mount; its end must be what the model says. Returns whether it succeeded.
    @discardableResult
    func compare(
        _ what: @autoclosure () -> String, _ expected: Errno?, _ real: () throws(Errno) -> Void
    ) throws -> Bool {
        let got = mount.failure { () throws(Errno) in try real() }
        guard got == expected else {
            throw fail(
                "\(what()): \(got.map { "\($0)" } ?? "done"), but the model says \(expected.map { "\($0)" } ?? "done")"
            )
        }
        if got == nil { remember(what()) }
        return got == nil
    }

    func same<Value: Equatable>(
        _ what: @autoclosure () -> String, _ expected: Value, _ real: () throws(Errno) -> Value
    ) throws {
        let got: Value
        do throws(Errno) { got = try real() } catch { throw fail("\(what()): \(error)") }
        guard got == expected else { throw fail("\(what()): \(got), but the model says \(expected)") }
    }

    func path(_ folder: ModelNode, _ name: String) -> String {
        folder.path + "/" + name
    }

    /// Does something with the inode of a name, which must be there.
    func at<Value>(
        _ folder: ModelNode, _ name: String, _ body: (InodeNumber) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let entry = try filesystem.lookup(in: folder.inode, name: Name(name)!)
        defer { mount.forget(entry) }
        return try body(entry.inode)
    }

    /// A thing is gone from where it was. What it was in memory only is gone with its name.
    func unlinked(_ node: ModelNode) {
        node.parent = nil
        node.isOnDisk = false
        node.isEdited = false
        if node.isFolder {
            mount.forget(Entry(inode: node.inode, attributes: MountModel.nothing))
            folders.removeAll { $0 === node }
        }
    }

    private static let nothing = Attributes(
        inode: .root, kind: .directory, permissions: 0, userID: 0, groupID: 0, size: 0,
        modificationTime: FileTime(seconds: 0))

    // MARK: The run

    /// What is done how often, out of ten thousand.
    private static let weights: [(weight: Int, name: String, step: @Sendable (MountModel) throws -> Void)] = [
        (3000, "lookup", { try $0.look() }), (2200, "read", { try $0.read() }),
        (1500, "write", { try $0.write() }), (1400, "getattr", { try $0.stat() }),
        (500, "hold", { try $0.hold() }), (300, "list", { try $0.list() }),
        (250, "ftruncate", { try $0.resize() }), (150, "fallocate", { try $0.allocate() }),
        (120, "scratch", { try $0.open(scratchOnly: true) }),
        (100, "close scratch", { try $0.close(scratchOnly: true) }),
        (100, "getxattr", { try $0.attribute() }),
        (80, "rename in memory", { try $0.rename(scratchOnly: true) }),
        (50, "unlink scratch", { try $0.unlink(scratchOnly: true) }),
        (60, "readdir", { try $0.readDirectory() }), (50, "readlink", { try $0.readLink() }),
        (50, "lseek", { try $0.seek() }),
        (30, "setattr", { try $0.touch() }), (6, "long name", { try $0.makeLongName() }),
        (35, "open", { try $0.open() }), (30, "close", { try $0.close() }),
        (40, "rename", { try $0.rename() }),
        (20, "unlink", { try $0.unlink() }), (20, "symlink", { try $0.makeLink() }),
        (20, "mkdir", { try $0.makeDirectory() }),
        (20, "rmdir", { try $0.removeDirectory() }), (10, "fsync", { try $0.synchronize() }),
        (5, "mknod", { try $0.makeNode() }), (3, "truncate", { try $0.truncate() }),
        (3, "outside", { try $0.changeOutside() }), (2, "hide", { try $0.hide() }),
        (20, "exchange", { try $0.exchange() }),
    ]

    func run(_ count: Int, say: (String) -> Void = { _ in }) throws {
        let table = Self.weights.indices.flatMap { [Int](repeating: $0, count: Self.weights[$0].weight) }
        for number in 0..<count {
            self.number = number
            let chosen = Self.weights[one(of: table)]
            self.step = chosen.name
            let start = ContinuousClock.now
            if Self.onNames.contains(step) { try learnLinks() }
            try chosen.step(self)
            done[chosen.name, default: (0, .zero)].count += 1
            done[chosen.name]?.time += .now - start
            if number % 100_000 == 99_999 { say("\(number + 1) operations") }
        }
        try finish()
    }

    /// Closes everything; then the disk holds what the model does, and nothing else.
    private func finish() throws {
        number += 1
        while let handle = handles.popLast() {
            try compare("close", nil) { () throws(Errno) in try handle.file.close() }
            handle.node.handles -= 1
        }
        while !listings.isEmpty { try readDirectory(toTheEnd: true) }
        for (inode, _) in held { filesystem.forget(inode, count: 1) }
        held = []
        filesystem.saveEverything()
        try learnLinks()
        guard filesystem.unsaved.isEmpty else { throw fail("unsaved: \(filesystem.unsaved)") }
        let found = Set(
            try stores.flatMap { store in try mount.onDisk(store.name).map { store.name + "/" + $0 } })
        let expected = Set(
            folders.flatMap { folder in
                folder.children.values.filter { !$0.isScratch }.map { path(folder, $0.diskName) }
                    + (folder.readers != nil && !folder.isTop ? [path(folder, ".gpg-id")] : [])
            })
        let parked = Set(folders.flatMap { folder in folder.parked.map { path(folder, $0) } })
        guard expected.isSubset(of: found), found.isSubset(of: expected.union(parked)) else {
            throw fail(
                "on disk: \(found.sorted()), but the model says \(expected.sorted()), parked \(parked.sorted())"
            )
        }
        for folder in folders {
            for (name, node) in folder.children where !node.isFolder && !node.isLink {
                try same("at the end \(path(folder, name))", node.bytes) { () throws(Errno) in
                    let file = try mount.open(path(folder, name), O_RDONLY)
                    defer { file.release() }
                    return try file.read()
                }
            }
        }
    }
}
