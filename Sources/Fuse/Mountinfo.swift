import Glibc
public import SystemPackage

/// A mounted file system, as `/proc/self/mountinfo` lists it; proc_pid_mountinfo(5).
public struct MountedFilesystem: Sendable, Hashable {
    /// Where it is mounted.
    public var mountPoint: FilePath
    /// The device number that is `st_dev` of all in it, as `major:minor`; every mounted file system has its own.
    public var device: String
    /// The type, with subtype: `fuse.passdir`.
    public var type: String
    /// What was mounted: of FUSE, the `fsname`.
    public var source: String
}

/// Reads the table of mounts.
enum Mountinfo {
    /// Everything mounted that this process sees, in the order in which it was mounted.
    static func read() throws(Errno) -> [MountedFilesystem] {
        let file = try opened()
        defer { try? file.close() }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 32 << 10)
        while true {
            let count = try received(from: file, into: &chunk)
            if count == 0 { return parse(content) }
            content += chunk[..<count]
        }
    }

    private static func opened() throws(Errno) -> FileDescriptor {
        do { return try FileDescriptor.open("/proc/self/mountinfo", .readOnly, options: .closeOnExec) } catch
        {
            throw error as? Errno ?? .ioError
        }
    }

    private static func received(from file: FileDescriptor, into chunk: inout [UInt8]) throws(Errno) -> Int {
        do { return try chunk.withUnsafeMutableBytes { try file.read(into: $0) } } catch {
            throw error as? Errno ?? .ioError
        }
    }

    /// Parses the table; lines that don't have its form are left out.
    static func parse(_ content: [UInt8]) -> [MountedFilesystem] {
        content.split(separator: UInt8(ascii: "\n")).compactMap { line in
            // 36 35 98:0 /root /mount/point options optional… - type source superoptions
            let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard let dash = fields.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]), dash + 2 < fields.count
            else { return nil }
            return MountedFilesystem(
                mountPoint: path(unescape(fields[4])),
                device: String(decoding: fields[2], as: UTF8.self),
                type: String(decoding: unescape(fields[dash + 1]), as: UTF8.self),
                source: String(decoding: unescape(fields[dash + 2]), as: UTF8.self))
        }
    }

    private static func path(_ bytes: [UInt8]) -> FilePath {
        let characters = bytes.map { CChar(bitPattern: $0) } + [0]
        return characters.withUnsafeBufferPointer { characters in
            characters.baseAddress.map { FilePath(platformString: $0) } ?? FilePath()
        }
    }

    /// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
    private static func unescape(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            let isOctal = digits.count == 3 && digits.allSatisfy { (0x30...0x37).contains($0) }
            guard byte == UInt8(ascii: "\\"), isOctal else {
                result.append(byte)
                continue
            }
            result.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 * 8 + Int($1 - 0x30) }))
            rest = rest.dropFirst(3)
        }
        return result
    }
}
