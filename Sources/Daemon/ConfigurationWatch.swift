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
        if FaultPoint.isMadeToFail("configuration.watch") { throw .tooManyOpenFiles }
        let inotify = try Inotify()
        guard let name = file.lastComponent else { throw .invalidArgument }
        // Without the folder nobody could tell when the file comes.
        try file.removingLastComponent().makeFolders()
        var names = [try add(file, to: inotify): name.bytes]
        if let target = try? file.resolvingLinks(), target != file, let name = target.lastComponent,
            let watch = try? add(target, to: inotify)
        {
            names[watch] = name.bytes
        }
        let watched = names
        try PosixThread.start(named: "configuration") {
            var hasChanged = false
            while let events = try? inotify.events(until: hasChanged ? .now + quiet : nil) {
                if events.isEmpty {
                    // Who writes into the file itself has emptied it before that.
                    if isBeingWritten(file) { continue }
                    hasChanged = false
                    changed()
                } else if events.contains(where: { $0.watch == -1 || watched[$0.watch] == $0.name }) {
                    hasChanged = true
                }
            }
        }
    }

    /// Whether a file was written to a moment ago; when it is closed, that is told.
    private static func isBeingWritten(_ file: FilePath) -> Bool {
        guard let modified = file.targetFacts()?.st_mtim else { return false }
        let now = timespec(on: CLOCK_REALTIME)
        let age =
            Duration.seconds(now.tv_sec - modified.tv_sec) + .nanoseconds(now.tv_nsec - modified.tv_nsec)
        return age >= .zero && age < quiet
    }

    /// Watches the folder of a file.
    private static func add(_ file: FilePath, to inotify: Inotify) throws(Errno) -> CInt {
        try inotify.add(
            file.removingLastComponent(),
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE)
    }
}
