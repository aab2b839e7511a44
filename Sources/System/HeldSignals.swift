import Glibc
import Synchronization
public import SystemPackage

/// Signals that wait while a terminal is not as it was found: caught from `init` to `end`, which then sends them anew.
public struct HeldSignals: ~Copyable {
    private let before: [(signal: CInt, action: sigaction)]
    private let pipe: Pipe

    /// Begins to catch those of the signals that are not ignored; one at a time in a process.
    /// - Throws: what pipe(2) fails with.
    public init(_ signals: [CInt]) throws(Errno) {
        pipe = try Pipe(blocks: false)
        heldSignalPipe.store(pipe.writing.raw, ordering: .releasing)
        before = signals.filter { !IgnoredSignals.contains($0) }.map { signal in
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { note(signal: $0) }
            action.sa_flags = SA_RESTART
            var old = sigaction()
            sigaction(signal, &action, &old)
            return (signal, old)
        }
    }

    /// Waits until a descriptor can be read, or one of the signals has come.
    /// - Returns: the signal; nil where the descriptor can be read.
    public func wait(for descriptor: CInt) throws(Errno) -> CInt? {
        var entries = [pipe.reading.raw, descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        _ = try Poll.wait(for: &entries, until: nil)
        return entries[0].revents == 0 ? nil : next()
    }

    /// What was set before holds again, and gets what has come.
    /// - Parameter signal: what `wait` has given.
    public func end(with signal: CInt?) {
        for (signal, action) in before {
            var action = action
            sigaction(signal, &action, nil)
        }
        heldSignalPipe.store(-1, ordering: .releasing)
        if let signal { raise(signal) }
        while let signal = next() { raise(signal) }
    }

    private func next() -> CInt? {
        var number: UInt8 = 0
        return read(pipe.reading.raw, &number, 1) == 1 ? CInt(number) : nil
    }
}

/// Where the handler writes; -1 while no signals are held.
private let heldSignalPipe = Atomic<CInt>(-1)

/// The handler: only calls that signal-safety(7) allows.
private func note(signal: CInt) {
    let before = errno
    var number = UInt8(truncatingIfNeeded: signal)
    _ = write(heldSignalPipe.load(ordering: .acquiring), &number, 1)
    errno = before
}
