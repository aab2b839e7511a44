import Synchronization
import SystemPackage

/// What a person is told on the desktop of reads: refusals, and first reads. The same is told once a minute.
final class AccessNotices: Sendable {
    private static let pause = Duration.seconds(60)
    private static let mostRemembered = 256

    private let notify: @Sendable (_ title: String, _ body: String) -> Void
    private let told = Mutex<[String: ContinuousClock.Instant]>([:])

    init(_ notify: @escaping @Sendable (_ title: String, _ body: String) -> Void) { self.notify = notify }

    /// - Parameters:
    ///   - refused: reads that were refused.
    ///   - firsts: reads by programs that never read these secrets before.
    func tell(_ refused: [AccessLine], firsts: [AccessLine]) {
        for line in refused {
            let why: String
            switch line.outcome {
            case .denied:
                why =
                    line.rule.map { "the rule \"\($0)\" denies it" }
                    ?? "it was removed, and may have been under any of the store's rules"
            case .unanswered: why = "nobody could be asked, or nobody answered"
            // Whoever refused or interrupted it knows.
            case .declined, .interrupted, .locked, .failed, .allowed, .agreed: continue
            }
            tell(
                "\(line.program) may not read \(line.secret): \(why)",
                once: "\(line.program)\n\(line.rule ?? "")\n\(line.outcome)")
        }
        for line in firsts {
            tell(
                "\(line.program) has read \(line.secret) for the first time",
                once: "\(line.program)\n\(line.secret)")
        }
    }

    /// Tells that somebody has taken the log's file away.
    func tellThatTheFileIsGone(_ file: FilePath) {
        tell("the access log \(file) was removed or emptied; a new one is begun", once: "the file")
    }

    private func tell(_ sentence: String, once key: String) {
        let isNew = told.withLock { told in
            let now = ContinuousClock.now
            if let last = told[key], now - last < Self.pause { return false }
            if told.count >= Self.mostRemembered { told = told.filter { now - $0.value < Self.pause } }
            guard told.count < Self.mostRemembered else { return false }
            told[key] = now
            return true
        }
        if isNew { notify("passdir", sentence) }
    }
}
