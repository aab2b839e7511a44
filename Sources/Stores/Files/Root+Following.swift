import CLinux
import Glibc
import Synchronization
import System
public import SystemPackage

/// What happens when the path of a store leads to another folder than the one that is open: the old one was moved away
/// or removed, and perhaps a new clone was put there. Whoever saves must not go on in the old one, which nobody commits.
extension Root {
    /// An open folder. Whoever works in it keeps it, so that its descriptor is closed when nobody does any more.
    final class Folder: Sendable {
        let descriptor: OwnedDescriptor
        var raw: CInt { descriptor.raw }
        private let device: dev_t
        private let inode: ino_t

        init(_ path: FilePath) throws(Errno) {
            descriptor = try OwnedDescriptor(opening: path, O_PATH_AND_DIRECTORY)
            let facts = try descriptor.facts()
            (device, inode) = (facts.st_dev, facts.st_ino)
        }

        func isSame(as facts: stat) -> Bool { facts.st_dev == device && facts.st_ino == inode }

        /// Where it lies now; nil when it was removed.
        var location: FilePath? {
            guard let facts = try? descriptor.facts(), facts.st_nlink > 0 else { return nil }
            return FilePath("/proc/self/fd/\(raw)").linkTarget.map { FilePath(bytes: $0) }
        }
    }

    /// Rises each time another folder takes the place of the one that is open.
    public var generation: Int { state.withLock { $0.generation } }

    /// Whether the path leads to a folder, be it this one.
    public var isThere: Bool {
        named.targetFacts()?.kind == .directory
    }

    /// Goes over to the folder that the path leads to now, when it is another one. Costs a stat(2) and two calls on the open
    /// folder when it is not.
    /// - Parameter store: The store's name, for what is said.
    /// - Throws: `.system(.staleNFSFileHandle)` when the path leads to no folder that can be the store: nothing may be
    ///   saved then.
    public func follow(as store: String) throws(StoreError) {
        guard let objection else { return }
        do throws(Errno) {
            if try isCurrent() {
                // It may have moved, with a link to it in its place.
                state.withLock { if let place = $0.folder?.location { $0.path = place } }
                return
            }
        } catch {
            throw StoreError(error, "open", FilePath())
        }
        guard let new = try? Folder(named), let place = new.location else {
            throw StoreError(
                .system(.staleNFSFileHandle),
                goneSentence(as: store))
        }
        if let reason = objection(place) {
            throw StoreError(
                .system(.staleNFSFileHandle),
                "the store's folder \(named) was replaced by another folder, which cannot be used: it \(reason)"
                    + "\(whereabouts).")
        }
        state.withLock { state in
            guard let old = state.folder else { return }
            state.former[state.generation] = old
            // A script may do this in a loop; of folders so long gone nobody has anything to tell.
            state.former[state.generation - 16] = nil
            state.generation += 1
            state.folder = new
            state.path = place
        }
    }

    /// What there is to say where the path leads to no folder.
    /// - Parameter store: The store's name.
    public func goneSentence(as store: String) -> String {
        let word = ShellWord.quoted(store)
        let place = state.withLock { $0.folder }?.location.map { ShellWord.quoted($0.string) }
        return
            "the store's folder \(named) is gone\(whereabouts): put it back, or run passdir store remove \(word) --yes"
            + (place.map { ", then passdir store add \(word) --path \($0) to continue there." }
                ?? " to remove the store.")
    }

    private var whereabouts: String {
        state.withLock { $0.folder }?.location.map { "; the one that was open is now at \($0)" } ?? ""
    }

    private func isCurrent() throws(Errno) -> Bool {
        let opened: Folder
        if let known = state.withLock({ $0.folder }) {
            opened = known
        } else {
            opened = try folder()
        }
        return named.targetFacts().map(opened.isSame) ?? false
    }

    /// Whether what is read should be compared with the path once more: now and then is enough there.
    func isTimeToLook() -> Bool {
        let now = timespec(on: CLOCK_MONOTONIC_COARSE)
        let milliseconds = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
        let last = lastLook.load(ordering: .relaxed)
        guard milliseconds - last >= 50 else { return false }
        return lastLook.compareExchange(expected: last, desired: milliseconds, ordering: .relaxed).exchanged
    }

    /// Where a folder that had the path in an earlier generation lies now; nil when it was removed.
    public func location(ofGeneration generation: Int) -> FilePath? {
        state.withLock { $0.former[generation] }?.location
    }

    /// Whether such a folder still has an entry.
    public func former(_ generation: Int, holds path: FilePath) -> Bool {
        guard let folder = state.withLock({ $0.former[generation] }) else { return false }
        let found = path.withPlatformString { name in
            retryingWhenInterrupted {
                passdir_openat2(
                    folder.raw, name, UInt64(UInt32(bitPattern: PASSDIR_O_PATH | O_CLOEXEC | O_NOFOLLOW)), 0,
                    UInt64(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS))
            }
        }
        if found >= 0 { close(found) }
        return found >= 0
    }
}
