import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// A file system with stores in folders of their own, whose operations are called in this process as the kernel would.
///
/// Paths begin with the name of a store. As nothing caches names here, each use of one looks it up from the top.
final class TestMount: Sendable {
    /// What was handed to the committer.
    private final class Sink: ChangeSink {
        let changes = Mutex<[Change]>([])
        func note(_ change: Change, as file: Stores.HeldFile?) { changes.withLock { $0.append(change) } }
        func isIgnored(_ path: FilePath) -> Bool { path.string.hasPrefix("ignored") }
    }

    let keys: MountKeys
    let folder: FilePath
    let filesystem: StoreFilesystem
    private let sink = Sink()
    let caller = Caller(processID: getpid())

    /// Runs a test with the stores `work` and `home`, both of Ann's; `work` is the one that most paths are in.
    static func with(
        _ options: StoreFilesystem.Options = .init(secretLimit: 1 << 20), _ body: (TestMount) throws -> Void
    ) throws {
        let mount = try TestMount(options)
        defer { _ = try? mount.keys.home.run(["rm", "-rf", mount.folder.string]) }
        for name in ["work", "home"] { try mount.add(name) }
        try body(mount)
        #expect(mount.filesystem.handles.files.isEmpty, "what a test opens it closes")
    }

    private init(_ options: StoreFilesystem.Options) throws {
        keys = try MountKeys.shared.get()
        folder = keys.home.path("m\(UInt64.random(in: 0 ... .max))")
        filesystem = StoreFilesystem(options: options)
        try keys.home.succeed(["mkdir", folder.string])
    }

    /// Shows a store.
    @discardableResult
    func add(
        _ name: String, isReadOnly: Bool = false, recipients: [TestKey]? = nil, learned: LearnedState? = nil
    ) throws -> Store {
        let place = folder.appending(name)
        mkdir(place.string, 0o700)
        try write((recipients ?? [keys.ann]).map { $0.fingerprint + "\n" }.joined(), "\(name)/.gpg-id")
        let store = Store(
            name: name, identifier: name, root: try Root(path: place), engine: keys.engine,
            options: Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(5)), learned: learned)
        try filesystem.add(store, sink: sink, isReadOnly: isReadOnly)
        return store
    }

    /// What was handed to the committer so far.
    var changes: [Change] { sink.changes.withLock { $0 } }

    // MARK: The disk

    /// The file on disk of a path on disk.
    func disk(_ path: String) -> FilePath { folder.pushing(FilePath(path)) }

    /// Writes a file past the mount.
    func write(_ text: String, _ path: String) throws {
        let file = try FileDescriptor.open(
            disk(path), .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// Encrypts a file past the mount, as pass does, or as gpg does by itself.
    func encrypt(_ text: String, _ path: String, to key: TestKey? = nil, compresses: Bool = false) throws {
        try keys.home.succeed(
            [
                "gpg", "--batch", "--yes", "--trust-model", "always", "-e",
                "--compress-algo", compresses ? "zip" : "none", "-r",
                (key ?? keys.ann).fingerprint, "-o", disk(path).string,
            ], input: Array(text.utf8))
    }

    /// What a ciphertext holds, by gpg.
    func decrypt(_ path: String) throws -> String {
        String(
            decoding: try keys.home.succeed(["gpg", "--batch", "--quiet", "-d", disk(path).string]),
            as: UTF8.self)
    }

    /// All that lies in a folder on disk, with folders, sorted; without `.gpg-id` at its top.
    func onDisk(_ path: String = "work") throws -> [String] {
        let found = try keys.home.succeed(
            ["find", ".", "-mindepth", "1", "-printf", "%P\\n"], in: disk(path))
        return String(decoding: found, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0 != ".gpg-id" }.sorted()
    }

    // MARK: The mount

    /// Looks a path up. The lookup of the last name is counted, as the kernel's would be; `forget` gives it back.
    func look(_ path: String) throws(Errno) -> Entry {
        var entry = Entry(inode: .root, attributes: try filesystem.attributes(of: .root, handle: nil).0)
        var passed: [InodeNumber] = []
        defer { for inode in passed { filesystem.forget(inode, count: 1) } }
        for name in FilePath(path).components {
            entry = try value(try filesystem.lookup(in: entry.inode, name: name, for: caller))
            passed.append(entry.inode)
        }
        _ = passed.popLast()
        return entry
    }

    func forget(_ entry: Entry) { filesystem.forget(entry.inode, count: 1) }

    /// Does something with the inode of a path.
    func at<Value>(_ path: String, _ body: (InodeNumber) throws(Errno) -> Value) throws(Errno) -> Value {
        let entry = try look(path)
        defer { forget(entry) }
        return try body(entry.inode)
    }

    /// Does something with the folder of a path and the last name.
    func inFolder<Value>(
        _ path: String, _ body: (InodeNumber, Name) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let path = FilePath(path)
        guard let name = path.lastComponent else { throw .invalidArgument }
        return try at(path.removingLastComponent().string) { inode throws(Errno) in try body(inode, name) }
    }

    func attributes(_ path: String) throws(Errno) -> Attributes {
        try at(path) { inode throws(Errno) in try filesystem.attributes(of: inode, handle: nil).0 }
    }

    func size(_ path: String) throws(Errno) -> Int64 { try attributes(path).size }

    func change(_ path: String, _ fill: (inout AttributeChanges) -> Void) throws(Errno) {
        var changes = AttributeChanges()
        fill(&changes)
        try at(path) { inode throws(Errno) in
            _ = try filesystem.setAttributes(of: inode, handle: nil, changes, for: caller)
        }
    }

    func truncate(_ path: String, to size: Int64) throws(Errno) { try change(path) { $0.size = size } }

    /// The names that a folder lists, sorted.
    func names(_ path: String = "work") throws(Errno) -> [String] {
        try entries(path).map(\.name.string).filter { ![".", "..", ".gpg-id"].contains($0) }.sorted()
    }

    func entries(_ path: String) throws(Errno) -> [ListedEntry] {
        try at(path) { inode throws(Errno) in
            let flags = OpenFlags(rawValue: 0)
            let handle =
                if let opened = try filesystem.openDirectoryAtOnce(inode, flags: flags) {
                    opened.handle
                } else {
                    try value(try filesystem.openDirectory(inode, flags: flags, for: caller)).handle
                }
            defer { filesystem.releaseDirectory(inode, handle: handle) }
            var found: [ListedEntry] = []
            try filesystem.readDirectory(inode, handle: handle, offset: 0) { entry, _ in
                found.append(entry)
                return true
            }
            return found
        }
    }

    func makeDirectory(_ path: String) throws(Errno) {
        filesystem.forget(try makeDirectoryHeld(path), count: 1)
    }

    /// As `makeDirectory`, with the lookup that the kernel keeps of it.
    func makeDirectoryHeld(_ path: String) throws(Errno) -> InodeNumber {
        try inFolder(path) { folder, name throws(Errno) in
            try filesystem.makeDirectory(in: folder, name: name, permissions: 0o700).inode
        }
    }

    func makeNode(_ path: String) throws(Errno) {
        forget(
            try inFolder(path) { folder, name throws(Errno) in
                try filesystem.makeNode(in: folder, name: name, permissions: 0o600, for: caller)
            })
    }

    func link(_ path: String, to target: String) throws(Errno) {
        forget(
            try inFolder(path) { folder, name throws(Errno) in
                try filesystem.makeSymbolicLink(
                    in: folder, name: name, target: Array(target.utf8), for: caller)
            })
    }

    func target(_ path: String) throws(Errno) -> String {
        String(
            decoding: try at(path) { inode throws(Errno) in try filesystem.readSymbolicLink(inode) },
            as: UTF8.self)
    }

    func unlink(_ path: String) throws(Errno) {
        try inFolder(path) { folder, name throws(Errno) in
            try filesystem.unlink(in: folder, name: name, for: caller)
        }
    }

    func removeDirectory(_ path: String) throws(Errno) {
        try inFolder(path) { folder, name throws(Errno) in
            try filesystem.removeDirectory(in: folder, name: name)
        }
    }

    func rename(_ old: String, _ new: String, _ flags: RenameFlags = []) throws(Errno) {
        try inFolder(old) { from, oldName throws(Errno) in
            try inFolder(new) { to, newName throws(Errno) in
                try filesystem.rename(from: from, oldName, to: to, newName, flags: flags, for: caller)
            }
        }
    }

    func attribute(_ name: String, of path: String) throws(Errno) -> String {
        String(
            decoding: try at(path) { inode throws(Errno) in
                try filesystem.extendedAttribute(inode, name: Array(("user.passdir." + name).utf8))
            }, as: UTF8.self)
    }
}

extension StoreFilesystem {
    /// opendir(3) of what is listed without a look into a secret.
    func openFolder(_ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened {
        guard let opened = try openDirectoryAtOnce(inode, flags: flags) else {
            throw .resourceTemporarilyUnavailable
        }
        return opened
    }
}
