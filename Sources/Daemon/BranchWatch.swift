import CLinux
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
        var descriptor: Int32?
        var moved: [Int32: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Begins to watch folders; what is watched already is watched for the newest caller.
    /// - Parameter moved: called on the watch's own thread, which it must not keep.
    func follow(_ folders: [FilePath], moved: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard let descriptor = state.descriptor ?? start() else { return }
            state.descriptor = descriptor
            let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR)
            for folder in folders {
                let number = folder.withPlatformString { inotify_add_watch(descriptor, $0, events) }
                if number >= 0 { state.moved[number] = moved }
            }
        }
    }

    private func start() -> Int32? {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        do throws(Errno) {
            try PosixThread.start(named: "branches") { [self] in serve(descriptor) }
        } catch {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private func serve(_ descriptor: Int32) {
        var changed: Set<Int32> = []
        var first = ContinuousClock.now
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if !changed.isEmpty,
                first + Self.patience <= .now
                    || (try? Wait.until(POLLIN, on: descriptor, deadline: .now + Self.quiet)) == false
            {
                let all = state.withLock { $0.moved }
                for number in changed { all[number]?() }
                changed = []
            }
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            if changed.isEmpty { first = .now }
            note(buffer[..<count], in: &changed)
        }
    }

    /// Which watches the events (inotify(7)) are about; all where events were lost.
    private func note(_ bytes: ArraySlice<UInt8>, in changed: inout Set<Int32>) {
        bytes.withUnsafeBytes { events in
            var offset = 0
            while offset + 16 <= events.count {
                let number = events.loadUnaligned(fromByteOffset: offset, as: Int32.self)
                let mask = events.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                if number == -1 {
                    changed.formUnion(state.withLock { Array($0.moved.keys) })
                } else if mask & UInt32(IN_IGNORED) != 0 {
                    // The folder is gone; its number is not given out again.
                    _ = state.withLock { $0.moved.removeValue(forKey: number) }
                } else {
                    changed.insert(number)
                }
                offset += 16 + Int(events.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            }
        }
    }
}
