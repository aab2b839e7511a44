public import System

/// What is to be said of the passwords of stores: names, moments and words, and nothing that they could be guessed from.
public struct HealthReport: Sendable {
    /// What is wrong with a password, the worst first.
    public enum Finding: String, Sendable, CaseIterable {
        /// It is in the list of breaches.
        case breached
        /// The last day of its `expires:` field is over.
        case expired
        /// Its `rotate:` field, or the rule of its folder, says that it is to be changed.
        case due
        /// It stands fewer than `HealthCheck.weakBelow` guesses.
        case weak
        /// Another secret has the same.
        case reused
        /// Somebody could read it until a change of recipients.
        case exposed
        /// Neither a `rotate:` field nor a rule is for it, and it was not changed for long.
        case old
        /// Its `expires:` or `rotate:` field holds no day or period.
        case unclear
    }

    /// A secret that was looked at.
    public struct Entry: Sendable {
        /// The store's name.
        public let store: String
        /// The path in it, as the mount shows it.
        public let path: String
        /// When the password was changed last, in seconds since 1970; nil where nothing tells.
        public internal(set) var changed: Int64?
        /// The last day on which it serves, by its `expires:` field; nil without one, and where names only were looked at.
        public internal(set) var expires: CalendarDay?
        /// When it is to be changed, by its `rotate:` field or the rule of its folder, in seconds since 1970; nil where nothing
        /// says so.
        public internal(set) var due: Int64?
        /// What is wrong with it, the worst first.
        public internal(set) var findings: [Finding] = []
        /// How strong it is, from 0 to 4; nil without a password, and where names only were looked at. The number of guesses
        /// is left out: it would tell a common password from others.
        public internal(set) var score: Int?
        /// The others with the same password, as STORE/PATH.
        public internal(set) var sameAs: [String] = []
        /// Who could read it, and may know it still, as people call them.
        public internal(set) var exposedTo: [String] = []

        /// STORE/PATH.
        public var name: String { "\(store)/\(path)" }

        /// The first of the two days that it may have.
        var deadline: (day: CalendarDay, expires: Bool)? {
            let due = due.map { CalendarDay(containing: $0) }
            guard let first = [expires, due].compactMap(\.self).min(by: { $0.start < $1.start }) else {
                return nil
            }
            return (first, first == expires)
        }

        /// Until when it serves, as the rest of a sentence; nil where that is over, or further away than `HealthReport.soon`.
        /// - Parameter now: in seconds since 1970.
        public func nearDeadline(at now: Int64) -> String? {
            guard let (day, expires) = deadline, day.end > now, day.end - now < HealthReport.soon else {
                return nil
            }
            return (expires ? "expires on " : "is to be changed by ") + day.description
        }
    }

    /// How long before its end a password is told of, in seconds.
    static let soon: Int64 = 14 * 86400

    /// A secret that was not looked at.
    public struct Unread: Sendable {
        /// STORE/PATH.
        public let name: String
        /// Why, as a sentence without a full stop.
        public let reason: String
    }

    /// The secrets that were looked at, in the order of the stores and of their names.
    public internal(set) var entries: [Entry] = []
    /// Who could once read what.
    public internal(set) var formerReaders: [FormerReader] = []
    /// Those that were not.
    public internal(set) var unread: [Unread] = []
    /// Of each store that could not be looked at, why.
    public internal(set) var complaints: [String] = []

    /// Whether everything was looked at, and nothing was found.
    public var isSound: Bool {
        unread.isEmpty && complaints.isEmpty && formerReaders.allSatisfy(\.exposed.isEmpty)
            && entries.allSatisfy(\.findings.isEmpty)
    }
}
