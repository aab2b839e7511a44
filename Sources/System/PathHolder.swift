import Glibc
public import SystemPackage

/// A program that has something below a folder in use, as fuser(1) tells it: what keeps a mount from being unmounted.
public struct PathHolder: Sendable, Equatable {
    /// The process.
    public var pid: Int32
    /// The program's name, as the kernel has it.
    public var name: String
    /// What it has there, a few words each, with paths relative to the folder.
    public var uses: [String]

    /// Every other process that can be seen and has something there. Other users' can only be seen by root.
    public static func all(below folder: FilePath) -> [PathHolder] {
        let folder = (try? folder.resolvingLinks()) ?? folder
        var found: [PathHolder] = []
        guard var processes = try? DirectoryStream("/proc") else { return [] }
        while let entry = try? processes.next() {
            guard let pid = Int32(String(decoding: entry.name, as: UTF8.self)), pid != getpid() else {
                continue
            }
            let place = FilePath("/proc/\(pid)")
            let uses = uses(of: place, below: folder)
            guard !uses.isEmpty else { continue }
            found.append(PathHolder(pid: pid, name: firstLine(place.appending("comm")), uses: uses))
        }
        return found.sorted { $0.pid < $1.pid }
    }

    private static func uses(of place: FilePath, below folder: FilePath) -> [String] {
        var found: [String] = []
        func note(_ path: String, _ verb: String) {
            var path = FilePath(path)
            guard path.removePrefix(folder) else { return }
            let use = "\(verb) \(path.isEmpty ? "the mount" : path.string)"
            if !found.contains(use) { found.append(use) }
        }
        if let path = target(place.appending("cwd")) { note(path, "works in") }
        if let path = target(place.appending("root")) { note(path, "has its root in") }
        if let path = target(place.appending("exe")) { note(path, "runs") }
        let descriptors = place.appending("fd")
        if var stream = try? DirectoryStream(descriptors) {
            while let entry = try? stream.next() {
                guard let name = entry.component, let path = target(descriptors.appending(name)) else {
                    continue
                }
                note(path, "has open")
            }
        }
        // start-end mode offset device inode, then the path. Of most processes it is long, and nothing in it is meant.
        if let maps = bytes(place.appending("maps")), contains(maps, folder) {
            for line in maps.split(separator: UInt8(ascii: "\n")) {
                guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
                note(String(decoding: line[slash...], as: UTF8.self), "has mapped")
            }
        }
        return found
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

    private static func contains(_ text: [UInt8], _ folder: FilePath) -> Bool {
        let text = text.map { CChar(bitPattern: $0) } + [0]
        return folder.withPlatformString { strstr(text, $0) != nil }
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
