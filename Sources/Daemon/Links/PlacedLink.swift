import Glibc
import Settings
import System
public import SystemPackage

/// A symbolic link to a file of the mount that was placed where a program looks for its file.
public struct PlacedLink: Sendable, Equatable {
    /// Where it was placed, absolute.
    public var place: FilePath
    /// What it holds: the file of the mount.
    public var target: FilePath
    /// Where that lies which had the place before; nil where nothing had it.
    public var kept: FilePath?

    /// Whether the link is there still: a program may have put a file of its own in its place.
    var isThere: Bool { place.linkTarget == target.bytes }

    /// Whether what had the place before is kept.
    var keepsSomething: Bool { kept?.facts() != nil }

    /// Whether the link has the name under which what it replaces is kept: a step before it is in its place, and one after.
    var isBesideItsPlace: Bool { kept?.linkTarget == target.bytes }
}

/// Which links were placed, in a file that is written before anything changes.
struct PlacedLinkRecord {
    private let file: FilePath

    init(_ environment: [String: String]) {
        file = Directories(environment: environment).data.appending("links")
    }

    /// Runs `body` while no other command places or removes links.
    func withLock<Value>(_ body: () throws(DaemonError) -> Value) throws(DaemonError) -> Value {
        let turn = try turn()
        defer { withExtendedLifetime(turn) {} }
        return try body()
    }

    private func turn() throws(DaemonError) -> OwnedDescriptor {
        do throws(Errno) {
            try file.removingLastComponent().makeFolders()
            let opened = try OwnedDescriptor(
                opening: FilePath(file.string + ".lock"), O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            try opened.lock(LOCK_EX)
            return opened
        } catch {
            throw unusable(error)
        }
    }

    /// In the order in which they were placed.
    func links() throws(DaemonError) -> [PlacedLink] {
        let bytes: [UInt8]
        do throws(Errno) { bytes = try PrivateFile.read(file) ?? [] } catch { throw unusable(error) }
        // Three fields a link, each ended by NUL.
        let fields = bytes.split(separator: 0, omittingEmptySubsequences: false).map { FilePath(bytes: $0) }
        return stride(from: 0, to: fields.count - 2, by: 3).compactMap { index in
            let (place, target, kept) = (fields[index], fields[index + 1], fields[index + 2])
            guard place.isAbsolute, target.isAbsolute else { return nil }
            return PlacedLink(place: place, target: target, kept: kept.isEmpty ? nil : kept)
        }
    }

    func write(_ links: [PlacedLink]) throws(DaemonError) {
        guard !links.isEmpty else {
            file.unlink()
            return
        }
        let fields = links.flatMap { [$0.place.bytes, $0.target.bytes, $0.kept?.bytes ?? []] }
        do throws(Errno) { try PrivateFile.write(fields.flatMap { $0 + [0] }, to: file) } catch {
            throw unusable(error)
        }
    }

    private func unusable(_ error: Errno) -> DaemonError {
        DaemonError(message: "cannot use the list of links, \(file): \(error)")
    }
}
