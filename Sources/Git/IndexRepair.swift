import CGit
import Glibc
import System
import SystemPackage

extension Repository {
    /// Puts back the index that a new one had replaced, when a power failure kept the new one from the disk: it has
    /// changed places with the copy that became it, and lies there as it was (`IndexDurability.whenSettled`).
    ///
    /// To be called when it is known that a process was at it and none is any more.
    /// - Returns: whether an index was put back; the paths that the lost one was about are then to be brought in again.
    /// - Throws: `.locked` when another process holds `index.lock`.
    @discardableResult
    public func repairIndex() throws(GitError) -> Bool {
        let index = gitDirectory.appending("index")
        for copy in IndexCopy.left(of: index) {
            guard try Self.isWhole(copy) else { continue }
            // An index that replaces one with a checksum has one too.
            if try Self.isWhole(index) { return false }
            try IndexCopy.put(copy, inPlaceOf: index)
            return true
        }
        return false
    }

    /// Removes the copies of the index that a process which no longer runs has left.
    public func removeIndexCopies() {
        for copy in IndexCopy.left(of: gitDirectory.appending("index")) {
            _ = copy.withPlatformString { unlink($0) }
        }
    }

    /// Whether an index is there and is as it was written, which its checksum tells.
    private static func isWhole(_ index: FilePath) throws(GitError) -> Bool {
        guard let source = try IndexSource.read(index) else { return false }
        return try source.withBytes(isWhole)
    }

    private static func isWhole(_ bytes: UnsafeRawBufferPointer) throws(GitError) -> Bool {
        guard bytes.count >= IndexScan.headerLength + IndexChecksum.length,
            bytes[..<4].elementsEqual("DIRC".utf8)
        else {
            return false
        }
        return try IndexChecksum.matches(bytes)
    }
}

extension IndexCopy {
    /// The copies of an index that lie beside it, whosever they are; the newest first.
    static func left(of index: FilePath) -> [FilePath] {
        guard let name = index.lastComponent?.string else { return [] }
        let folder = index.removingLastComponent()
        var found: [(path: FilePath, written: FileTime)] = []
        for other in DirectoryStream.names(in: folder) where other.hasPrefix(name + suffix) {
            let path = folder.appending(other)
            var facts = stat()
            if path.withPlatformString({ lstat($0, &facts) }) == 0 {
                found.append((path, FileTime(facts.st_mtim)))
            }
        }
        return found.sorted { $0.written > $1.written }.map(\.path)
    }

    /// Removes a lock of ours that a killed process has left: it is a second name of the index, or of a copy of it
    /// (`take`). Another program's is a file of its own, whenever it was made.
    static func removeLeftLock(of index: FilePath) {
        let lock = index.withSuffix(".lock")
        var held = stat()
        guard lock.withPlatformString({ lstat($0, &held) }) == 0, held.st_uid == geteuid(), held.st_nlink > 1
        else { return }
        let isOurs = ([index] + left(of: index)).contains { other in
            var facts = stat()
            return other.withPlatformString { lstat($0, &facts) } == 0 && facts.st_ino == held.st_ino
                && facts.st_dev == held.st_dev
        }
        if isOurs { _ = lock.withPlatformString { unlink($0) } }
    }

    /// Puts a copy that is on the disk into the place of the index, whatever lies there.
    fileprivate static func put(_ copy: FilePath, inPlaceOf index: FilePath) throws(GitError) {
        let lock = index.withSuffix(".lock")
        try take(lock, with: copy)
        try replace(index, by: lock)
        _ = copy.withPlatformString { unlink($0) }
    }
}
