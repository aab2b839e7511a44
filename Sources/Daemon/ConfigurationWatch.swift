import CLinux
import Glibc
import Stores
import System
import SystemPackage

/// Tells when the configuration file changes, whoever changed it: an editor, `git config`, `passdir`, a tool that
/// manages dotfiles. Files are replaced by renames, so their folders are watched: that of the file, and, where it is a
/// symbolic link, that of what it leads to.
enum ConfigurationWatch {
    /// How long it must be quiet before a change is told: an editor writes in steps.
    private static let quiet = Duration.milliseconds(50)

    /// Begins to watch, on a thread of its own that ends with the process.
    static func start(_ file: FilePath, changed: @escaping @Sendable () -> Void) throws(Errno) {
        // A user has 128 instances by default (inotify(7), max_user_instances).
        if FaultPoint.isMadeToFail("configuration.watch") { throw .tooManyOpenFiles }
        let watch = inotify_init1(Int32(IN_CLOEXEC))
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        guard let name = file.lastComponent else { throw .invalidArgument }
        var names: [Int32: String] = [:]
        // Without the folder nobody could tell when the file comes.
        try PrivateFolder.make(file.removingLastComponent())
        try add(file.removingLastComponent(), name.string, watch, &names)
        if let target = target(of: file), let name = target.lastComponent {
            try? add(target.removingLastComponent(), name.string, watch, &names)
        }
        let watched = names
        try PosixThread.start(named: "configuration") {
            var hasChanged = false
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                if hasChanged {
                    let isQuiet = (try? Wait.until(POLLIN, on: watch, deadline: .now + quiet)) == false
                    if isQuiet {
                        hasChanged = false
                        changed()
                        continue
                    }
                }
                let count = read(watch, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                if concerns(buffer[..<count], watched) { hasChanged = true }
            }
        }
    }

    private static func add(
        _ folder: FilePath, _ name: String, _ watch: Int32, _ names: inout [Int32: String]
    ) throws(Errno) {
        let events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE
        let number = folder.withPlatformString { inotify_add_watch(watch, $0, UInt32(events)) }
        guard number >= 0 else { throw Errno(rawValue: errno) }
        names[number] = name
    }

    private static func target(of file: FilePath) -> FilePath? {
        guard let target = try? file.resolvingLinks(), target != file else { return nil }
        return target
    }

    /// Whether one of the events (inotify(7)) is about a file that we watch, or events were lost.
    private static func concerns(_ bytes: ArraySlice<UInt8>, _ names: [Int32: String]) -> Bool {
        bytes.withUnsafeBytes { events in
            var offset = 0
            while offset + 16 <= events.count {
                let number = events.loadUnaligned(fromByteOffset: offset, as: Int32.self)
                let length = Int(events.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                let text = events[(offset + 16)..<min(offset + 16 + length, events.count)].prefix { $0 != 0 }
                if number == -1 || names[number].map({ $0.utf8.elementsEqual(text) }) == true { return true }
                offset += 16 + length
            }
            return false
        }
    }
}
