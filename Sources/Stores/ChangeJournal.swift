import SystemPackage

/// What a change of recipients is and how far it came: the file `journal` of its staging folder.
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

    var phase: Phase
    /// The folder whose `.gpg-id` changes; nil when secrets only follow the `.gpg-id` files that are there.
    var folder: FilePath?
    /// What the commit says.
    var message: String
    /// Secrets that nobody here can decrypt are left as they are.
    var skipsUnreadable: Bool
    /// The secrets that are encrypted anew.
    var secrets: [FilePath]

    init(phase: Phase, folder: FilePath?, message: String, skipsUnreadable: Bool, secrets: [FilePath]) {
        self.phase = phase
        self.folder = folder
        self.message = message
        self.skipsUnreadable = skipsUnreadable
        self.secrets = secrets
    }

    private static let version = "passdir change of recipients 1"

    /// Fields, each ended by NUL, which no path holds.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ text: String) {
            bytes += text.utf8
            bytes.append(0)
        }
        func add(_ path: FilePath) {
            path.withPlatformString { string in
                var position = string
                while position.pointee != 0 {
                    bytes.append(UInt8(bitPattern: position.pointee))
                    position += 1
                }
            }
            bytes.append(0)
        }
        add(Self.version)
        add(phase.rawValue)
        add(folder == nil ? "-" : "f")
        add(folder ?? FilePath())
        add(message)
        add(skipsUnreadable ? "skip" : "-")
        secrets.forEach(add)
        add("end")
        return bytes
    }

    init?(_ bytes: [UInt8]) {
        let fields = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        func text(_ field: [UInt8]) -> String { String(decoding: field, as: UTF8.self) }
        func path(_ field: [UInt8]) -> FilePath {
            FilePath(platformString: field.map { CChar(bitPattern: $0) } + [0])
        }
        guard fields.count >= 8, text(fields[0]) == Self.version,
            let phase = Phase(rawValue: text(fields[1])),
            text(fields[fields.count - 2]) == "end"
        else { return nil }
        self.init(
            phase: phase, folder: text(fields[2]) == "f" ? path(fields[3]) : nil, message: text(fields[4]),
            skipsUnreadable: text(fields[5]) == "skip", secrets: fields[6..<(fields.count - 2)].map(path))
    }
}
