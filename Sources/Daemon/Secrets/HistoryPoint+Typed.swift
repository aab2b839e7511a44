public import Sync

extension HistoryPoint {
    /// What people mean by what they type: a day or time where it can be read as one, else a name that git knows.
    public init(typed: String) {
        guard let moment = Timestamp(typed: typed) else {
            self = .named(typed)
            return
        }
        // Which 10:30 is meant, or when two hours ago was, is for us to say.
        let isWhole = typed.hasPrefix(moment.local.prefix(10)) || Timestamp(typed) != nil
        self = .at(moment.seconds, typed: isWhole ? typed : "\(typed) (\(moment.local))")
    }
}
