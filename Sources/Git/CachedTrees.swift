/// The `TREE` extension of an index: for each folder the tree that `git write-tree` would write, and how many entries
/// it covers, in the order of a walk: a name, a zero, the number of entries (-1: not valid), a space, the number of
/// folders in it, a newline, the tree's name if it is valid.
struct CachedTrees {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var output: [UInt8] = []

    /// The extension without the trees of the folders that hold one of the paths, as git leaves it after `git add`:
    /// all others stay known. Nil when it cannot be read: it is then left out, and git makes it anew.
    static func invalidated(_ bytes: UnsafeRawBufferPointer, touching paths: [[UInt8]]) -> [UInt8]? {
        var trees = CachedTrees(bytes: bytes)
        trees.output.reserveCapacity(bytes.count)
        guard trees.copyFolder(paths.map { $0[...] }, depth: 0), trees.position == bytes.count else {
            return nil
        }
        return trees.output
    }

    private init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// One folder and what is in it.
    /// - Parameter paths: those below the folder, without its name.
    private mutating func copyFolder(_ paths: [ArraySlice<UInt8>], depth: Int) -> Bool {
        // Deeper than any path of a file system.
        guard depth < 4096, let name = field(endingAt: 0), let entries = number(endingAt: UInt8(ascii: " ")),
            var folders = number(endingAt: UInt8(ascii: "\n")), entries >= -1, folders >= 0
        else {
            return false
        }
        let isKept = entries >= 0 && paths.isEmpty
        let start = output.count
        let object = entries >= 0 ? 20 : 0
        guard bytes.count - position >= object else { return false }
        let tree = position..<(position + object)
        position += object
        var inside: [UInt8] = []
        swap(&inside, &output)
        for _ in 0..<folders {
            guard let name = peekedName() else { return false }
            // A file takes the folder's name.
            let isReplaced = paths.contains { $0.elementsEqual(name) }
            let before = output.count
            guard copyFolder(below(name, paths), depth: depth + 1) else { return false }
            if isReplaced {
                output.removeLast(output.count - before)
                folders -= 1
            }
        }
        swap(&inside, &output)
        assert(output.count == start)
        output += name
        output.append(0)
        output += "\(isKept ? entries : -1) \(folders)\n".utf8
        if isKept { output += bytes[tree] }
        output += inside
        return true
    }

    private func below(_ name: UnsafeRawBufferPointer, _ paths: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>] {
        if paths.isEmpty { return [] }
        return paths.filter {
            $0.count > name.count && $0[$0.startIndex + name.count] == UInt8(ascii: "/")
                && $0.starts(with: name)
        }.map { $0.dropFirst(name.count + 1) }
    }

    private func peekedName() -> UnsafeRawBufferPointer? {
        var copy = self
        return copy.field(endingAt: 0)
    }

    private mutating func field(endingAt end: UInt8) -> UnsafeRawBufferPointer? {
        guard let found = bytes[position...].firstIndex(of: end) else { return nil }
        defer { position = found + 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<found])
    }

    private mutating func number(endingAt end: UInt8) -> Int? {
        field(endingAt: end).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
}
