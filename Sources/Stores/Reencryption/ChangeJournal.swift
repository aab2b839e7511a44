import System
import SystemPackage

/// What a change of recipients is and how far it came: the file `journal` of its notes (`ChangeNotes`).
///
/// The new and the old `.gpg-id` and their signatures lie beside it.
struct ChangeJournal: Sendable, Equatable {
    static let name = "journal"
    /// The new and the old `.gpg-id`, and the same of its signature; where one is not there, none was or will be.
    static let newFile = "recipients-new"
    static let oldFile = "recipients-old"
    /// The one of a folder above that applied where there was no old one.
    static let appliedFile = "recipients-applied"
    static let newSignature = "signature-new"
    static let oldSignature = "signature-old"

    enum Phase: String, Sendable {
        /// Secrets are re-encrypted; nothing outside the staging folder has changed.
        case staging
        /// Secrets are swapped with their new ciphertexts.
        case placing
        /// Everything is in place; the commit is to come.
        case committing
        /// It is taken back, but for secrets that have to be encrypted again to the lists in force.
        case aborting
        /// Over; the folder is to be removed.
        case finished
    }

    /// The identifier of the store.
    var store: String
    var phase: Phase
    /// The folder whose `.gpg-id` changes; nil when secrets only follow the `.gpg-id` files that are there.
    var folder: FilePath?
    /// The `.gpg-id` that applied to the folder when the change was planned; nil where none did.
    var applied: FilePath?
    /// What the commit says.
    var message: String
    /// Secrets that nobody here can decrypt are left as they are.
    var skipsUnreadable: Bool
    /// The fingerprints of the keys that the user agreed to when the change began.
    var accepted: [String]
    /// The secrets that are re-encrypted.
    var planned: [PlannedSecret]
    /// The paths of the secrets, in the same order.
    var secrets: [FilePath] { planned.map(\.path) }

    private static let version = "passdir change of recipients 3"

    /// Fields, each ended by NUL, which no path holds.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ text: String) {
            bytes += text.utf8.filter { $0 != 0 }
            bytes.append(0)
        }
        func add(_ path: FilePath) { bytes += path.bytes + [0] }
        add(Self.version)
        add(store)
        add(phase.rawValue)
        add(folder == nil ? "-" : "f")
        add(folder ?? FilePath())
        add(applied == nil ? "-" : "f")
        add(applied ?? FilePath())
        add(message)
        add(skipsUnreadable ? "skip" : "-")
        add(accepted.joined(separator: " "))
        for plan in planned {
            add(plan.path)
            add(plan.content?.text ?? "-")
            add(plan.readers.joined(separator: " "))
        }
        add("end")
        return bytes
    }
}

extension ChangeJournal {
    init?(_ bytes: [UInt8]) {
        let fields = bytes.split(separator: 0, omittingEmptySubsequences: false)
        func text(_ field: Int) -> String { String(decoding: fields[field], as: UTF8.self) }
        let first = 10
        guard fields.count >= first + 2, (fields.count - first - 2) % 3 == 0, text(0) == Self.version,
            let phase = Phase(rawValue: text(2)),
            text(fields.count - 2) == "end", fields[fields.count - 1].isEmpty
        else { return nil }
        let places = stride(from: first, to: fields.count - 2, by: 3)
        self.init(
            store: text(1), phase: phase, folder: text(3) == "f" ? FilePath(bytes: fields[4]) : nil,
            applied: text(5) == "f" ? FilePath(bytes: fields[6]) : nil, message: text(7),
            skipsUnreadable: text(8) == "skip", accepted: text(9).split(separator: " ").map(String.init),
            planned: places.map { place in
                PlannedSecret(
                    path: FilePath(bytes: fields[place]),
                    content: ContentIdentity(Substring(text(place + 1))),
                    readers: text(place + 2).split(separator: " ").map(String.init))
            })
    }
}

/// A secret of a change, as it was when the user was shown that it would be re-encrypted.
struct PlannedSecret: Sendable, Equatable {
    /// Relative to the store.
    var path: FilePath
    /// Its ciphertext; nil for one that came later.
    var content: ContentIdentity?
    /// The fingerprints of the keys that were shown for it, where the secrets of the change follow the `.gpg-id` files
    /// that are there; empty where one new `.gpg-id` is for all.
    var readers: [String] = []
}
