import SystemPackage
import Testing

/// A format that others can write: how a good input of it looks, and all that reads it.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
    /// Names the target on the command line.
    let name: String
    /// Its part of all inputs, beside those of the others.
    var share = 100
    /// No input is longer.
    var most = 1 << 16
    /// Words that mean something in the format.
    var tokens: [String] = []
    /// Makes a good input.
    let item: @Sendable (inout FuzzRandom) -> [UInt8]
    /// Puts right what would keep every wounded input from being read any further, such as a checksum.
    var repair: @Sendable ([UInt8], inout FuzzRandom) -> [UInt8] = { bytes, _ in bytes }
    /// Reads an input in every way that the product does, and throws a `FuzzFinding` where the outcome is wrong.
    let read: @Sendable (FuzzInput, inout FuzzRandom) throws -> Void

    var testDescription: String { name }

    /// Every target there is.
    static let all: [FuzzTarget] = [
        openPGP, armor, exportedKeys, recipientFile, recipientRecord, configuration, varlink, journals, index,
        textMerge, foreignSettings, learnedState,
    ]
}

/// What was read is not what it should be.
struct FuzzFinding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Complains where a condition does not hold.
func claim(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(FuzzFinding) {
    if !condition { throw FuzzFinding(sentence()) }
}

/// One input, and where it can be laid down.
struct FuzzInput {
    let bytes: [UInt8]
    /// A folder in memory, for what is read from files; empty at first, then as the inputs before have left it.
    let folder: FilePath
    let memory: GuardedMemory

    /// Lends the bytes in memory that ends where the next page cannot be touched.
    func withGuarded<Result>(_ body: (UnsafeMutableRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(memory.hold(bytes))
    }

    /// Writes the bytes to a file.
    func write(to name: String, _ other: [UInt8]? = nil) throws -> FilePath {
        let path = folder.appending(name)
        let file = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .truncate], permissions: [.ownerReadWrite])
        try file.closeAfter { _ = try file.writeAll(other ?? bytes) }
        return path
    }
}
