import Fuse

/// Inode numbers made from names: the same for a path each time, also after a remount, so that tools which compare
/// them between runs (tar, rsync, backup programs) are not misled, and a listing can tell them without keeping them.
///
/// A number that another node still has (a file that was renamed or unlinked while open) is passed over; so no two
/// things that the kernel knows share one.
enum InodeHash {
    /// The first candidate for a name in a folder: FNV-1a over the folder's number and the name, then mixed.
    static func of(_ name: [UInt8], in parent: InodeNumber) -> InodeNumber {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        withUnsafeBytes(of: parent.rawValue) { for byte in $0 { add(byte, to: &hash) } }
        for byte in name { add(byte, to: &hash) }
        return usable(mixed(hash))
    }

    /// Another candidate where one is taken.
    static func next(_ taken: InodeNumber) -> InodeNumber {
        usable(mixed(taken.rawValue &+ 0x9E37_79B9_7F4A_7C15))
    }

    private static func add(_ byte: UInt8, to hash: inout UInt64) {
        hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    /// The finalizer of splitmix64: every bit of the input moves every bit of the output.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Small numbers are special to the kernel and to programs: 0 is none, 1 the mount point, 0xFFFFFFFF unknown.
    private static func usable(_ value: UInt64) -> InodeNumber {
        InodeNumber(rawValue: value > 0xFFFF_FFFF ? value : value | 1 << 63)
    }
}
