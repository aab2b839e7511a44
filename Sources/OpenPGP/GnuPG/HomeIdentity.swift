import Glibc
import System
import SystemPackage

/// What the files of a GnuPG home look like from outside; while it is the same, what was learned of keys holds.
struct HomeIdentity: Equatable {
    private let files: [FileIdentity?]

    /// Looks at the files now.
    init(_ paths: [String]) {
        files = paths.map { FilePath($0).targetFacts().map(FileIdentity.init) }
    }

    /// The files that count in a home: the keyrings, the trust in them, who has secret keys, and the groups.
    /// - Parameter others: More files that count.
    static func paths(in home: FilePath, _ others: [String]) -> [String] {
        let names = ["pubring.kbx", "pubring.gpg", "trustdb.gpg", "private-keys-v1.d"]
        let usual = [home.appending("gpg.conf").string, "/etc/gnupg/gpg.conf"]
        return names.map { home.appending($0).string } + usual + others.filter { !usual.contains($0) }
    }
}

/// What was learned while the files of a home look the same, and nothing that played a part has expired.
struct HomeCache<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    private struct Dated: Sendable {
        let answer: Answer
        /// When gpg was asked, in seconds since 1970: a clock that went back may be before a signature.
        let since: Int64
        /// The first moment at which something expires.
        let until: Int64?
    }

    /// Questions come from files that others may write: beyond so many, all is forgotten.
    let limit: Int
    private var home: HomeIdentity?
    private var answers: [Question: Dated] = [:]

    init(limit: Int) { self.limit = limit }

    func answer(_ question: Question, home: HomeIdentity, now: Int64) -> Answer? {
        guard self.home == home, let known = answers[question], known.since <= now,
            known.until.map({ now < $0 }) ?? true
        else { return nil }
        return known.answer
    }

    /// - Parameter expiries: the moments at which something expires that played a part; those that are over do not count.
    mutating func remember(
        _ answer: Answer, for question: Question, home: HomeIdentity, now: Int64, expiries: [Int64] = []
    ) {
        if self.home != home || answers.count >= limit { answers = [:] }
        self.home = home
        answers[question] = Dated(answer: answer, since: now, until: expiries.filter { $0 > now }.min())
    }
}
