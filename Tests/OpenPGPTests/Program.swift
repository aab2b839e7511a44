import CLinux
import Glibc

struct Failed: Error, CustomStringConvertible {
    let description: String
}

/// Runs programs with a bound on their time; input and output are files, so that nothing can block.
enum Program {
    struct Result {
        let status: Int32
        let output: [UInt8]
        let errors: String
    }

    /// - Parameter program: A path, or a name that PATH knows.
    @discardableResult
    static func run(
        _ program: String, _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:],
        seconds: Int32 = 60
    ) throws -> Result {
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        let paths = ["in", "out", "err"].map { "\(directory.path)/\($0)" }
        try File.write(input, to: paths[0])

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, paths[0], O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, paths[1], O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, paths[2], O_WRONLY | O_CREAT, 0o600)
        let inherited = (["PATH", "HOME"] as [String]).compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        let own = inherited + environment.map { "\($0)=\($1)" }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = own.map { strdup($0) } + [nil]
        defer { (words + variables).forEach { free($0) } }

        var process: pid_t = 0
        let error = posix_spawnp(&process, program, &actions, nil, &words, &variables)
        guard error == 0 else { throw Failed(description: "\(program): \(String(cString: strerror(error)))") }
        let handle = passdir_pidfd_open(process)
        defer { close(handle) }
        var ended = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        let isLate = poll(&ended, 1, seconds * 1000) != 1
        if isLate { kill(process, SIGKILL) }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        if isLate { throw Failed(description: "\(program) \(arguments) took too long") }
        let code = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
        return Result(
            status: code, output: try File.read(paths[1]),
            errors: String(decoding: try File.read(paths[2]), as: UTF8.self))
    }
}

enum File {
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failed(description: "cannot write \(path)") }
        defer { close(descriptor) }
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + offset, bytes.count - offset)
            }
            guard count > 0 else { throw Failed(description: "cannot write \(path)") }
            offset += count
        }
    }

    static func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        try write(Array(text.utf8), to: path, mode: mode)
    }

    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failed(description: "cannot read \(path)") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}

/// A short path under /tmp, for gpg-agent's sockets have a limit.
struct TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failed(description: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() {
        Self.remove(path)
    }

    private static func remove(_ path: String) {
        guard let stream = opendir(path) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
        }
        closedir(stream)
        rmdir(path)
    }
}
