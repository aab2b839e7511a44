import SystemPackage

extension [TreeDifference] {
    /// The files that went in a step, by their contents: one that came with the same content is likely to be one of them renamed.
    var goneByContent: [ObjectID: FilePath] {
        Dictionary(
            compactMap { difference in
                guard difference.new == nil, let old = difference.old else { return nil }
                return (old.id, difference.path)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The files that went in a step and came under no other name, with what they held.
    var removed: [FilePath: ObjectID] {
        let came = Set(compactMap { $0.old == nil ? $0.new?.id : nil })
        return Dictionary(
            compactMap { difference in
                guard difference.new == nil, let old = difference.old, !came.contains(old.id) else {
                    return nil
                }
                return (difference.path, old.id)
            }, uniquingKeysWith: { first, _ in first })
    }
}
