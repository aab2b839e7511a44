/// Which signatures were found good, and while what. `.gpg-id` is verified at every save.
struct VerifiedSignatures {
    /// What was verified.
    struct Question: Hashable {
        let signature: [UInt8]
        let data: [UInt8]

        /// Files of other sizes are no `.gpg-id`.
        var isSmall: Bool { signature.count + data.count <= 65_536 }
    }

    struct Answer {
        let signers: [Fingerprint]
        /// When gpg was asked, in seconds since 1970: a clock that went back may be before the signature.
        let since: Int64
        /// The first moment at which a key or signature that played a part expires.
        let until: Int64?

        func holds(at now: Int64) -> Bool { now >= since && until.map { now < $0 } ?? true }
    }

    private var home: HomeIdentity?
    private var answers: [Question: Answer] = [:]

    /// Who signed, when the home is still as it was.
    func signers(_ question: Question, home: HomeIdentity, now: Int64) -> [Fingerprint]? {
        guard self.home == home, let answer = answers[question], answer.holds(at: now) else { return nil }
        return answer.signers
    }

    mutating func remember(_ answer: Answer, for question: Question, home: HomeIdentity) {
        if self.home != home || answers.count >= 256 { answers = [:] }
        self.home = home
        answers[question] = answer
    }
}
