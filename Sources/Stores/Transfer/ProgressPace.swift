import Git
import Synchronization

/// Passes progress on, ten times a second at most, and that all is there.
final class ProgressPace: Sendable {
    private let last: Mutex<(time: ContinuousClock.Instant, isWhole: Bool)>
    private let channel: TransferChannel

    init(channel: TransferChannel) {
        self.channel = channel
        last = Mutex((.now - .seconds(1), false))
    }

    func tell(_ progress: TransferProgress) {
        let isWhole = progress.objects == progress.totalObjects && progress.objects > 0
        let isDue = last.withLock { last in
            guard .now - last.time > .milliseconds(100) || isWhole && !last.isWhole else { return false }
            last = (.now, isWhole)
            return true
        }
        if isDue { channel.send(.progress(progress)) }
    }
}
