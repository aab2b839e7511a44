import Glibc
import System
import SystemPackage

extension PromptPlace {
    /// Where the person sits who runs a program: its controlling terminal, and what the environment that it was started
    /// with says of a display and a language.
    ///
    /// nil where it has neither a terminal nor a display, is gone, may not be looked into, or is in another mount
    /// namespace, whose `/dev/pts/0` is another terminal than ours.
    /// - Parameter id: of a process or of one of its threads.
    public static func of(process id: Int32) -> PromptPlace? {
        guard id > 0, let space = FilePath("/proc/\(id)/ns/mnt").linkTarget,
            space == FilePath("/proc/self/ns/mnt").linkTarget,
            let environment = bytes(of: "/proc/\(id)/environ").map(variables)
        else { return nil }
        let terminal = terminal(of: id)
        guard terminal != nil || ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0] != nil })
        else { return nil }
        return PromptPlace(
            terminal: terminal, terminalType: environment["TERM"], environment: environment)
    }

    /// The terminal that a process's keys come from; proc(5), `tty_nr`.
    private static func terminal(of id: Int32) -> String? {
        // The name, in parentheses, may hold anything, parentheses too.
        guard let stat = bytes(of: "/proc/\(id)/stat"), let end = stat.lastIndex(of: UInt8(ascii: ")")) else {
            return nil
        }
        let fields = String(decoding: stat[end...], as: UTF8.self).split(separator: " ")
        guard fields.count > 5, let number = Int32(fields[5]), number != 0 else { return nil }
        let bits = UInt32(bitPattern: number)
        let (major, minor) = (bits >> 8 & 0xFFF, bits & 0xFF | bits >> 12 & 0xFFF00)
        // Pseudo-terminals, and the consoles before the serial lines; devices.txt of Linux.
        let path: String
        switch major {
        case 136...143: path = "/dev/pts/\((major - 136) << 8 + minor)"
        case 4 where minor < 64: path = "/dev/tty\(minor)"
        default: return nil
        }
        // The C library has such a number as the kernel has it here.
        guard let facts = FilePath(path).facts(), facts.st_mode & S_IFMT == S_IFCHR,
            facts.st_rdev == dev_t(bits), access(path, R_OK | W_OK) == 0
        else { return nil }
        return path
    }

    private static func variables(_ bytes: [UInt8]) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in bytes.split(separator: 0) {
            let text = String(decoding: entry, as: UTF8.self)
            guard let split = text.firstIndex(of: "=") else { continue }
            // As getenv(3), the first counts.
            let name = String(text[..<split])
            if variables[name] == nil { variables[name] = String(text[text.index(after: split)...]) }
        }
        return variables
    }

    /// What a file in /proc says, up to 1 MiB.
    private static func bytes(of path: String) -> [UInt8]? {
        try? OwnedDescriptor(opening: FilePath(path), O_RDONLY).readAll(atMost: 1 << 20)
    }
}
