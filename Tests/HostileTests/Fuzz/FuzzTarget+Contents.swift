import Glibc
import OpenPGP
import System
import SystemPackage

@testable import Settings
@testable import Stores
@testable import Sync

extension FuzzTarget {
    /// Plaintexts of two sides that are merged.
    static let textMerge = FuzzTarget(
        name: "merge", share: 60, most: 1 << 11,
        tokens: ["\n", "\r\n", "\n\n\n", "login: ann\n", "\u{85}", "é", "\u{1e}"],
        item: { random in
            var lines = (0..<random.below(12)).map { "line \($0)\n" }
            let base = lines.joined()
            if !lines.isEmpty { lines[random.below(lines.count)] = "ours\n" }
            let ours = lines.joined()
            lines.insert("theirs\n", at: random.below(lines.count + 1))
            return Array((base + "\u{1e}" + ours + "\u{1e}" + lines.joined()).utf8)
        },
        read: { input, _ in try mergeTexts(input.bytes) })

    private static func mergeTexts(_ bytes: [UInt8]) throws {
        let sides = bytes.split(separator: 0x1e, maxSplits: 2, omittingEmptySubsequences: false).map(
            Array.init)
        guard sides.count == 3 else { return }
        for side in sides {
            let isText = side.withUnsafeBytes { TextMerge.isText($0) }
            let expected = !side.contains(0) && String(validating: side, as: UTF8.self) != nil
            try claim(isText == expected, "text is taken for something else")
        }
        let (base, ours, theirs) = (sides[0], sides[1], sides[2])
        _ = try merge(base, ours, theirs)
        try claim(try merge(base, ours, base) == ours, "ours alone is not ours")
        try claim(try merge(base, base, theirs) == theirs, "theirs alone is not theirs")
        try claim(try merge(base, ours, ours) == ours, "the same on both sides is something else")
    }

    private static func merge(_ base: [UInt8], _ ours: [UInt8], _ theirs: [UInt8]) throws -> [UInt8]? {
        try base.withUnsafeBytes { base in
            try ours.withUnsafeBytes { ours in
                try theirs.withUnsafeBytes { theirs in
                    try TextMerge.merge(base: base, ours: ours, theirs: theirs)?.withUnsafeBytes { Array($0) }
                }
            }
        }
    }

    /// Settings of gopass and QtPass, and single values of settings and dates.
    static let foreignSettings = FuzzTarget(
        name: "foreign", share: 60, most: 1 << 13,
        tokens: [
            ":", ": ", "\"", "'", " #", "mounts:\n", "  ", "path: /x\n", "[profile]\n", "=", "\\x0", "\\x41",
            "%20", "%U0000", "%UD800", "%", "\\", "://", "~/", "2027-01-31", "T00:00:00Z", "k", "h",
            "[mounts]\n",
            "\tpath = /x\n",
        ],
        item: { random in
            Array(
                random.pick([
                    "path: /home/ann/.password-store\nmounts:\n  work: /w\n  \"a:b\":\n    path: 'x' # y\n",
                    "[General]\npassStore=/home/ann/.password-store/\n[profile]\nwork\\path=\"/w\\x41\"\nx%20=/y\n",
                    "[mounts]\n\tpath = /home/ann/store\n[mounts \"work\"]\n\tpath = gpgcli-fs+file:///w\n",
                    "2027-01-31", "2025-11-20T22:38:00Z", "500ms", "64m",
                    "0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b",
                ]).utf8)
        },
        read: { input, random in try readForeign(input, &random) })

    private static func readForeign(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        let text = String(decoding: input.bytes, as: UTF8.self)
        _ = GopassYAML(text)
        _ = QtSettings(text)
        for setting in Catalogue.all { _ = setting.accepts(text) }
        if let day = CalendarDay(text) { try claim(day.description == text, "\(text) is the day \(day)") }
        _ = StoreName.made(from: text)
        _ = RemoteURL(text)
        guard random.once(in: 8) else { return }
        let folder = input.folder
        for (name, file) in [("IJHack", "QtPass.conf"), ("gopass", "config.yml"), ("gopass", "config")] {
            try folder.appending(name).makeFolders()
            _ = try input.write(to: "\(name)/\(file)")
        }
        _ = ForeignStores.all(environment: [
            "HOME": folder.string, "XDG_CONFIG_HOME": folder.string, "PASSWORD_STORE_DIR": "/x",
        ])
    }

    /// The database of what was learned, as a broken disk or another program leaves it.
    static let learnedState = FuzzTarget(
        name: "learned", share: 2, most: 1 << 16,
        tokens: ["SQLite format 3\0", "CREATE TABLE plaintextSize", "\u{d}", "\u{5}", "\u{2}", "store"],
        item: { _ in learnedDatabase ?? [] },
        read: { input, _ in
            for name in ["state.sqlite-wal", "state.sqlite-shm", "state.sqlite.damaged"] {
                _ = input.folder.appending(name).withPlatformString { unlink($0) }
            }
            let state = try LearnedState(file: input.write(to: "state.sqlite"))
            let identity = identity(1)
            _ = state.size(of: identity)
            state.remember(size: 3, of: identity, store: "a")
            try claim(state.size(of: identity) == 3, "a size does not come back")
            _ = state.fact("lastPush", of: "a")
            _ = state.inventory()
            _ = state.stores()
            state.close()
        })

    private static func identity(_ number: UInt64) -> CiphertextIdentity {
        CiphertextIdentity(
            device: 1, inode: number, size: 300, modified: FileTime(seconds: 1, nanoseconds: 2),
            changed: FileTime(seconds: 3, nanoseconds: 4))
    }

    /// The bytes of a database with something in it.
    private static let learnedDatabase: [UInt8]? = {
        var template = Array("/tmp/passdir-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        let folder = template.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
        let file = folder.appending("state.sqlite")
        defer {
            for name in ["", "-wal", "-shm"] { unlink(file.string + name) }
            rmdir(folder.string)
        }
        guard let state = try? LearnedState(file: file) else { return nil }
        for number in 0..<20 { state.remember(size: 100, of: identity(UInt64(number)), store: "a") }
        state.remember("2025-11-20T22:38:00Z", as: "lastPush", of: "a")
        state.close()
        return try? PrivateFile.read(file)
    }()
}
