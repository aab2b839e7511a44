public import System

/// Why a mount or an unmount failed.
public struct MountError: SentenceError {
    /// The reasons, for programs.
    public enum Code: Sendable, Hashable {
        /// There is nothing at the path of the mount point.
        case mountPointMissing
        /// What is there is not a directory.
        case notADirectory
        /// The directory has entries, and the options refuse that.
        case notEmpty
        /// A file system is mounted there already.
        case alreadyMounted
        /// The file system mounted there has lost its process; see `MountPoint.mend`.
        case stale
        /// The user may not mount there, or not unmount.
        case notPermitted
        /// The program fusermount3 is not installed, or not where `PATH` says.
        case fusermountMissing
        /// The device /dev/fuse is missing or may not be opened.
        case deviceUnavailable
        /// The mount is in use: a program has a file open or works in one of its directories.
        case busy
        /// Nothing is mounted there, or something other than what was to be unmounted.
        case notMounted
        /// Memory, descriptors or processes have run out.
        case outOfResources
        /// Another reason; the sentence has it.
        case other
    }

    /// The reason, for programs.
    public let code: Code
    /// The reason as a sentence, for people.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
