import Access
import Dispatch
import Fuse
import SystemPackage

/// One reader's wait for a person's agreement, on no thread. Ctrl-C ends it, as it ends the wait for a passphrase.
struct ConsentWait: Sendable {
    /// Looks at callers that were interrupted and wait on, which is short.
    private static let looks = DispatchQueue(label: "passdir.consent")

    private let consent: AwaitedConsent
    private let caller: Caller
    private let start = ContinuousClock.now

    init(_ consent: AwaitedConsent, _ caller: Caller) { (self.consent, self.caller) = (consent, caller) }

    /// Has `body` run, once, on another thread: with nil when the reader may read, else with the error of its open.
    func wait(_ body: @escaping @Sendable (Errno?) -> Void) {
        consent.whenAnswered { body($0 ? nil : .permissionDenied) }
        caller.onInterrupt { look(InterruptedWait(of: caller, since: start), body) }
    }

    private func look(_ wait: InterruptedWait, _ body: @escaping @Sendable (Errno?) -> Void) {
        var wait = wait
        if wait.isOver() {
            if consent.withdraw() { body(.interrupted) }
            return
        }
        guard consent.isAwaited else { return }
        let next = wait
        Self.looks.asyncAfter(deadline: .now() + next.pause) { look(next, body) }
    }
}
