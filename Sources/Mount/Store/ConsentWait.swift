import Access
import Fuse
import SystemPackage

/// One reader's wait for a person's agreement, on no thread.
struct ConsentWait: Sendable {
    private let consent: AwaitedConsent
    private let caller: Caller

    init(_ consent: AwaitedConsent, _ caller: Caller) { (self.consent, self.caller) = (consent, caller) }

    /// Has `body` run, once, on another thread: with nil when the reader may read, else with the error of its open. Of one that a
    /// signal interrupts that is when nothing is shown to it any more.
    func wait(_ body: @escaping @Sendable (Errno?) -> Void) {
        let consent = consent
        consent.whenAnswered { body($0 ? nil : .permissionDenied) }
        InterruptionWatch.begin(caller, isAwaited: { consent.isAwaited }) {
            consent.withdraw { body(.interrupted) }
        }
    }
}
