import Git
import Synchronization

/// Passes progress on, ten times a second at most.
final class ProgressPace: Sendable {
    private let last: Mutex<ContinuousClock.Instant>
    private let channel: TransferChannel

    init(channel: TransferChannel) {
        self.channel = channel
        last = Mutex(.now - .seconds(1))
    }

    func tell(_ progress: TransferProgress) {
        let isDue = last.withLock { last in
            guard .now - last > .milliseconds(100) else { return false }
            last = .now
            return true
        }
        if isDue { channel.send(.progress(progress)) }
    }
}
