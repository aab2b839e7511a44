import Glibc

/// Signals that this process ignores. exec(2) keeps that: whoever started us may have wanted it, as nohup(1) and a shell that
/// runs a command in the background do.
public enum IgnoredSignals {
    /// Whether a signal is ignored.
    public static func contains(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// All of them.
    static var all: [CInt] { (1..<CInt(NSIG)).filter(contains) }
}
