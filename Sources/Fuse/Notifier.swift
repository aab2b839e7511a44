import CFuse
import Glibc
import Synchronization
import System
import SystemPackage

/// Tells the kernel what it must no longer believe. That the kernel doesn't know the inode or the name is fine, and
/// so is a mount that is gone: then there is nothing to forget.
///
/// Never call it while holding a lock that any request needs, and never for an entry from the thread that serves a
/// request: the kernel waits for operations in progress on that directory before it answers.
public final class Notifier: Sendable {
    private let session: Mutex<SessionPointer?>

    init(_ session: SessionPointer) { self.session = Mutex(session) }

    /// Drops cached attributes, and cached content from `offset` on: `length` bytes, or to the end if that is zero.
    /// A negative offset drops attributes only. May be called while serving an open of this inode.
    public func invalidateInode(_ inode: InodeNumber, offset: Int64 = 0, length: Int64 = 0) {
        notify { session in
            fuse_lowlevel_notify_inval_inode(session, inode.rawValue, off_t(offset), off_t(length))
        }
    }

    /// Drops what the kernel knows of a name: the next use of it is a lookup.
    public func invalidateEntry(parent: InodeNumber, name: Name) {
        notify { session in
            name.withPlatformString { bytes in
                fuse_lowlevel_notify_inval_entry(session, parent.rawValue, bytes, strlen(bytes))
            }
        }
    }

    /// As `invalidateEntry`, and says that the name was removed, so that programs which watch the directory with
    /// inotify hear of it. Where name and child no longer belong together nothing happens.
    public func deleteEntry(parent: InodeNumber, child: InodeNumber, name: Name) {
        notify { session in
            name.withPlatformString { bytes in
                fuse_lowlevel_notify_delete(session, parent.rawValue, child.rawValue, bytes, strlen(bytes))
            }
        }
    }

    /// Whether the kernel has let go of the session.
    var isConnectionOver: Bool {
        guard let session = session.withLock({ $0 }) else { return true }
        return withExtendedLifetime(session) { Poll.isOver(fuse_session_fd(session.raw)) }
    }

    /// Holds on to the session during the call only; it may end meanwhile.
    private func notify(_ body: (OpaquePointer) -> Int32) {
        guard let session = session.withLock({ $0 }) else { return }
        withExtendedLifetime(session) { _ = body(session.raw) }
    }

    func end() { session.withLock { $0 = nil } }
}
