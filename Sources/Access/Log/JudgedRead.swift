/// A reader, what it reads, and what the rules say of that. An object, so that one that reads the same again and again is known
/// by it at once.
final class JudgedRead: Sendable {
    let reader: Reader
    let secret: String
    let decision: Decision

    init(_ reader: Reader, _ secret: String, _ decision: Decision) {
        (self.reader, self.secret, self.decision) = (reader, secret, decision)
    }

    /// Whether two are of one run of a program, and tell the same.
    func isLike(_ other: JudgedRead) -> Bool {
        self === other
            || reader.process == other.reader.process && reader.startTime == other.reader.startTime
                && reader.program == other.reader.program && reader.command == other.reader.command
                && secret == other.secret && decision == other.decision
    }
}
