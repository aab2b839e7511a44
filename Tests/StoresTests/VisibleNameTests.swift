import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// How names on disk and in the mount belong together, for every folder of four names, each a file, a folder, a link or
/// nothing.
@Suite struct VisibleNameTests {
    private static let names: [FilePath.Component] = ["x", "x.gpg", "x.gpg.gpg", "y.gpg"]

    private func inEveryFolder(_ body: (FilePath, [DirectoryEntry]) throws -> Void) throws {
        let kinds: [EntryKind?] = [nil, .regular, .directory, .symbolicLink]
        try TestHome.with { home in
            for number in 0..<256 {
                let folder = home.path("f\(number)")
                try #require(mkdir(folder.string, 0o700) == 0)
                for (place, name) in Self.names.enumerated() {
                    let path = folder.appending(name).string
                    switch kinds[number >> (2 * place) & 3] {
                    case .regular: close(creat(path, 0o600))
                    case .directory: mkdir(path, 0o700)
                    case .symbolicLink: symlink("nowhere", path)
                    default: break
                    }
                }
                try body(folder, try Root(path: folder).entries(of: FilePath()))
            }
        }
    }

    @Test func everyEntryHasOneNameAndTheNameLeadsBack() throws {
        try inEveryFolder { folder, entries in
            let root = try Root(path: folder)
            let shown = VisibleName.visible(entries) { _ in false }
            #expect(
                shown.count == entries.count && Set(shown.map(\.name)).count == entries.count, "\(entries)")
            for entry in entries {
                let name = try #require(try VisibleName.ofEntry(entry.name, in: FilePath(), of: root))
                #expect(
                    try VisibleName.resolve(name, in: FilePath(), of: root)?.name == entry.name, "\(entries)")
                let path = FilePath(entry.name.string)
                let visible = VisibleName.visiblePath(of: path, in: root)
                #expect(visible == FilePath(name.string), "\(entries)")
                #expect(VisibleName.backingPath(of: visible, in: root) == path, "\(entries)")
            }
        }
    }

    /// The fast walk follows the same rule.
    @Test func theWalkOverNamesAgrees() throws {
        try inEveryFolder { folder, entries in
            let root = try Root(path: folder)
            let expected = try entries.filter {
                $0.kind != .directory && $0.name.strippingSuffix() != nil
            }.compactMap { try VisibleName.ofEntry($0.name, in: FilePath(), of: root)?.string }
            #expect(NameWalk.secrets(in: folder).sorted() == expected.sorted(), "\(entries)")
        }
    }

    /// A name of 255 bytes leaves room for the label, and no character is cut in two.
    @Test func theNameOfAConflictFits() throws {
        for name in ["a", String(repeating: "a", count: 251), String(repeating: "ä", count: 125) + "a"] {
            let path = ConflictName.path(beside: FilePath("f/\(name).gpg"), at: 0, attempt: 12)
            let last = try #require(path.lastComponent)
            #expect(last.byteCount <= 255 && last.strippingSuffix() != nil && String(validating: last) != nil)
            let original = try #require(ConflictName.original(of: path)?.lastComponent?.strippingSuffix())
            #expect(name.hasPrefix(original.string) && path.removingLastComponent() == "f")
        }
        let bytes = [UInt8](repeating: 0x80, count: 250)
        let odd = FilePath("f").appending(try #require(FilePath.Component(bytes: bytes)))
        let beside = try #require(ConflictName.path(beside: odd, at: 0, attempt: 0).lastComponent)
        #expect(beside.string == ".conflict-\(ConflictName.host)-19700101T000000Z")
        #expect(
            ConflictName.original(of: "f/a.gpg") == nil && ConflictName.original(of: "f/.conflict-h-1") == nil
        )
        #expect(ConflictName.original(of: "f/a.conflict-h-1.gpg") == "f/a.gpg")
        #expect(ConflictName.original(of: "f/a.conflict-h-1") == "f/a")
    }

    /// A name that was cut leads to the one name in its folder that it may have been, on disk and in the mount.
    @Test(arguments: ["a", "ä", "🔑"]) func theNameOfACutConflictLeadsBack(_ character: String) throws {
        let long = String(repeating: character, count: 251 / character.utf8.count)
        func entry(_ name: String) throws -> DirectoryEntry {
            DirectoryEntry(name: try #require(FilePath.Component(name)), kind: .regular)
        }
        let path = ConflictName.path(beside: FilePath("f/\(long).gpg"), at: 0, attempt: 0)
        let name = try #require(path.lastComponent)
        let visible = FilePath("f").appending(try #require(name.strippingSuffix()))
        let cut = ConflictName.original(of: path)
        #expect(cut != FilePath("f/\(long).gpg"))
        let entries = try [entry("b.gpg"), entry(long + ".gpg"), entry(name.string)]
        #expect(ConflictName.original(of: path) { entries } == FilePath("f/\(long).gpg"))
        #expect(ConflictName.original(of: visible) { entries } == FilePath("f/\(long)"))
        // Two that it may have been, or none; a folder is none, and what only begins alike.
        let twins = try entries + [entry(String(long.dropLast()) + ".gpg")]
        let folder = try DirectoryEntry(
            name: #require(FilePath.Component(long + ".gpg")), kind: .directory)
        #expect(ConflictName.original(of: path) { [folder] } == cut)
        let made = FilePath("f/\(character).conflict-\(String(repeating: "h", count: 230))-1Z.gpg")
        let alike = try [entry(character + "ws.gpg")]
        #expect(ConflictName.original(of: made) { alike } == FilePath("f/\(character).gpg"))
        #expect(ConflictName.original(of: path) { twins } == cut)
        #expect(ConflictName.original(of: path) { [] } == cut)
    }
}
