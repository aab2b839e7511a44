import System

/// What of a store's folder exists nowhere else: what would be lost with it.
///
/// Something counts as existing elsewhere only when a remote, asked at this moment, says that it has a commit that leads
/// to it. Whatever is not understood counts as existing nowhere else.
public struct UnsharedWork: Sendable, Equatable {
    /// Each a line: a stash, a commit, a file, a repository.
    public private(set) var items: [String] = []

    /// Nothing.
    public init() {}

    /// Nothing would be lost.
    public var isEmpty: Bool { items.isEmpty }

    /// What is printed: the first items, and how many more there are.
    public func lines(atMost limit: Int = 20) -> [String] {
        guard items.count > limit else { return items }
        return items.prefix(limit) + ["and \(items.count - limit) more"]
    }

    /// File names and commit messages are written by others.
    mutating func add(_ item: String) { items.append(VisibleText.line(item)) }

    /// The first place goes to what explains the others.
    mutating func addFirst(_ item: String) { items.insert(VisibleText.line(item), at: 0) }
}
