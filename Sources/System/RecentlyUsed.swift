/// What was used lately, up to a weight: beyond that, what was not used for the longest goes.
public struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Kept: Sendable {
        var value: Value
        var weight: Int
        var use: UInt64
    }

    private let limit: Int
    private var kept: [Key: Kept] = [:]
    private var weight = 0
    private var uses: UInt64 = 0

    /// - Parameter limit: the weight of all that is kept together.
    public init(limit: Int) { self.limit = limit }

    /// Finds what is kept under a key, which is used by that.
    public mutating func find(_ key: Key) -> Value? {
        uses += 1
        kept[key]?.use = uses
        return kept[key]?.value
    }

    /// Keeps a value in place of any other of its key; one that is heavier than all that may be kept is not.
    public mutating func keep(_ value: Value, for key: Key, weight: Int = 1) {
        remove(key)
        guard weight <= limit else { return }
        uses += 1
        kept[key] = Kept(value: value, weight: weight, use: uses)
        self.weight += weight
        while self.weight > limit, let oldest = kept.min(by: { $0.value.use < $1.value.use }) {
            remove(oldest.key)
        }
    }

    /// Forgets what is kept under a key.
    public mutating func remove(_ key: Key) {
        weight -= kept.removeValue(forKey: key)?.weight ?? 0
    }
}
