import Glibc
import System

/// How long a decryption may wait for gpg-agent or gpg, and who stops it.
///
/// As an operation of gpgme does, it gives its place at the gate back when it takes longer than a processor would.
final class AgentWait {
    private(set) var bounds: Bounds
    /// Told when a person is asked, with the end of the time to answer.
    var whenAsked: ((ContinuousClock.Instant?) -> Void)?
    private let wakeup: Wakeup
    private let pass: Gate.Pass?
    private var impatience: ContinuousClock.Instant?
    private var needsNobody = false

    init(_ bounds: Bounds, _ wakeup: Wakeup, _ pass: Gate.Pass) {
        self.bounds = bounds
        self.wakeup = wakeup
        self.pass = pass
        impatience = .now + Operation.patience
    }

    /// For what needs no place at the gate, as it takes no processor.
    init(_ bounds: Bounds) throws(AgentFailure) {
        do throws(OpenPGPError) { wakeup = try Wakeup() } catch { throw .ended(error) }
        self.bounds = bounds
        pass = nil
    }

    /// A prompt is open: the time to answer it counts from here on.
    func personIsAsked() {
        yieldPlace()
        bounds.beginToAnswer()
        whenAsked?(bounds.deadline)
    }

    /// Another prompt may have to be answered first.
    func waitsForTurn() {
        if let pass { bounds.keepDeadline(pass) }
        bounds.awaited = .turn
    }

    /// A person is waited for.
    func yieldPlace() {
        guard impatience != nil else { return }
        impatience = nil
        pass?.giveBack(.waitsForPerson)
    }

    /// - Throws: `ended` where the caller's time is over, or it does not want the answer any more.
    func check() throws(AgentFailure) {
        do throws(OpenPGPError) { try bounds.check(pass) } catch { throw .ended(error) }
    }

    /// The session key is there: what takes long from now on takes a processor, and says nothing about the key.
    func needsNobodyAnyMore() { needsNobody = true }

    /// Waits until one of POLLIN and POLLOUT is there.
    func untilReady(_ event: CInt, _ descriptor: CInt) throws(AgentFailure) {
        var entries = [pollfd(fd: descriptor, events: Int16(event), revents: 0)]
        try untilReady(&entries)
    }

    /// As above, of several descriptors; their entries say which.
    func untilReady(_ entries: inout [pollfd]) throws(AgentFailure) {
        entries.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        defer { entries.removeLast() }
        while true {
            let next = [bounds.deadline(pass), impatience].compactMap(\.self).min()
            guard let isReady = try? Poll.wait(for: &entries, until: next) else { throw .broken }
            if entries[entries.count - 1].revents != 0 { wakeup.drain() }
            try check()
            if isReady, entries.dropLast().contains(where: { $0.revents != 0 }) { return }
            guard let impatience, .now >= impatience else { continue }
            if needsNobody {
                self.impatience = nil
                pass?.giveBack(.done)
            } else {
                yieldPlace()
            }
        }
    }
}
