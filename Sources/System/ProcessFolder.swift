public import Glibc
import SystemPackage

/// The folder of a process or thread in /proc, held open; proc(5).
///
/// It stands for this very process: when that has ended, whatever is read here fails, whoever gets its number.
public struct ProcessFolder: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// nil where no such process is to be seen.
    /// - Parameter id: of a process or of one of its threads.
    public init?(_ id: Int32) {
        guard id > 0,
            let opened = try? OwnedDescriptor(opening: FilePath("/proc/\(id)"), O_RDONLY | O_DIRECTORY)
        else {
            return nil
        }
        descriptor = opened
    }

    /// A file of the folder, opened for reading; nil where it may not be read.
    borrowing func open(_ name: String) -> OwnedDescriptor? {
        try? OwnedDescriptor(opening: FilePath(name), in: descriptor.raw, O_RDONLY)
    }

    /// The memory of the process; nil where it may not be known.
    public borrowing func addressSpace() -> AddressSpace? {
        guard let pagemap = open("pagemap") else { return nil }
        return AddressSpace(pagemap: pagemap)
    }

    /// What a file of the folder says; nil where it may not be read, or says more.
    public borrowing func bytes(of name: String, atMost limit: Int = 1 << 20) -> [UInt8]? {
        try? open(name)?.readAll(atMost: limit)
    }

    /// What one read gives of a file of the folder: its beginning, where that is longer than `limit`.
    public borrowing func beginning(of name: String, limit: Int) -> [UInt8]? {
        guard let file = open(name) else { return nil }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = read(file.raw, &bytes, limit)
        return count < 0 ? nil : Array(bytes[..<count])
    }

    /// Some of the variables that the process was started with; nil where they may not be read, or are too many.
    ///
    /// Programs are given tokens and passwords in others: those are gone from memory when this returns.
    public borrowing func environment(
        of names: Set<String>, atMost limit: Int = 1 << 20
    ) -> [String: String]? {
        guard let file = open("environ") else { return nil }
        var buffer = SecretBuffer()
        var count = 0
        while true {
            guard count <= limit, (try? buffer.resize(to: max(16 << 10, 2 * count))) != nil else {
                return nil
            }
            let got = buffer.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { pread(file.raw, $0 + count, bytes.count - count, off_t(count)) } ?? 0
            }
            guard got >= 0 else { return nil }
            guard got > 0 else { break }
            count += got
        }
        return buffer.withUnsafeBytes { bytes in
            Self.variables(of: names, in: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }

    private static func variables(
        of names: Set<String>, in bytes: UnsafeRawBufferPointer
    ) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in bytes.split(separator: 0) {
            for name in names where variables[name] == nil && entry.starts(with: "\(name)=".utf8) {
                // As getenv(3), the first counts.
                variables[name] = String(decoding: entry.dropFirst(name.utf8.count + 1), as: UTF8.self)
            }
        }
        return variables
    }

    /// Where a link of the folder leads, as the kernel tells it; nil where that may not be known.
    public borrowing func target(of link: String) -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { target in
            guard let start = target.baseAddress else { return nil }
            let count = readlinkat(descriptor.raw, link, start, target.count)
            return count < 0 ? nil : target[..<count].map { UInt8(bitPattern: $0) }
        }
    }

    /// fstatat(2) of what a link of the folder leads to; nil where that may not be known.
    public borrowing func targetFacts(of link: String) -> stat? {
        var facts = stat()
        return fstatat(descriptor.raw, link, &facts, 0) == 0 ? facts : nil
    }
}

/// What `/proc/PID/stat` says of a process, as far as it is asked for here; proc_pid_stat(5).
public struct ProcessFacts: Sendable, Equatable {
    /// Its parent's id.
    public var parent: Int32
    /// Its process group.
    public var group: Int32
    /// Its session.
    public var session: Int32
    /// The number of the terminal that its keys come from, in the kernel's own form; 0 without one.
    public var terminalNumber: UInt32
    /// The process group that the keys of its terminal are for; -1 without a terminal, 0 where that group is not to be seen.
    public var foregroundGroup: Int32
    /// When it began, in ticks since the system did: with the id what no other process has.
    public var startTime: UInt64
    /// What it calls itself: by default the beginning of its program's name.
    public var name: String

    /// nil where it is gone.
    public init?(of folder: borrowing ProcessFolder) {
        guard let text = folder.bytes(of: "stat", atMost: 65_536) else { return nil }
        self.init(stat: text)
    }

    /// Reads what the file holds.
    public init?(stat: [UInt8]) {
        // The name, in parentheses, may hold anything, parentheses too.
        guard let begin = stat.firstIndex(of: UInt8(ascii: "(")),
            let end = stat.lastIndex(of: UInt8(ascii: ")")), begin < end
        else { return nil }
        let fields = String(decoding: stat[end...], as: UTF8.self).split(separator: " ")
        guard fields.count > 20, let parent = Int32(fields[2]), let group = Int32(fields[3]),
            let session = Int32(fields[4]), let terminal = Int32(fields[5]),
            let foreground = Int32(fields[6]),
            let start = UInt64(fields[20])
        else { return nil }
        (self.parent, self.group, self.session, startTime) = (parent, group, session, start)
        foregroundGroup = foreground
        terminalNumber = UInt32(bitPattern: terminal)
        name = String(decoding: stat[(begin + 1)..<end], as: UTF8.self)
    }

    /// Whether it is a job in the background of its terminal, whose keys are for others.
    public var isInBackground: Bool {
        terminalNumber != 0 && foregroundGroup > 0 && foregroundGroup != group
    }

    /// The path of its terminal; nil where it has none, or one of an unusual kind.
    public var terminal: String? {
        let (major, minor) = (
            terminalNumber >> 8 & 0xFFF, terminalNumber & 0xFF | terminalNumber >> 12 & 0xFFF00
        )
        // Pseudo-terminals, and the consoles before the serial lines; devices.txt of Linux.
        return switch major {
        case 136...143: "/dev/pts/\((major - 136) << 8 + minor)"
        case 4 where minor < 64: "/dev/tty\(minor)"
        default: nil
        }
    }
}
