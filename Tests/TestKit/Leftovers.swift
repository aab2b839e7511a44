import Glibc
import SystemPackage

/// What a test may leave behind: mounts, processes, files.
extension TestHome {
    /// Ends everything in the home and tells what a test should have ended itself.
    func end() -> [String] {
        var left: [String] = []
        for point in mountPoints() {
            left.append("a mount at \(point)")
            _ = try? Program(
                ["fusermount3", "-uz", point], environment: environment, directory: "/"
            ).wait(limit: .seconds(10))
        }
        // Each transfer ends with its daemon, which may have ended a moment ago.
        for _ in 0..<250
        where processes().contains(where: { $0.command.hasPrefix("/proc/self/exe transfer") }) {
            usleep(20_000)
        }
        for process in processes() where process.name == "passdir" {
            left.append("process \(process.pid): \(process.command)")
            kill(process.pid, SIGKILL)
        }
        // What `gpgconf --kill all` takes a dozen programs for. The third signal ends an agent to which somebody is still
        // connected; /proc has no event for an end.
        var rest = processes()
        let agents = ["gpg-agent", "scdaemon", "dirmngr", "keyboxd"]
        for _ in 0..<250 where rest.contains(where: { agents.contains($0.name) || $0.name == "gpg" }) {
            for agent in rest where agents.contains(agent.name) { kill(agent.pid, SIGTERM) }
            usleep(20_000)
            rest = processes()
        }
        for process in rest {
            left.append("process \(process.pid): \(process.command)")
            kill(process.pid, SIGKILL)
        }
        if access("/run/user/\(geteuid())", F_OK) == 0 {
            // There gpg has its sockets.
            _ = try? Program(
                ["gpgconf", "--homedir", path("gnupg").string, "--remove-socketdir"],
                environment: environment,
                directory: "/"
            ).wait(limit: .seconds(10))
        }
        if !mountPoints().isEmpty {
            left.append("a mount in \(folder) that cannot be unmounted; the folder stays")
            return left
        }
        EndedHomes.add(folder)
        return left
    }

    /// The mount points in the home, the deepest first.
    public func mountPoints() -> [String] {
        MountTable.points().filter { isOurs($0) }.sorted { $0.count > $1.count }
    }

    /// Whether a path is the home or in it.
    private func isOurs(_ path: String) -> Bool {
        path == folder.string || path.hasPrefix(folder.string + "/")
    }

    /// The process ids of daemons of this home.
    public func daemons() -> [pid_t] {
        processes().filter { $0.name == "passdir" && $0.command.contains(" --foreground") }.map(\.pid)
    }

    /// The processes that have the home in their arguments or their environment.
    func processes() -> [ProcessEntry] {
        ProcessEntry.all { command, pid in
            command.holds(folder.string)
                || SystemFile.bytes("/proc/\(pid)/environ")?.holds(folder.string) == true
        }
    }
}

/// A process as /proc shows it.
struct ProcessEntry {
    let pid: pid_t
    /// The executable's name, at most 15 bytes.
    let name: String
    /// The arguments, parted by spaces.
    let command: String

    /// The processes that are meant, by their arguments and ids; never this one, nor those that have ended and wait for their
    /// parent.
    static func all(_ isMeant: (_ arguments: [UInt8], pid_t) -> Bool) -> [ProcessEntry] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [ProcessEntry] = []
        while let entry = readdir(folder) {
            let text = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let pid = pid_t(text), pid != getpid() else { continue }
            // An ended process has no arguments any more.
            guard let arguments = SystemFile.bytes("/proc/\(pid)/cmdline"), !arguments.isEmpty,
                isMeant(arguments, pid)
            else { continue }
            let name =
                (SystemFile.text("/proc/\(pid)/comm") ?? "").split(separator: "\n").first.map(String.init)
                ?? ""
            let command = String(decoding: arguments, as: UTF8.self).split(separator: "\0").joined(
                separator: " ")
            found.append(ProcessEntry(pid: pid, name: name, command: command))
        }
        return found
    }
}

extension [UInt8] {
    /// Whether one of the words that zeros end holds a text. C's functions look: arguments and environments may be long.
    fileprivate func holds(_ text: String) -> Bool {
        (self + [0]).withUnsafeBytes { bytes in
            guard var word = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
            let end = word + bytes.count
            while word < end {
                if strstr(word, text) != nil { return true }
                word += strlen(word) + 1
            }
            return false
        }
    }
}

/// The mounts of this mount namespace.
public enum MountTable {
    /// All mount points.
    public static func points() -> [String] {
        (SystemFile.text("/proc/self/mountinfo") ?? "").split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            return fields.count > 4 ? unescaped(fields[4]) : nil
        }
    }

    /// The kernel writes space, tab, newline and backslash as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var text = String(field)
        for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
            text = text.split(separator: code, omittingEmptySubsequences: false).joined(separator: character)
        }
        return text
    }
}

/// Files whose size is not known before they are read, as those in /proc.
public enum SystemFile {
    /// The whole of it as text; nil when it cannot be opened.
    public static func text(_ path: String) -> String? {
        bytes(path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The whole of it; nil when it cannot be opened.
    static func bytes(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var (bytes, count) = ([UInt8](repeating: 0, count: 4096), 0)
        while true {
            let got = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress! + count, $0.count - count) }
            guard got > 0 else { break }
            count += got
            if count == bytes.count { bytes += [UInt8](repeating: 0, count: count) }
        }
        return Array(bytes[..<count])
    }
}
