import Glibc
import System
import SystemPackage

/// What the files of a GnuPG home look like from outside; while it is the same, what was learned of keys holds.
struct HomeIdentity: Equatable {
    private let files: [FileIdentity?]

    /// Looks at the files now.
    init(_ paths: [String]) {
        files = paths.map { path in
            var facts = stat()
            return stat(path, &facts) == 0 ? FileIdentity(facts) : nil
        }
    }

    /// The files that count in a home: the keyrings, the trust in them, who has secret keys, and the groups.
    /// - Parameter others: More files that count.
    static func paths(in home: FilePath, _ others: [String]) -> [String] {
        let names = ["pubring.kbx", "pubring.gpg", "trustdb.gpg", "private-keys-v1.d"]
        let usual = [home.appending("gpg.conf").string, "/etc/gnupg/gpg.conf"]
        return names.map { home.appending($0).string } + usual + others.filter { !usual.contains($0) }
    }
}

/// What recipient lines were resolved to, and while what.
struct ResolvedLines {
    struct Answer {
        let recipients: [Recipient]
        /// The first moment, in seconds since 1970, at which a key that played a part expires.
        let until: Int64?
    }
    private(set) var home: HomeIdentity?
    private(set) var groups: [String: [String]]?
    private var answers: [String: Answer] = [:]

    /// What is known of `line`, when the home is still as it was.
    mutating func answer(_ line: String, home: HomeIdentity, now: Int64) -> [Recipient]? {
        guard self.home == home, let answer = answers[line] else { return nil }
        if let until = answer.until, until <= now { return nil }
        return answer.recipients
    }

    mutating func remember(_ answer: Answer, for line: String, home: HomeIdentity) {
        renew(home)
        // Lines come from files that others may write.
        if answers.count >= 10_000 { answers = [:] }
        answers[line] = answer
    }

    mutating func remember(groups: [String: [String]], home: HomeIdentity) {
        renew(home)
        self.groups = groups
    }

    private mutating func renew(_ home: HomeIdentity) {
        guard self.home != home else { return }
        self = ResolvedLines()
        self.home = home
    }
}
