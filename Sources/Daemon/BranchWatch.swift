import Glibc
import Synchronization
import System
import SystemPackage

/// Tells when something happens in the folders in which git notes where HEAD is, whoever does it: `pass`, `git`, another
/// command of ours; and when a merge, rebase or the like ends, whose notes there are removed. One for all stores: a user
/// has 128 instances by default (inotify(7), max_user_instances).
///
/// Where it cannot be had, branches are looked at when somebody asks for the status, and nothing else is lost.
final class BranchWatch: Sendable {
    /// How long it must be quiet before a change is told: `pass insert` runs three git programs.
    private static let quiet = Duration.milliseconds(50)
    /// After how long a change is told without that: `git status`, which shells run at each prompt, writes there, too.
    private static let patience = Duration.seconds(1)

    private struct State {
        var inotify: Inotify?
        var moved: [CInt: @Sendable (_ isStash: Bool) -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Begins to watch folders; what is watched already is watched for the newest caller.
    /// - Parameter moved: called on the watch's own thread, which it must not keep; `isStash`: whether a stash was made or
    ///   removed, which is all that is ever seen of one that was popped at once.
    func follow(_ folders: [FilePath], moved: @escaping @Sendable (_ isStash: Bool) -> Void) {
        state.withLock { state in
            guard let inotify = state.inotify ?? (try? start()) else { return }
            state.inotify = inotify
            let events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | Int32(bitPattern: UInt32(IN_ONLYDIR))
            for watch in folders.compactMap({ try? inotify.add($0, events) }) { state.moved[watch] = moved }
        }
    }

    private func start() throws(Errno) -> Inotify {
        let inotify = try Inotify()
        try PosixThread.start(named: "branches") { [self] in serve(inotify) }
        return inotify
    }

    private func serve(_ inotify: Inotify) {
        var changed: [CInt: Bool] = [:]
        var first = ContinuousClock.now
        while let events = try? inotify.events(
            until: changed.isEmpty ? nil : min(.now + Self.quiet, first + Self.patience))
        {
            if events.isEmpty {
                let all = state.withLock { $0.moved }
                for (watch, isStash) in changed { all[watch]?(isStash) }
                changed = [:]
            }
            if changed.isEmpty { first = .now }
            for event in events { note(event, in: &changed) }
        }
    }

    /// Which folders an event is about, and whether it is about stashes: all where events were lost.
    private func note(_ event: Inotify.Event, in changed: inout [CInt: Bool]) {
        if event.watch == -1 {
            for watch in state.withLock({ Array($0.moved.keys) }) { changed[watch] = true }
        } else if event.mask & UInt32(IN_IGNORED) != 0 {
            // The folder is gone; its number is not given out again.
            _ = state.withLock { $0.moved.removeValue(forKey: event.watch) }
        } else {
            // The name of their reference.
            let isStash = event.name.elementsEqual("stash".utf8)
            changed[event.watch, default: false] = changed[event.watch] == true || isStash
        }
    }
}
