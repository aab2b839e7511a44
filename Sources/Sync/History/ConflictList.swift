import Git
public import Stores
import System
public import SystemPackage

/// The conflicts of a store that nobody has settled: files named `NAME.conflict-HOST-DATE` beside their originals.
///
/// They are found by their names, so that those another machine made are listed too, and one is settled when its file
/// is gone.
public struct ConflictList: Sendable {
    /// One conflict.
    public struct Entry: Sendable, Equatable {
        /// The file with the version that lost the name, relative to the store.
        public var path: FilePath
        /// The file that has the name.
        public var original: FilePath
        /// Whether `original` was found by the beginning of its name, which is all that the conflict's holds.
        public var isNameCut: Bool { ConflictName.original(of: path) != original }
    }

    private static let fact = "conflicts"
    let store: Store

    /// The conflicts of a store.
    public init(_ store: Store) {
        self.store = store
    }

    /// The file that a conflict's file lies beside; nil for any other file. What others push may be called as if it were a
    /// version of `.git`: that is none.
    static func original(
        of path: FilePath, among entries: () -> [DirectoryEntry] = { [] }
    ) -> FilePath? {
        guard let original = ConflictName.original(of: path, among: entries), !original.hasForbiddenName
        else { return nil }
        return original
    }

    /// Looks through the whole store; costs as much as `find`.
    public func find() -> [Entry] {
        var found: [Entry] = []
        var open: [FilePath] = [FilePath()]
        while let folder = open.popLast() {
            guard let entries = try? store.root.entries(of: folder) else { continue }
            for entry in entries {
                let path = folder.appending(entry.name)
                if entry.kind == .directory, entry.name != ".git" { open.append(path) }
                guard entry.kind == .regular,
                    let original = Self.original(of: path, among: { entries })
                else { continue }
                found.append(Entry(path: path, original: original))
            }
        }
        return found.sorted { $0.path.string < $1.path.string }
    }

    /// More are not noted: others may push any number, and `find` has them all.
    private static let mostNoted = 1000

    /// Those that merges of this machine made or brought and that are still there; cheap.
    public var known: [FilePath] {
        (store.fact(Self.fact) ?? "").split(separator: "\n").map { FilePath(bytes: PercentText.decoded($0)) }
            .filter { exists($0) }
    }

    private func exists(_ path: FilePath) -> Bool {
        (try? store.root.status(of: path)) != nil
    }

    func add(_ paths: [FilePath]) {
        let before = known
        let noted = before + Set(paths).subtracting(before).sorted { $0.string < $1.string }
        let lines = noted.prefix(Self.mostNoted).map { PercentText.encoded($0.bytes) }
        store.remember(lines.joined(separator: "\n"), as: Self.fact)
    }
}
