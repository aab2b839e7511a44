import CLinux
import Glibc
import System
import SystemPackage

/// The directory below a mount, where programs that believe the mount is still there would write what it was to encrypt.
///
/// While passdir has it nobody may write into it: its mode is 0500, and where this process may say so (CAP_LINUX_IMMUTABLE,
/// which root has) it is immutable, as modes stop everybody but root. fusermount3 mounts only where its user may write, so
/// that it is opened up for that moment. What belongs to somebody else stays as it is.
final class BareDirectory {
    private static let closed: mode_t = 0o500

    /// Names the directory also when the mount hides it.
    private let descriptor: OwnedDescriptor
    private let mode: mode_t

    /// - Returns: nil where it cannot be opened or is another user's.
    init?(_ path: FilePath) {
        guard let descriptor = try? OwnedDescriptor(opening: path, O_RDONLY | O_DIRECTORY),
            let facts = try? descriptor.facts(), facts.st_uid == geteuid()
        else { return nil }
        mode = facts.st_mode & 0o7777
        self.descriptor = descriptor
    }

    /// Lets this user mount on it.
    func open() { giveBack(mode | S_IWUSR) }

    /// Lets nobody write into it.
    func close() {
        fchmod(descriptor.raw, Self.closed)
        passdir_set_immutable(descriptor.raw, 1)
    }

    /// Where it could not be mounted: as it was found.
    func leave() {
        if mode & S_IWUSR == 0 { close() } else { giveBack(mode) }
    }

    /// Lets it be an ordinary directory with this mode.
    /// - Returns: false where that is not permitted.
    @discardableResult
    func giveBack(_ mode: mode_t) -> Bool {
        passdir_set_immutable(descriptor.raw, 0)
        return fchmod(descriptor.raw, mode) == 0
    }
}
