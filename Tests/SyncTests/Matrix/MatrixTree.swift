import SystemPackage
import TestKit

@testable import Sync

/// What a commit holds, cell by cell.
struct MatrixTree {
    struct Item: Equatable {
        var mode: String
        var blob: String
        var isFile: Bool { mode.hasPrefix("100") }
    }

    /// By the cell, then by the path in it.
    private(set) var cells: [String: [String: Item]] = [:]

    init(_ commit: String, of machine: Machine) throws {
        let listing = try machine.home.succeed(["git", "ls-tree", "-r", "-z", commit], in: machine.path)
        for line in listing.split(separator: 0) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: "\t", maxSplits: 1)
            let words = parts[0].split(separator: " ")
            let path = parts[1].split(separator: "/", maxSplits: 1)
            guard path.count == 2 else { continue }
            cells[String(path[0]), default: [:]][String(path[1])] = Item(
                mode: String(words[0]), blob: String(words[2]))
        }
    }

    /// Every blob, with whether it is a secret.
    var blobs: [String: Bool] {
        var blobs: [String: Bool] = [:]
        for (path, item) in cells.values.joined() where item.mode != "160000" {
            blobs[item.blob] = path.hasSuffix(".gpg") && item.isFile
        }
        return blobs
    }
}

extension MatrixTexts {
    /// Learns what blobs hold that a merge has written: `isSecret` by their ids.
    func learn(_ blobs: [String: Bool], from machine: Machine) throws {
        let unknown = blobs.filter { tokens[$0.key] == nil }
        guard !unknown.isEmpty else { return }
        let folder = "texts"
        let script = """
            mkdir -p "$0"
            while read -r id secret; do
                if [ "$secret" = true ]; then git cat-file blob "$id" >"$0/$id.gpg"
                else git cat-file blob "$id" >"$0/$id"; fi
            done
            cd "$0" && ls | grep '\\.gpg$' | xargs -r -n 200 gpg --batch --quiet --multifile --decrypt 2>/dev/null || :
            """
        let lines = unknown.map { "\($0.key) \($0.value)\n" }.joined()
        try machine.home.succeed(
            ["bash", "-c", script, machine.home.path(folder).string], input: Array(lines.utf8),
            in: machine.path,
            limit: .seconds(300))
        for (id, _) in unknown {
            // One that nobody can read holds what it held as a plain file.
            let content = (try? machine.home.bytes(of: "\(folder)/\(id)")) ?? []
            note(Self.tokens(of: content), ofBlob: id)
        }
        try machine.home.succeed(["rm", "-r", machine.home.path(folder).string])
    }

    func tokens(of cell: [String: MatrixTree.Item]?) -> Set<String> {
        var found: Set<String> = []
        for (path, item) in cell ?? [:] where !path.hasSuffix(".gpg-id") {
            found.formUnion(tokens[item.blob] ?? [])
        }
        return found
    }

    /// Of every blob that the branch leads to.
    func tokens(inHistoryOf machine: Machine) throws -> Set<String> {
        var blobs: [String: Bool] = [:]
        let listing = try machine.home.succeed(
            ["git", "rev-list", "--objects", "--filter=object:type=blob", "HEAD"], in: machine.path)
        for line in String(decoding: listing, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[1].contains("/") else { continue }
            blobs[String(parts[0])] = parts[1].hasSuffix(".gpg")
        }
        try learn(blobs, from: machine)
        return blobs.keys.reduce(into: []) { $0.formUnion(tokens[$1] ?? []) }
    }
}
