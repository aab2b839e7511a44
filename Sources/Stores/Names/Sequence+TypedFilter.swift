extension Sequence {
    /// `filter` that keeps the type of the error.
    func picking<E: Error>(_ isWanted: (Element) throws(E) -> Bool) throws(E) -> [Element] {
        var picked: [Element] = []
        for element in self where try isWanted(element) { picked.append(element) }
        return picked
    }
}
