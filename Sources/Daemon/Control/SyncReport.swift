/// How a store and its remote came together.
public struct SyncReport: Codable, Sendable, Equatable {
    /// The store's name.
    public var name: String
    /// Why they did not, as one sentence; nil when they are in step, or there is no remote.
    public var error: String?
    /// What became of the user's choice between two histories; sentences without a full stop.
    public var chosen: [String] = []
    /// Why there is nothing to be in step with; a sentence without a full stop, nil where there is a remote.
    public var note: String?
    /// The conflict files that nobody has settled, as the mount shows them and relative to the store.
    public var conflicts: [String] = []
    /// The conflict files that were made meanwhile, likewise.
    public var newConflicts: [String] = []
    /// The secrets that a merge has left encrypted to others than their recipients, likewise; nil where an older daemon tells.
    public var drift: [String]?
    /// The lists that others have changed and by which nothing is encrypted before the user has approved them; nil where an older
    /// daemon tells.
    public var unapproved: [String]?

    /// Writes all keys, but for `note` where there is none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(error, forKey: .error)
        try container.encode(chosen, forKey: .chosen)
        try container.encodeIfPresent(note, forKey: .note)
        try container.encode(conflicts, forKey: .conflicts)
        try container.encode(newConflicts, forKey: .newConflicts)
        try container.encode(drift ?? [], forKey: .drift)
        try container.encode(unapproved ?? [], forKey: .unapproved)
    }
}
