import System
import SystemPackage

/// Where the randomness of a password comes from.
public protocol RandomSource: Sendable {
    /// Fills all of `target` with random bytes.
    /// - Throws: `.system` when there are none.
    func fill(_ target: UnsafeMutableRawBufferPointer) throws(ContentsError)
}

/// The kernel's random bytes, getrandom(2).
public struct KernelRandomSource: RandomSource {
    /// The source; it opens nothing.
    public init() {}

    /// As `RandomSource` says.
    public func fill(_ target: UnsafeMutableRawBufferPointer) throws(ContentsError) {
        do throws(Errno) {
            try KernelRandom.fill(target)
        } catch {
            throw ContentsError(.system, "the kernel gives no random bytes: \(error)")
        }
    }
}

/// Numbers that are all equally likely, from random bytes: one that lies beyond the last whole multiple of the bound is thrown away,
/// as it would make the small numbers likelier.
struct UniformNumbers: ~Copyable {
    private let source: any RandomSource
    /// Random bytes that are not used yet, from `used` on.
    private var stock = SecretBuffer()
    private var used = 0

    private static let stockSize = 256

    init(_ source: any RandomSource) { self.source = source }

    /// A number from 0 up to, not including, `bound`, which is 1 to 65536.
    mutating func next(below bound: Int) throws(ContentsError) -> Int {
        precondition((1...1 << 16).contains(bound))
        let all = bound <= 1 << 8 ? 1 << 8 : 1 << 16
        while true {
            var number = try Int(byte())
            if all > 1 << 8 { number = try number << 8 | Int(byte()) }
            if number < all - all % bound { return number % bound }
        }
    }

    private mutating func byte() throws(ContentsError) -> UInt8 {
        if used == stock.count {
            do throws(Errno) { try stock.resize(to: Self.stockSize) } catch {
                throw ContentsError(memory: error)
            }
            let source = source
            try stock.withUnsafeMutableBytes { (bytes) throws(ContentsError) in try source.fill(bytes) }
            used = 0
        }
        defer { used += 1 }
        return stock.withUnsafeBytes { $0[used] }
    }
}
