extension Int {
    /// As people say how many there are: "1 secret", "3 secrets".
    /// - Parameter noun: in the singular; its plural ends with an s.
    public func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }
}
