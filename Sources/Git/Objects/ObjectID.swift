import CGit

/// The name of an object: 20 bytes of SHA-1. libgit2 1.5 has no other kind.
public struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    /// The 20 bytes.
    public let bytes: [UInt8]

    /// An id of exactly 20 bytes; nil for any other number.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 20 else { return nil }
        self.bytes = bytes
    }

    /// An id written as 40 hexadecimal digits; nil for anything else.
    public init?(hex: String) {
        var oid = git_oid()
        guard hex.utf8.count == 40, git_oid_fromstr(&oid, hex) == 0 else { return nil }
        self.init(oid)
    }

    init(_ oid: git_oid) {
        bytes = withUnsafeBytes(of: oid.id) { Array($0) }
    }

    var oid: git_oid {
        var oid = git_oid()
        withUnsafeMutableBytes(of: &oid.id) { $0.copyBytes(from: bytes) }
        return oid
    }

    /// 40 hexadecimal digits.
    public var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// 40 hexadecimal digits.
    public var description: String { hex }
}
