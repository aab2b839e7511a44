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
}
