import OpenPGP
import System
import SystemPackage

/// The bytes of the record of agreed recipients.
///
/// Fields, each ended by NUL, which no path, identifier, fingerprint or line of a list holds, so that no name of a folder can pass for
/// another entry; a number of fingerprints before them, and the number of entries at the end, so that a file that was
/// cut off is not taken for a whole one.
enum RecordContent {
    /// What one `.gpg-id` says of keys.
    struct Entry: Equatable {
        enum Kind: String {
            /// The user agreed to these.
            case agreed
            /// Others brought these, and nobody agreed yet.
            case offered
            /// These lines, which are no fingerprints, were there when the user agreed: nobody has added them since,
            /// whatever they mean now.
            case named
            /// These lines were there when the store was first looked at, and meant no key in the homes in which that was
            /// done (`AwaitedNames`).
            case awaited
            /// The user moves this folder: where to, which one, and how (`ListMove`).
            case moving
        }

        var kind = Kind.agreed
        var store: String
        var file: FilePath
        /// Of `named`: the lines; of `awaited`: what `AwaitedNames` says; of `moving`: what `ListMove` says of it.
        var fingerprints: [String]
    }

    enum Parsed: Equatable {
        case entries([Entry])
        /// Why not, as the rest of a sentence.
        case unreadable(String)
    }

    /// The largest record that is read, in bytes.
    static let limit = 16 << 20

    private static let version = "passdir agreed recipients 2"

    static func bytes(of entries: [Entry]) -> [UInt8] {
        var bytes: [UInt8] = []
        func add(_ text: String) {
            bytes += text.utf8.filter { $0 != 0 }
            bytes.append(0)
        }
        add(version)
        for entry in entries {
            add(entry.kind.rawValue)
            add(entry.store)
            bytes += entry.file.bytes + [0]
            add("\(entry.fingerprints.count)")
            entry.fingerprints.forEach(add)
        }
        add("end")
        add("\(entries.count)")
        return bytes
    }

    static func parse(_ bytes: [UInt8]) -> Parsed {
        guard bytes.starts(with: version.utf8 + [0]) else {
            return older(bytes).map(Parsed.entries)
                ?? .unreadable("is damaged, or was written by another version of passdir")
        }
        let damaged = Parsed.unreadable("is damaged")
        guard bytes.last == 0 else { return damaged }
        var fields = bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false)[1...]
        func text() -> String? { fields.popFirst().flatMap { String(validating: $0, as: UTF8.self) } }
        var entries: [Entry] = []
        while let word = text() {
            if word == "end" {
                guard text() == "\(entries.count)", fields.isEmpty else { return damaged }
                return .entries(entries)
            }
            guard let kind = Entry.Kind(rawValue: word), let store = text(), let path = fields.popFirst(),
                let count = text().flatMap({ Int($0) }), count >= 0, count <= fields.count
            else { return damaged }
            var fingerprints: [String] = []
            for _ in 0..<count {
                guard let word = text(),
                    kind == .named || kind == .awaited || kind == .moving
                        || Fingerprint(word)?.description == word
                else {
                    return damaged
                }
                fingerprints.append(word)
            }
            entries.append(
                Entry(kind: kind, store: store, file: FilePath(bytes: path), fingerprints: fingerprints))
        }
        return damaged
    }

    /// The record as it was before version 2: lines of fields parted by tabs, which the name of a folder could forge.
    ///
    /// Of a file that has several lines only what all of them say counts. A line of a nested file that nobody wrote
    /// cannot be told from a true one: there only keys count that the store's own file has, too.
    private static func older(_ bytes: [UInt8]) -> [Entry]? {
        // A NUL, which no path has, would part fields in the form of today.
        guard !bytes.isEmpty, !bytes.contains(0), bytes.last == UInt8(ascii: "\n"),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        var entries: [Entry] = []
        for line in text.utf8.dropLast().split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        {
            let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
                String(Substring($0))
            }
            guard fields.count >= 2 else { return nil }
            let file = FilePath(fields[1])
            let fingerprints = fields[2...].filter { !$0.isEmpty }
            guard file.lastComponent == Store.recipientFileName,
                fingerprints.allSatisfy({ Fingerprint($0)?.description == $0 })
            else { return nil }
            if let known = entries.firstIndex(where: { $0.store == fields[0] && $0.file == file }) {
                entries[known].fingerprints.removeAll { !fingerprints.contains($0) }
            } else {
                entries.append(Entry(store: fields[0], file: file, fingerprints: fingerprints))
            }
        }
        let tops = entries.filter { $0.file.components.count == 1 }
        return entries.compactMap { entry in
            guard entry.file.components.count > 1 else { return entry }
            guard let top = tops.first(where: { $0.store == entry.store }) else { return nil }
            var entry = entry
            entry.fingerprints.removeAll { !top.fingerprints.contains($0) }
            return entry
        }
    }
}
