import SystemPackage

/// The name of a file or folder of this machine's own state that belongs to a store.
enum StateName {
    /// The longest part of a name that is kept, in bytes; a file system takes 255.
    private static let longest = 200

    /// A name that any identifier has for itself: a UUID as it is, the bytes of anything else that a file name could
    /// trip over as `%XX`; of a long one the end, and a checksum of all of it.
    static func of(_ identifier: String) -> FilePath.Component {
        var name = ""
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.append(Character(UnicodeScalar(byte)))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        if name.utf8.count > longest {
            // FNV-1a. Who names a store is its user; whatever uses the name checks the identifier again.
            var sum: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in identifier.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
            name = String(sum, radix: 16) + "~" + String(name.suffix(longest))
        }
        // An empty identifier is nobody's; the name must be one all the same.
        return FilePath.Component(name.isEmpty ? "%" : name)!
    }
}
