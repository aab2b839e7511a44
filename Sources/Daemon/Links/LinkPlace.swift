import Glibc
import Stores
import System
import SystemPackage

/// A place for a link, in a folder that only its user and root can change.
struct LinkPlace {
    /// Absolute, in a folder without symbolic links.
    let path: FilePath
    /// Its folder.
    let folder: FilePath

    /// - Throws: one sentence where no link is placed there.
    init(_ typed: FilePath, mountPoint: FilePath) throws(DaemonError) {
        let typed = typed.absolute
        guard let name = typed.lastComponent else { throw DaemonError(message: "\(typed) is a folder") }
        do throws(Errno) {
            folder = try typed.removingLastComponent().resolvingLinks()
        } catch {
            let above = typed.removingLastComponent()
            throw DaemonError(
                message: error == .noSuchFileOrDirectory
                    ? "there is no folder \(above) for the link: make it first, or name another place"
                    : error == .notDirectory
                        ? "\(above) is no folder: name another place for the link"
                        : "the folder of \(typed) cannot be used: \(error)")
        }
        path = folder.appending(name)
        if let facts = folder.facts(), facts.kind != .directory {
            throw DaemonError(message: "\(folder) is no folder: name another place for the link")
        }
        guard name.byteCount <= 255 else {
            throw DaemonError(
                message:
                    "the name \(VisibleText.cut("\(name)", atMost: 80)) is too long for a link: use a shorter one"
            )
        }
        let isInMount =
            folder.starts(with: mountPoint)
            || folder.facts().map(\.st_dev) == mountPoint.targetFacts()?.st_dev && Self.isMounted(mountPoint)
        guard !isInMount else {
            throw DaemonError(message: "\(path) lies in the mount: place links where programs look for files")
        }
        var above = folder
        while true {
            if let objection = Self.objection(to: above) { throw DaemonError(message: objection) }
            guard above.removeLastComponent() else { break }
        }
    }

    private static func isMounted(_ place: FilePath) -> Bool {
        place.facts()?.st_dev != place.removingLastComponent().facts()?.st_dev
    }

    /// Others could take a link away, or the folder with it, and put their own in its place.
    private static func objection(to folder: FilePath) -> String? {
        guard let facts = folder.facts() else { return "the folder \(folder) cannot be looked at" }
        guard facts.st_uid == geteuid() || facts.st_uid == 0 else {
            return "the folder \(folder) belongs to another user, who could replace the link"
        }
        let isSticky = facts.st_mode & mode_t(S_ISVTX) != 0
        let isOfOthers =
            facts.st_mode & S_IWOTH != 0 || facts.st_mode & S_IWGRP != 0 && facts.st_gid != getegid()
        return isOfOthers && !isSticky
            ? "other users can change the folder \(folder), and could replace the link" : nil
    }
}
