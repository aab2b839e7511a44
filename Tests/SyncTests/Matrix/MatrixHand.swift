import Glibc
import OpenPGP
import System
import SystemPackage
import TestKit

@testable import Git
@testable import Stores
@testable import Sync

/// What the matrix knows of the texts that were written: the tokens of each blob, by its id.
///
/// A token is a line that no other text has, or a whole binary content: what must be found again.
final class MatrixTexts {
    private(set) var tokens: [String: Set<String>] = [:]

    func note(_ content: [UInt8], storedAs bytes: [UInt8]) throws {
        tokens[try Self.blobID(of: bytes)] = Self.tokens(of: content)
    }

    func note(_ found: Set<String>, ofBlob id: String) {
        tokens[id] = found
    }

    static func tokens(of content: [UInt8]) -> Set<String> {
        if content.contains(0) { return [content.map { String($0, radix: 16) }.joined(separator: " ")] }
        // A carriage return is part of its line: what becomes of it shows.
        return Set(content.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) })
    }

    private static func blobID(of bytes: [UInt8]) throws -> String {
        let checksum = try IndexChecksum()
        (Array("blob \(bytes.count)\0".utf8) + bytes).withUnsafeBytes { checksum.add($0) }
        return checksum.result().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A machine's hand in one cell of the matrix: a folder in which nobody else works. Paths are relative to it and as on
/// disk.
struct MatrixHand {
    let machine: Machine
    /// The name of the cell's folder.
    let cell: String
    /// Whose lines these are.
    let writer: String
    /// The fingerprints of three keys.
    let keys: [String]
    let texts: MatrixTexts

    private var root: Root { machine.store.root }

    private func place(_ name: String) -> FilePath { FilePath(cell).pushing(FilePath(name)) }

    /// The five lines that a file holds at first.
    func lines(_ name: String) -> [String] { (0..<5).map { "\(cell) \(name) \($0)" } }

    /// The lines with one of them changed.
    func changed(_ name: String, _ line: Int) -> String {
        var lines = lines(name)
        lines[line] = "\(cell) \(writer) \(name) \(line)"
        return text(lines)
    }

    func text(_ lines: [String], _ end: String = "\n") -> String { lines.map { $0 + end }.joined() }

    /// Lines that nobody else writes.
    func own(_ name: String) -> String { text((0..<3).map { "\(cell) \(writer) own \(name) \($0)" }) }

    func binary(_ name: String) -> [UInt8] {
        [0, 1, 255] + Array("\(cell) \(writer) \(name)".utf8) + [0, 10, 13]
    }

    // MARK: deeds

    private func makeFolders(above path: FilePath) {
        var folder = FilePath()
        for component in path.removingLastComponent().components {
            folder.append(component)
            try? root.makeDirectory(folder)
        }
    }

    /// Saves a secret; its name is without the last `.gpg`.
    func save(_ name: String, _ content: [UInt8]) throws {
        let path = place(name + ".gpg")
        makeFolders(above: path)
        let secret = try content.withUnsafeBytes { try SecretBytes(copying: $0) }
        _ = try machine.store.stage(secret, for: path).publish(as: path)
        try texts.note(content, storedAs: try bytes(path))
        machine.committer.note(.saved(path))
    }

    func save(_ name: String, _ content: String) throws { try save(name, Array(content.utf8)) }

    /// Saves a secret with one line of what `original` was at first changed.
    func edit(_ name: String, of original: String? = nil, _ line: Int) throws {
        try save(name, changed(original ?? name, line))
    }

    func plain(_ name: String, _ content: [UInt8], mode: mode_t = 0o644) throws {
        let path = place(name)
        makeFolders(above: path)
        let file = try FileDescriptor.open(
            machine.path.pushing(path), .writeOnly, options: [.create, .truncate],
            permissions: .init(rawValue: mode))
        try file.closeAfter { _ = try file.writeAll(content) }
        try texts.note(content, storedAs: content)
        machine.committer.note(.saved(path))
    }

    func plain(_ name: String, _ content: String, mode: mode_t = 0o644) throws {
        try plain(name, Array(content.utf8), mode: mode)
    }

    func mode(_ name: String, _ mode: mode_t) throws {
        guard chmod(machine.path.pushing(place(name)).string, mode) == 0 else { throw Errno(rawValue: errno) }
        machine.committer.note(.saved(place(name)))
    }

    func link(_ name: String, to target: String) throws {
        makeFolders(above: place(name))
        try root.makeSymbolicLink(place(name), to: Array(target.utf8))
        machine.committer.note(.saved(place(name)))
    }

    func remove(_ name: String) throws {
        try root.unlink(place(name))
        machine.committer.note(.removed(place(name)))
    }

    func removeFolder(_ name: String) throws {
        for path in try files(below: place(name)) {
            try root.unlink(path)
            machine.committer.note(.removed(path))
        }
        try machine.home.succeed(["rm", "-r", machine.path.pushing(place(name)).string])
    }

    func rename(_ from: String, to: String) throws {
        makeFolders(above: place(to))
        try root.rename(place(from), to: place(to))
        machine.committer.note(.renamed(from: place(from), to: place(to)))
    }

    func exchange(_ one: String, _ other: String) throws {
        try root.rename(place(one), to: place(other), flags: .exchange)
        for name in [one, other] { machine.committer.note(.saved(place(name))) }
    }

    func copy(_ from: String, to: String) throws {
        makeFolders(above: place(to))
        let source = machine.path.pushing(place(from)).string
        try machine.home.succeed(["cp", "-r", source, machine.path.pushing(place(to)).string])
        machine.committer.note(.saved(place(to)))
    }

    /// Gives a folder of the cell a list, and encrypts anew what is below: `names`, by what they were at first.
    func recipients(_ folder: String, _ list: [String], _ names: [String]) throws {
        try plain(folder + ".gpg-id", text(list))
        for name in names { try save(folder + name, text(lines(folder + name))) }
    }

    private func bytes(_ path: FilePath) throws -> [UInt8] {
        try machine.home.bytes(at: machine.path.pushing(path))
    }

    private func files(below folder: FilePath) throws -> [FilePath] {
        try root.entries(of: folder).flatMap { entry in
            let path = folder.appending(entry.name)
            return entry.kind == .directory ? try files(below: path) : [path]
        }
    }
}
