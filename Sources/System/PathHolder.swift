import CLinux
import Glibc
public import SystemPackage

/// A program that has something of a file system in use, as fuser(1) tells it: what keeps a mount from being unmounted, or
/// its daemon from ending. Found by the number of the device: what is unmounted lazily has no path any more.
public struct PathHolder: Sendable, Equatable {
    /// The process.
    public var pid: Int32
    /// The program's name, as the kernel has it.
    public var name: String
    /// What it has there, a few words each, with paths relative to the mount point.
    public var uses: [String]

    /// A program of which its uses are known otherwise.
    public init(pid: Int32, uses: [String]) {
        self.init(pid: pid, name: Self.firstLine(FilePath("/proc/\(pid)/comm")), uses: uses)
    }

    private init(pid: Int32, name: String, uses: [String]) {
        (self.pid, self.name, self.uses) = (pid, name, uses)
    }

    /// Every other process that can be seen and has something there. Other users' can only be seen by root.
    /// - Parameters:
    ///   - device: `major:minor`, as the kernel's table of mounts has it.
    ///   - folder: where it is mounted, or was.
    public static func all(onDevice device: String, mountedAt folder: FilePath) -> [PathHolder] {
        let folder = (try? folder.resolvingLinks()) ?? folder
        var found: [PathHolder] = []
        guard var processes = try? DirectoryStream("/proc") else { return [] }
        while let entry = try? processes.next() {
            guard let pid = Int32(String(decoding: entry.name, as: UTF8.self)), pid != getpid() else {
                continue
            }
            let place = FilePath("/proc/\(pid)")
            let uses = uses(of: place, device, folder)
            guard !uses.isEmpty else { continue }
            found.append(PathHolder(pid: pid, name: firstLine(place.appending("comm")), uses: uses))
        }
        return found.sorted { $0.pid < $1.pid }
    }

    private static func uses(of place: FilePath, _ device: String, _ folder: FilePath) -> [String] {
        var found: [String] = []
        func note(_ path: String, _ verb: String) {
            var path = FilePath(path)
            // What is unmounted is named from the top of the mount.
            if !path.removePrefix(folder) { path = FilePath(root: nil, path.components) }
            let use = "\(verb) \(path.isEmpty ? "the mount" : path.string)"
            if !found.contains(use) { found.append(use) }
        }
        func note(link: FilePath, _ verb: String) {
            guard self.device(of: link) == device, let path = target(link) else { return }
            note(path, verb)
        }
        note(link: place.appending("cwd"), "works in")
        note(link: place.appending("root"), "has its root in")
        note(link: place.appending("exe"), "runs")
        let descriptors = place.appending("fd")
        if var stream = try? DirectoryStream(descriptors) {
            while let entry = try? stream.next() {
                guard let name = entry.component else { continue }
                note(link: descriptors.appending(name), "has open")
            }
        }
        for line in (bytes(place.appending("maps")) ?? []).split(separator: UInt8(ascii: "\n")) {
            // start-end mode offset device inode, then the path.
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count == 6, hexadecimal(fields[3]) == device,
                let slash = fields[5].firstIndex(of: UInt8(ascii: "/"))
            else { continue }
            note(String(decoding: fields[5][slash...], as: UTF8.self), "has mapped")
        }
        return found
    }

    /// The device of what a link of /proc leads to, asked of the kernel alone: a mount may not answer.
    private static func device(of link: FilePath) -> String? {
        var (major, minor): (UInt32, UInt32) = (0, 0)
        guard link.withPlatformString({ passdir_known_device($0, &major, &minor) }) == 0 else { return nil }
        return "\(major):\(minor)"
    }

    /// `major:minor` of two hexadecimal numbers.
    private static func hexadecimal(_ field: ArraySlice<UInt8>) -> String? {
        let numbers = field.split(separator: UInt8(ascii: ":")).compactMap {
            UInt32(String(decoding: $0, as: UTF8.self), radix: 16)
        }
        return numbers.count == 2 ? "\(numbers[0]):\(numbers[1])" : nil
    }

    private static func target(_ link: FilePath) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = link.withPlatformString { name in
            buffer.withUnsafeMutableBytes {
                readlink(name, $0.bindMemory(to: CChar.self).baseAddress!, $0.count)
            }
        }
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }

    private static func bytes(_ path: FilePath) -> [UInt8]? {
        guard let file = try? OwnedDescriptor(opening: path, O_RDONLY) else { return nil }
        let bytes = try? file.readAll(atMost: 16 << 20)
        return bytes?.isEmpty == false ? bytes : nil
    }

    private static func firstLine(_ path: FilePath) -> String {
        String(decoding: (bytes(path) ?? []).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
