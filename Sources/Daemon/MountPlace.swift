import Fuse
import Glibc
import Stores
import System
import SystemPackage

/// The folder that is mounted on, made ready: there, not in a store, and not left stale by a crash.
enum MountPlace {
    static func prepare(_ place: FilePath, stores: [FilePath]) throws(DaemonError) {
        do {
            if try MountPoint.mend(place) { return }
            if let mounted = try MountPoint.mounted(at: place) {
                throw DaemonError(
                    message:
                        "\(place) is already a mount point of type \(mounted.type): unmount it, or mount elsewhere"
                )
            }
        } catch let error as MountError {
            throw DaemonError(message: error.message)
        } catch let error as DaemonError {
            throw error
        } catch {
            throw DaemonError(message: "\(error)")
        }
        _ = try rethrowing(place.makeFolder()) { (error: Errno) in
            DaemonError(message: "cannot create the mount point \(place): \(error)")
        }
        let resolved = try rethrowing(place.resolvingLinks()) { (error: Errno) in
            DaemonError(message: "cannot use the mount point \(place): \(error)")
        }
        for store in stores where resolved.starts(with: store) || store.starts(with: resolved) {
            throw DaemonError(
                message: "\(place) and the store in \(store) overlap: mount somewhere else")
        }
        try checkIsEmpty(resolved)
    }

    /// Refuses to hide what a folder holds, and names it: programs may have written it that took the folder for the mount.
    private static func checkIsEmpty(_ place: FilePath) throws(DaemonError) {
        guard var found = try? DirectoryStream(place) else { return }
        var names: [String] = []
        while let entry = (try? found.next()) ?? nil {
            names.append(String(decoding: entry.name, as: UTF8.self))
        }
        guard !names.isEmpty else { return }
        let shown = names.sorted().prefix(3).map { VisibleText.line($0) }.joined(separator: ", ")
        let more = names.count > 3 ? " and \(names.count - 3) more" : ""
        throw DaemonError(
            message:
                "\(place) is not empty, and mounting there would hide what is in it: \(shown)\(more). Move that "
                + "away; anything written there while nothing was mounted is not encrypted")
    }

    /// Frees the mount point of a daemon that ended without unmounting.
    /// - Returns: false where there is no such mount.
    static func free(_ place: FilePath) throws(DaemonError) -> Bool {
        return try DaemonError.wrapping { try MountPoint.mend(place) }
    }
}
