import Fuse
import Glibc
import Settings
import Stores
import System
public import SystemPackage

/// A daemon that has mounted the stores of this user and is not found where it is looked for: a session of ssh, su or cron has
/// another XDG_RUNTIME_DIR than the one that it was started in, or none.
public struct OtherDaemon: Sendable {
    /// Where it has mounted.
    public let mountPoint: FilePath
    /// Its control socket; nil where that is not known.
    private let socket: FilePath?

    /// The one that has mounted where this user mounts, or has mounted before; nil where nothing is.
    public static func find(environment: [String: String]) -> OtherDaemon? {
        let usual = try? Daemon.mountPoint(argument: nil, environment: environment)
        let places = [usual].compactMap(\.self) + MountPointRecord(environment).places
        guard
            let place = places.first(where: { place in
                let mounted = try? MountPoint.mounted(at: place)
                return mounted?.type == "fuse.passdir" && !MountPoint.isStale(place)
            })
        else { return nil }
        let resolved = (try? place.resolvingLinks()) ?? place
        let socket = sockets().first { socket in
            let mount = try? ControlClient(socket: socket).status(limit: .seconds(2)).mount
            return mount.map { (try? FilePath($0.path).resolvingLinks()) == resolved } ?? false
        }
        return OtherDaemon(mountPoint: place, socket: socket)
    }

    /// The sockets of our daemons, by the kernel's table. Anybody may bind one anywhere: only those in folders of ours count.
    private static func sockets() -> [FilePath] {
        let table = ProcessFolder(getpid())?.bytes(of: "net/unix", atMost: 16 << 20) ?? []
        return Set(
            table.split(separator: UInt8(ascii: "\n")).compactMap { line -> FilePath? in
                // The path is the last of eight columns.
                let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 7)
                guard words.count == 8, words[7].hasPrefix("/") else { return nil }
                return FilePath(String(words[7]))
            }
        ).filter { socket in
            let folder = socket.removingLastComponent()
            return socket.lastComponent == Places.controlSocket(environment: [:]).lastComponent
                && folder.lastComponent?.string.hasPrefix("passdir") == true && Directories.isOurs(folder)
        }
    }

    /// That the stores are mounted, and how the daemon is found, as a sentence without a full stop.
    public var sentence: String {
        let start = "your stores are mounted at \(mountPoint), by a daemon that is not found in this session"
        guard let folder = socket?.removingLastComponent() else {
            return "\(start): set XDG_RUNTIME_DIR as where passdir mount ran"
        }
        guard folder.lastComponent == "passdir" else { return "\(start): unset XDG_RUNTIME_DIR" }
        return "\(start): export XDG_RUNTIME_DIR=\(ShellWord.quoted(folder.removingLastComponent().string))"
    }
}
