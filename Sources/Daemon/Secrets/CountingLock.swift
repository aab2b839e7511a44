import Glibc
import Settings
import System
import SystemPackage

/// Keeps all processes of a user but one from raising the counter of a secret.
enum CountingLock {
    /// Waits until it is free. It is held until what is returned is closed.
    /// - Parameter secret: the store's name and the path on disk.
    static func wait(
        for secret: String, environment: [String: String]
    ) throws(Errno) -> OwnedDescriptor {
        let folder = Directories(environment: environment).runtime
        do throws(SettingsError) {
            try Directories.makePrivate(folder)
        } catch {
            throw .permissionDenied
        }
        let file = try OwnedDescriptor(
            opening: folder.appending("counting"), O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        try file.lock(byte: place(of: secret))
        return file
    }

    /// The byte of the file that stands for a secret. Two may have the same, and wait for each other then. All processes must
    /// find the same, so that Swift's own hash does not serve (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/).
    private static func place(of secret: String) -> Int64 {
        let hash = secret.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return Int64(hash >> 2)
    }
}
