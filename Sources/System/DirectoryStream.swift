import CLinux
import Glibc
public import SystemPackage

/// What kind of thing an entry of a folder is.
public enum EntryKind: Sendable, Hashable {
    /// An ordinary file.
    case regular
    /// A folder.
    case directory
    /// A symbolic link, wherever it leads.
    case symbolicLink
    /// A device, socket or pipe.
    case other

    /// From the st_mode of stat(2).
    public init(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .symbolicLink
        default: self = .other
        }
    }
}

/// The entries of a folder, but `.` and `..`, in the order of the file system.
public struct DirectoryStream: ~Copyable {
    /// One entry.
    public struct Entry: Sendable {
        /// The name's bytes, which need not be text.
        public let name: [UInt8]
        /// A symbolic link's own kind, never its target's.
        public let kind: EntryKind

        /// The name as part of a path.
        public var component: FilePath.Component? {
            (name + [0]).withUnsafeBytes {
                FilePath.Component(platformString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
        }
    }

    private let stream: OpaquePointer

    /// Opens a folder by its path.
    public init(_ path: FilePath) throws(Errno) {
        guard let stream = path.withPlatformString({ opendir($0) }) else { throw .last }
        self.stream = stream
    }

    /// Takes over the descriptor of a folder that was opened for reading.
    public init(_ folder: consuming OwnedDescriptor) throws(Errno) {
        guard let stream = fdopendir(folder.raw) else { throw .last }
        _ = folder.release()
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    /// The folder's descriptor; valid while this lives.
    public var descriptor: CInt { dirfd(stream) }

    /// The next entry; nil at the end.
    public mutating func next() throws(Errno) -> Entry? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .last }
                return nil
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            // The folder itself and the one above.
            if name.count <= 2, name.allSatisfy({ $0 == UInt8(ascii: ".") }) { continue }
            // One that is gone meanwhile is no entry.
            guard let kind = kind(of: entry) else { continue }
            return Entry(name: name, kind: kind)
        }
    }

    /// Opens a folder in this one for reading; a symbolic link is none.
    public func openFolder(_ name: [UInt8]) throws(Errno) -> OwnedDescriptor {
        let opened = (name + [0]).withUnsafeBytes {
            openat(
                descriptor, $0.bindMemory(to: CChar.self).baseAddress!,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard opened >= 0 else { throw .last }
        return OwnedDescriptor(opened)
    }

    /// The names in a folder as text; none when it cannot be read.
    public static func names(in folder: FilePath) -> [String] {
        var names: [String] = []
        do throws(Errno) {
            var stream = try DirectoryStream(folder)
            while let entry = try stream.next() { names.append(String(decoding: entry.name, as: UTF8.self)) }
        } catch {
            // What was read so far is what can be told.
        }
        return names
    }

    /// The first name in a folder, in the order of the file system, that is wanted; nil when none is. Asks the system for a
    /// few names at a time: in `/proc` each costs, where readdir(3) asks for a thousand.
    public static func firstName(
        in folder: FilePath, where isWanted: (String) -> Bool
    ) throws(Errno) -> String? {
        let folder = try OwnedDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        // Of 64-bit words, as the records of getdents64(2) are aligned to them.
        var buffer = [UInt64](repeating: 0, count: 128)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                passdir_getdents(folder.raw, $0.baseAddress!, $0.count)
            }
            guard count >= 0 else { throw .last }
            guard count > 0 else { return nil }
            let found = buffer.withUnsafeBytes { bytes -> String? in
                var start = 0
                while start < count {
                    // Inode and offset come first, then the record's length, the kind and the name up to a NUL.
                    let length = Int(bytes.load(fromByteOffset: start + 16, as: UInt16.self))
                    let name = String(
                        decoding: bytes[(start + 19)..<(start + length)].prefix { $0 != 0 }, as: UTF8.self)
                    if name != ".", name != "..", isWanted(name) { return name }
                    start += length
                }
                return nil
            }
            if let found { return found }
        }
    }

    private func kind(of entry: UnsafeMutablePointer<dirent>) -> EntryKind? {
        // The DT_ constants of readdir(3), which are not imported.
        switch entry.pointee.d_type {
        case 8: return .regular
        case 4: return .directory
        case 10: return .symbolicLink
        case 0:
            // The file system does not tell kinds in listings.
            var facts = stat()
            let code = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(descriptor, $0, &facts, AT_SYMLINK_NOFOLLOW)
                }
            }
            return code == 0 ? EntryKind(mode: facts.st_mode) : nil
        default: return .other
        }
    }
}
