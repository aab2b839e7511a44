import SystemPackage

/// What a change of recipients is and how far it came: the file `journal` of its notes (`ChangeNotes`).
///
/// The new and the old `.gpg-id` and their signatures lie beside it.
struct ChangeJournal: Sendable, Equatable {
    static let name = "journal"
    /// The new and the old `.gpg-id`, and the same of its signature; where one is not there, none was or will be.
    static let newFile = "recipients-new"
    static let oldFile = "recipients-old"
    static let newSignature = "signature-new"
    static let oldSignature = "signature-old"

    enum Phase: String, Sendable {
        /// Secrets are encrypted anew; nothing outside the staging folder has changed.
        case staging
        /// Secrets are swapped with their new ciphertexts.
        case placing
        /// Everything is in place; the commit is to come.
        case committing
        /// Over; the folder is to be removed.
        case finished
    }

    /// The identifier of the store.
    var store: String
    var phase: Phase
    /// The folder whose `.gpg-id` changes; nil when secrets only follow the `.gpg-id` files that are there.
    var folder: FilePath?
    /// What the commit says.
    var message: String
    /// Secrets that nobody here can decrypt are left as they are.
    var skipsUnreadable: Bool
    /// The fingerprints of the keys that the user agreed to when the change began.
    var accepted: [String]
    /// The secrets that are encrypted anew.
    var secrets: [FilePath]

    init(
        store: String, phase: Phase, folder: FilePath?, message: String, skipsUnreadable: Bool,
        accepted: [String], secrets: [FilePath]
    ) {
        self.store = store
        self.accepted = accepted
        self.phase = phase
        self.folder = folder
        self.message = message
        self.skipsUnreadable = skipsUnreadable
        self.secrets = secrets
    }

    private static let version = "passdir change of recipients 2"

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
        add(message)
        add(skipsUnreadable ? "skip" : "-")
        add(accepted.joined(separator: " "))
        secrets.forEach(add)
        add("end")
        return bytes
    }

    init?(_ bytes: [UInt8]) {
        let fields = bytes.split(separator: 0, omittingEmptySubsequences: false)
        func text(_ field: Int) -> String { String(decoding: fields[field], as: UTF8.self) }
        guard fields.count >= 10, text(0) == Self.version, let phase = Phase(rawValue: text(2)),
            text(fields.count - 2) == "end", fields[fields.count - 1].isEmpty
        else { return nil }
        self.init(
            store: text(1), phase: phase, folder: text(3) == "f" ? FilePath(bytes: fields[4]) : nil,
            message: text(5), skipsUnreadable: text(6) == "skip",
            accepted: text(7).split(separator: " ").map(String.init),
            secrets: fields[8..<(fields.count - 2)].map { FilePath(bytes: $0) })
    }
}
