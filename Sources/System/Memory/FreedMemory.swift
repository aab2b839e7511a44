import CLinux
import Synchronization

/// Memory that was freed, and that the C library holds for what comes next.
public enum FreedMemory {
    private static let lastTime = Mutex<ContinuousClock.Instant?>(nil)

    /// Gives it back to the system; malloc_trim(3).
    public static func giveBack() { passdir_return_freed_memory() }

    /// As above, but not again within a minute: it takes milliseconds in which no other thread allocates. Small blocks that live
    /// for long, between those of many saves, would else leave pages in use of which hardly anything is: an hour of saves and commits
    /// made the heaps grow from 12 to 22 MB, of which 7 were in use.
    public static func giveBackNowAndThen() {
        let isTime = lastTime.withLock { last in
            let now = ContinuousClock.now
            guard last.map({ now - $0 >= .seconds(60) }) ?? true else { return false }
            last = now
            return true
        }
        if isTime { giveBack() }
    }
}
