import Stores
import Synchronization
import System
import SystemPackage

/// What symbolic links on disk lead to, as it was read for their size. Reading a link changes its access time, which a look
/// (lstat(2)) does not on any other disk: each link is read once, and shows the time from before that.
final class SeenLinks: Sendable {
    private struct Link: Sendable {
        let target: [UInt8]
        /// The access time that it had before it was read.
        var before: FileTime
        /// The one that it has since then.
        let after: FileTime
    }

    /// Whoever looks at more links than this has some of them read again.
    private static let limit = 10_000

    private let links = Mutex<[CiphertextIdentity: Link]>([:])

    /// The target of a link, and the access time that it shows.
    /// - Parameters:
    ///   - path: where it lies, relative to the store.
    ///   - status: what was just seen of it.
    func look(
        at path: FilePath, _ status: FileStatus, in root: Root
    ) throws(Errno) -> (target: [UInt8], accessed: FileTime) {
        if let link = links.withLock({ $0[status.identity] }) {
            // Anybody else who reads it shows in its time.
            return (link.target, status.accessed == link.after ? link.before : status.accessed)
        }
        let target = try root.target(ofLink: path)
        // Another one may have taken its place.
        if let after = try? root.status(of: path), after.identity == status.identity {
            keep(Link(target: target, before: status.accessed, after: after.accessed), of: status.identity)
        }
        return (target, status.accessed)
    }

    /// Notes what a link leads to whose times were set: it need not be read again, which would change them.
    func remember(_ target: [UInt8], as status: FileStatus) {
        keep(Link(target: target, before: status.accessed, after: status.accessed), of: status.identity)
    }

    private func keep(_ link: Link, of identity: CiphertextIdentity) {
        links.withLock { links in
            if links.count >= Self.limit { links = [:] }
            links[identity] = link
        }
    }

    /// Notes that somebody has read a link, as readlink(2) does: it shows its access time as it is.
    func noteRead(_ status: FileStatus) {
        links.withLock { links in
            if let link = links[status.identity] { links[status.identity]?.before = link.after }
        }
    }
}
