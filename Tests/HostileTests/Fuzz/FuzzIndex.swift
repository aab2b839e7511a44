import CGit
import Glibc
import SystemPackage

@testable import Git

/// Indexes for the fuzzer (gitformat-index), written without git.
enum FuzzIndex {
    private static let names = ["a-b", "a.gpg", "a/b.gpg", "a/b/c.gpg", "a/b0", "b", "mail/x.gpg", "z/y/x/w"]

    /// Names that git never gives to an entry.
    private static let odd = [
        "", ".", "..", ".git", ".GIT/config", "a/.git/config", "a//b", "/a", "../a", "a/./b", "b\0b", "c\0",
    ]

    static func bytes(_ random: inout FuzzRandom) -> [UInt8] {
        let version = UInt32(2 + random.below(3))
        var chosen = names.filter { _ in !random.once(in: 3) }
        if random.once(in: 6) { chosen.append("zz/" + String(repeating: "long", count: 1100)) }
        if random.once(in: 8) {
            chosen.append(random.pick(odd + names))
            if random.once(in: 2) { chosen.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
        }
        var entries: [UInt8] = []
        var before: [UInt8] = []
        for name in chosen { entries += entry(Array(name.utf8), &before, version, &random) }
        var bytes = Array("DIRC".utf8) + octets(version) + octets(UInt32(chosen.count)) + entries
        if random.once(in: 2) { bytes += part("TREE", tree("", 2, &random)) }
        if random.once(in: 4) {
            bytes += part("REUC", Array("a\0100644\u{0}100644\u{0}0\u{0}".utf8) + random.bytes(40))
        }
        if random.once(in: 4) { bytes += part("UNTR", random.bytes(random.below(60))) }
        if random.once(in: 4) { bytes += part("EOIE", octets(UInt32(bytes.count)) + random.bytes(20)) }
        if random.once(in: 16) { return bytes + [UInt8](repeating: 0, count: 20) }
        return bytes + checksum(bytes)
    }

    private static func entry(
        _ name: [UInt8], _ before: inout [UInt8], _ version: UInt32, _ random: inout FuzzRandom
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in [900 + random.below(200), 0, 900 + random.below(200), 0, 1, 2, 0o100644, 3, 4, 5] {
            bytes += octets(UInt32(number))
        }
        bytes += random.bytes(20)
        let isExtended = version == 3 && random.once(in: 2)
        let length = random.once(in: 100) ? random.pick([0, 1, name.count + 1, 0xffe, 0xfff]) : name.count
        let stage = random.once(in: 40) ? UInt16(random.below(4)) : 0
        let flags = UInt16(min(length, 0xfff)) | (isExtended ? 0x4000 : 0) | stage << 12
        bytes += [UInt8(flags >> 8), UInt8(flags & 0xff)]
        if isExtended { bytes += [random.once(in: 2) ? 0x20 : 0x40, 0] }
        defer { before = name }
        guard version == 4 else {
            bytes += name
            return bytes + [UInt8](repeating: 0, count: 8 - bytes.count % 8)
        }
        let common = zip(name, before).prefix { $0 == $1 }.count
        var rest = before.count - common
        var number = [UInt8(rest & 0x7f)]
        while rest >> 7 != 0 {
            rest = rest >> 7 - 1
            number.append(0x80 | UInt8(rest & 0x7f))
        }
        return bytes + number.reversed() + name[common...] + [0]
    }

    /// The extension of known trees: a folder and those in it.
    private static func tree(_ name: String, _ depth: Int, _ random: inout FuzzRandom) -> [UInt8] {
        let folders = depth > 0 ? random.below(3) : 0
        let isKnown = !random.once(in: 4)
        var bytes = Array("\(name)\0\(isKnown ? 3 : -1) \(folders)\n".utf8)
        if isKnown { bytes += random.bytes(20) }
        for folder in 0..<folders { bytes += tree(["a", "b", "mail"][folder], depth - 1, &random) }
        return bytes
    }

    private static func part(_ signature: String, _ content: [UInt8]) -> [UInt8] {
        Array(signature.utf8) + octets(UInt32(content.count)) + content
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        guard let checksum = try? IndexChecksum() else { return [] }
        bytes.withUnsafeBytes { checksum.add($0) }
        return checksum.result()
    }

    /// What a commit of ours changes: each path once.
    static func edits(_ random: inout FuzzRandom) -> [IndexEdit] {
        let paths = Set(
            (0..<1 + random.below(3)).map { _ in
                random.pick(names + ["a", "a/b", "new.gpg", "a/b/c/d.gpg"])
            })
        return paths.sorted().map { path in
            guard !random.once(in: 3), let id = ObjectID(bytes: random.bytes(20)) else {
                return IndexEdit(path: FilePath(path), entry: nil)
            }
            let blob = TreeEntry(id: id, mode: GIT_FILEMODE_BLOB)
            return IndexEdit(path: FilePath(path), entry: IndexEntry(blob, stat: nil, readAt: timespec()))
        }
    }

    /// Whether git could have written an index with these names and stages: in order, none twice, none that is a file and
    /// a folder.
    static func isSound(_ names: [[UInt8]]) -> Bool {
        let files = Set(names.map { Array($0.dropLast(2)) })
        let slash = UInt8(ascii: "/")
        let folders = files.flatMap { name in
            name.indices.filter { name[$0] == slash }.map { Array(name[..<$0]) }
        }
        let isComplete = files.allSatisfy {
            !$0.split(separator: slash, omittingEmptySubsequences: false).contains([])
        }
        return isInOrder(names) && isComplete && files.isDisjoint(with: folders)
    }

    /// Whether each name and stage comes behind the one before it.
    static func isInOrder(_ names: [[UInt8]]) -> Bool {
        zip(names, names.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
    }

    /// Names and stages as libgit2 reads them, each a name, a zero and the digit of the stage; nil when it cannot.
    static func names(_ index: FilePath) -> [[UInt8]]? {
        LibGit2.start()
        var made: OpaquePointer?
        guard index.withPlatformString({ git_index_open(&made, $0) }) == 0, let made else { return nil }
        defer { git_index_free(made) }
        return (0..<git_index_entrycount(made)).compactMap { place in
            guard let entry = git_index_get_byindex(made, place) else { return nil }
            return name(
                UnsafeRawBufferPointer(start: entry.pointee.path, count: strlen(entry.pointee.path)),
                Int(git_index_entry_stage(entry)))
        }
    }

    /// Makes the edits in a file as libgit2 does; false where it cannot.
    static func applyByLibGit2(_ edits: [IndexEdit], to index: FilePath) -> Bool {
        var made: OpaquePointer?
        guard index.withPlatformString({ git_index_open(&made, $0) }) == 0, let made else { return false }
        defer { git_index_free(made) }
        for edit in edits {
            let code = edit.path.withPlatformString { name in
                git_index_conflict_remove(made, name)
                guard let new = edit.entry else { return git_index_remove(made, name, 0) }
                var entry = git_index_entry()
                (entry.id, entry.mode, entry.path) = (new.blob.id.oid, new.blob.mode.rawValue, name)
                return git_index_add(made, &entry)
            }
            guard code == 0 || code == GIT_ENOTFOUND.rawValue else { return false }
        }
        return git_index_write(made) == 0
    }

    static func name(_ name: some Sequence<UInt8>, _ stage: Int) -> [UInt8] {
        Array(name) + [0, UInt8(ascii: "0") + UInt8(stage)]
    }

    /// For a sentence.
    static func shown(_ names: [[UInt8]]) -> [String] { names.map { String(decoding: $0, as: UTF8.self) } }
}
