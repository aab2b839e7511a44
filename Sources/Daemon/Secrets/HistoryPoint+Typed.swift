public import Sync

extension HistoryPoint {
    /// What people mean by what they type: a day or time, else a name that git knows.
    public init(typed: String) {
        self = Timestamp(typed: typed).map { .at($0.seconds, typed: typed) } ?? .named(typed)
    }
}
