import Glibc
import Synchronization

/// A bar on standard error for work on many secrets: how many are done, how many there are, how long it will take.
/// Only for a terminal; elsewhere nothing is drawn.
final class ProgressBar: Sendable {
    private struct State {
        var start = ContinuousClock.now
        var first: Int?
        var label = ""
        var drawn: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Draws anew, at most ten times a second.
    func update(_ label: String, done: Int, total: Int) {
        guard isTerminal, total > 0 else { return }
        let line: String? = state.withLock { state in
            let now = ContinuousClock.now
            if state.label != label {
                state = State(start: now, first: done, label: label)
            } else if let drawn = state.drawn, now - drawn < .milliseconds(100), done < total {
                return nil
            }
            state.drawn = now
            return Self.line(label, done, total, since: now - state.start, first: state.first ?? 0)
        }
        guard let line else { return }
        StandardError.redraw(line)
    }

    /// Takes the bar away.
    func end() {
        guard isTerminal else { return }
        if state.withLock({ $0.drawn != nil }) { StandardError.clearLine() }
    }

    static func line(_ label: String, _ done: Int, _ total: Int, since: Duration, first: Int) -> String {
        let width = 24
        let full = total > 0 ? width * min(done, total) / total : width
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        var text = "\(label) [\(bar)] \(done) of \(total)"
        let (seconds, attoseconds) = since.components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        if done > first, done < total, elapsed > 0.5 {
            let left = Int((elapsed / Double(done - first) * Double(total - done)).rounded(.up))
            text += left < 60 ? ", \(left) s left" : ", \(left / 60) min \(left % 60) s left"
        }
        return text
    }
}
