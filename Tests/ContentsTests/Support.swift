import Contents
import Glibc
import System
import SystemPackage
import Testing

extension SecretBytes {
    /// For comparing.
    var array: [UInt8] { withUnsafeBytes { Array($0) } }
    /// For comparing.
    var text: String { String(decoding: array, as: UTF8.self) }

    static func of(_ text: String) throws -> SecretBytes { try of(Array(text.utf8)) }

    static func of(_ bytes: [UInt8]) throws -> SecretBytes {
        try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    }
}

extension String {
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(utf8).withUnsafeBytes(body)
    }

    subscript(place: Range<Int>) -> String { String(decoding: Array(utf8)[place], as: UTF8.self) }
}

/// A test's own environment variable with a number.
func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

/// Runs a program of Debian's; no secret of anybody is in its arguments.
func run(_ words: [String], input: [UInt8] = []) throws -> String {
    let outcome = try ChildProcess.run(
        words, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"], directory: "/", input: input,
        timeout: .seconds(60))
    try #require(outcome.status == 0, "\(words[0]): \(outcome.errors)")
    return String(decoding: outcome.output, as: UTF8.self)
}

/// The code of the error that is thrown, and its sentence.
func failure(_ body: () throws -> Void) -> ContentsError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ContentsError
    }
}

/// Random numbers that a seed repeats: SplitMix64.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

/// A folder that is removed with this value.
final class TestFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Errno(rawValue: errno) }
        path = String(cString: made)
    }

    deinit {
        _ = try? run(["rm", "-r", path])
    }
}
