import System
import SystemPackage

@testable import Git

extension FuzzTarget {
    /// git's index, which we patch over its bytes.
    static let index = FuzzTarget(
        name: "index", most: 1 << 15,
        tokens: [
            "DIRC", "TREE", "REUC", "UNTR", "EOIE", "link", "sdir", "\0\0\0\u{2}", "\0\0\0\u{4}", "a/b", "/",
            "-1 0\n", "3 1\n", "99999999999999999999 1\n", "\u{7f}", "a\0-1 1\n",
        ],
        item: { FuzzIndex.bytes(&$0) },
        repair: { bytes, random in
            // Without its checksum right, nothing of it would be read.
            guard bytes.count > 32, !random.once(in: 32) else { return bytes }
            return Array(bytes.dropLast(20)) + FuzzIndex.checksum(Array(bytes.dropLast(20)))
        },
        read: { input, random in try patch(input, &random) })

    private static func patch(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        let edits = FuzzIndex.edits(&random)
        let patched = try input.withGuarded { bytes -> [UInt8]? in
            do throws(GitError) {
                let patch = try IndexPatch(bytes, written: IndexTime(seconds: 1000, nanoseconds: 0), edits)
                return patch.bytes(checksum: try patch.checksum())
            } catch {
                if error.code != .corrupt, error.code != .unsupported { throw error }
                return nil
            }
        }
        // Only what git can read is ours to keep readable.
        guard let patched, random.once(in: 8), let before = FuzzIndex.names(try input.write(to: "index"))
        else {
            return
        }
        try claim(FuzzIndex.isInOrder(before), "what is out of order is patched: \(FuzzIndex.shown(before))")
        let path = try input.write(to: "index", patched)
        guard let after = FuzzIndex.names(path) else { throw FuzzFinding("git cannot read the new index") }
        let other = try input.write(to: "index")
        guard FuzzIndex.applyByLibGit2(edits, to: other), let expected = FuzzIndex.names(other) else {
            return
        }
        // What git would not have written, libgit2 puts right in its own way.
        let put = edits.filter { $0.entry != nil }.map { FuzzIndex.name($0.path.bytes, 0) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        guard FuzzIndex.isSound(before), FuzzIndex.isSound(put), FuzzIndex.isSound(expected) else {
            return
        }
        try claim(
            after == expected,
            "the index has \(FuzzIndex.shown(after)), libgit2 makes \(FuzzIndex.shown(expected)) of "
                + "\(FuzzIndex.shown(before))")
    }
}

extension IndexPatch {
    /// The whole new index.
    fileprivate func bytes(checksum: [UInt8]) -> [UInt8] { pieces.flatMap { Array($0) } + checksum }
}
