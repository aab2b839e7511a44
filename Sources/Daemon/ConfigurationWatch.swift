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
    /// How long a change waits for a program that has written into the file, and not closed it.
    private static let longestWriting = Duration.seconds(5)
    /// How long an empty file waits for a program that has just emptied it.
    private static let longestEmpty = Duration.seconds(1)

    /// Begins to watch, on a thread of its own that ends with the process.
    ///
    /// - Parameter changed: gets what says whether the file still is as it was. Who writes into the file itself has emptied it
    ///   before that: what was read counts only where nobody has begun to meanwhile; then this is called again.
    static func start(
        _ file: FilePath, changed: @escaping @Sendable (_ isStill: () -> Bool) -> Void
    ) throws(Errno) {
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
            var deadline: ContinuousClock.Instant?
            var hasWaitedForContent = false
            while let events = try? inotify.events(until: deadline) {
                guard events.isEmpty else {
                    // What happens to other files of the folder puts nothing off.
                    for event in events where event.watch == -1 || watched[event.watch] == event.name {
                        deadline = .now + (event.mask & UInt32(IN_MODIFY) == 0 ? quiet : longestWriting)
                        hasWaitedForContent = false
                    }
                    continue
                }
                let facts = file.targetFacts()
                // A disk may take long over emptying a file: its size is none, and neither an event nor its time tells.
                if facts?.st_size == 0, !hasWaitedForContent {
                    hasWaitedForContent = true
                    deadline = .now + longestEmpty
                    continue
                }
                hasWaitedForContent = false
                let seen = facts.map(FileIdentity.init)
                var isStill = true
                changed {
                    isStill = file.targetFacts().map(FileIdentity.init) == seen
                    return isStill
                }
                deadline = isStill ? nil : .now + quiet
            }
        }
    }

    /// Watches the folder of a file.
    private static func add(_ file: FilePath, to inotify: Inotify) throws(Errno) -> CInt {
        try inotify.add(
            file.removingLastComponent(),
            IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE)
    }
}
