import Glibc
import OpenPGP
import Stores
import Sync
import System
import SystemPackage

extension Sharing {
    /// How close its end is when a key is called expiring.
    public static let expiringWithin: Int64 = 30 * 86_400

    /// The keys that the recipients of a store name.
    /// - Throws: also where a list cannot be used.
    public func keys(ofStore name: String) throws(DaemonError) -> [KeyReport] {
        let (keys, complaints) = try keysOfUsableLists(ofStore: name)
        if let first = complaints.first { throw DaemonError(message: first) }
        return keys
    }

    /// As above, with a sentence for each list that cannot be used.
    public func keysOfUsableLists(
        ofStore name: String
    ) throws(DaemonError) -> (keys: [KeyReport], complaints: [String]) {
        var reports = KeyReports()
        var complaints: [String] = []
        try addKeys(ofStore: name, to: &reports, &complaints)
        return (reports.all, complaints)
    }

    /// The keys that the recipients of all stores name, and of the stores of which not all can be told, why, as a sentence.
    public func keysOfAllStores() -> (keys: [KeyReport], complaints: [String]) {
        var reports = KeyReports()
        var complaints: [String] = []
        for name in usableNames {
            do throws(DaemonError) { try addKeys(ofStore: name, to: &reports, &complaints) } catch {
                // A gpg-agent that does not answer is the same for all.
                if !complaints.contains(error.message) { complaints.append(error.message) }
            }
        }
        return (reports.all, complaints)
    }

    /// - Parameter complaints: gets a sentence for each list that cannot be used.
    private func addKeys(
        ofStore name: String, to reports: inout KeyReports, _ complaints: inout [String]
    ) throws(DaemonError) {
        let store = try store(named: name, for: .reading)
        var (found, unusable) = (reports, complaints)
        defer { (reports, complaints) = (found, unusable) }
        try DaemonError.wrapping {
            for file in try store.recipientFiles(below: FilePath()) {
                let folder = file.removingLastComponent()
                let title = folder.isEmpty ? name : "\(name)/\(folder)"
                for report in try self.usableKeys(named: file, store, &unusable) {
                    found.add(report, namedIn: title)
                }
            }
        }
    }

    /// The stores whose folders can be stores, as far as their disks tell: `passdir status` tells of the others.
    private var usableNames: [String] {
        DiskLook.lookAhead(at: definitions)
        return definitions.filter { store in
            !DiskLook.at(store.path).answers
                || StorePlace.objection(toLinked: store.path, environment: environment) == nil
        }.map(\.name)
    }

    /// None of a list that cannot be used, which says nothing of the others.
    private func usableKeys(
        named file: FilePath, _ store: Store, _ complaints: inout [String]
    ) throws(StoreError) -> [KeyReport] {
        do throws(StoreError) {
            return try keys(named: file, store)
        } catch {
            guard error.code == .badRecipientFile else { throw error }
            complaints.append(error.message)
            return []
        }
    }

    private func keys(named file: FilePath, _ store: Store) throws(StoreError) -> [KeyReport] {
        // Also of a file whose signature is bad one wants to see whom it names.
        let bytes = try StoreError.wrapping("read", file) { try store.read(file, limit: 1 << 20) }
        var reports: [KeyReport] = []
        let content = RecipientFile(parsing: bytes) ?? RecipientFile("")
        try store.checkCount(content, of: file)
        for line in content.lines {
            do {
                reports += try store.engine.resolve(line).map { Self.report($0, store.options.trust) }
            } catch  where [.timedOut, .noEngine, .agentUnavailable].contains(error.code) {
                // Nothing is known of the key.
                throw StoreError(error)
            } catch {
                reports.append(
                    KeyReport(
                        id: line, userIDs: [], isOwn: false, canEncrypt: false, trust: "unknown",
                        state: .missing,
                        folders: [], problem: error.message))
            }
        }
        return reports
    }

    static func report(_ recipient: Recipient, _ trust: TrustModel) -> KeyReport {
        let key = recipient.key
        let now = Int64(time(nil))
        let subkey = recipient.encryptionSubkey(at: now)
        let expires = [key.expires, subkey?.expires ?? nil].compactMap(\.self).min()
        var state: KeyState =
            switch recipient.encryptionState(at: now) {
            case .usable: expires.map { $0 - now < expiringWithin } == true ? .expiring : .usable
            case .expired: .expired
            case .revoked: .revoked
            case .disabled: .disabled
            case .notForEncryption: .notForEncryption
            }
        if trust == .gpg, !key.isTrusted, state == .usable || state == .expiring { state = .untrusted }
        return KeyReport(
            fingerprint: key.fingerprint.description, id: String(key.fingerprint.description.suffix(16)),
            userIDs: key.userIDs.filter { !$0.isRevoked }.map(\.text), isOwn: recipient.isOwn,
            canEncrypt: subkey != nil, trust: "\(key.userIDs.map(\.validity).max() ?? .unknown)",
            state: state,
            expires: expires.map(Timestamp.init(seconds:)), folders: [],
            problem: recipient.objection(at: now, trust: trust)?.message)
    }

    /// The keyring of a store; nil is that of GNUPGHOME.
    func engine(ofStore name: String?) throws(DaemonError) -> any Keyring {
        try name.map { name throws(DaemonError) in try store(named: name, for: .reading).engine } ?? engine
    }

    /// The keys that files hold; nothing is imported.
    /// - Parameter store: whose keyring they would be imported into; nil is that of GNUPGHOME.
    public func preview(_ files: [[UInt8]], for store: String? = nil) throws(DaemonError) -> [KeyPreview] {
        let engine = try engine(ofStore: store)
        var previews: [KeyPreview] = []
        try DaemonError.wrapping {
            for file in files {
                try refuseSecretKeys(file)
                for key in try engine.keys(in: file)
                where !previews.contains(where: { $0.fingerprint == key.fingerprint.description }) {
                    let known = try engine.keys(matching: [key.fingerprint.description], secretOnly: false)
                    previews.append(
                        KeyPreview(
                            fingerprint: key.fingerprint.description, userIDs: key.userIDs.map(\.text),
                            isKnown: !known.isEmpty, naming: naming(of: key)))
                }
            }
        }
        guard !previews.isEmpty else { throw DaemonError(message: "no keys found") }
        return previews
    }

    private func naming(of key: Key) -> KeyNaming? {
        let lines = definitions.flatMap { definition -> [String] in
            guard let store = try? store(named: definition.name, for: .reading),
                let files = try? store.recipientFiles(below: FilePath())
            else { return [] }
            return files.flatMap { file -> [String] in
                (try? store.read(file, limit: 1 << 20)).flatMap { RecipientFile(parsing: $0)?.lines } ?? []
            }
        }
        return lines.compactMap { Self.naming(of: key, $0) }.min()
    }

    private static func naming(of key: Key, _ line: String) -> KeyNaming? {
        let bare = line.lowercased().filter { $0 != "!" && $0 != "<" && $0 != ">" }
        let digits = (bare.hasPrefix("0x") ? String(bare.dropFirst(2)) : bare).filter { $0 != " " }
        if digits.allSatisfy(\.isHexDigit),
            key.subkeys.contains(where: { $0.fingerprint.description.lowercased().hasSuffix(digits) })
        {
            switch digits.utf8.count {
            case 40: return .fingerprint
            case 16: return .keyID
            case 8: return .shortKeyID
            default: break
            }
        }
        return key.userIDs.contains { !$0.email.isEmpty && $0.email.lowercased() == bare } ? .address : nil
    }

    /// Imports the public keys in files; nothing in the keyring is ever removed.
    /// - Parameter store: whose keyring they go into; nil is that of GNUPGHOME.
    public func importKeys(_ files: [[UInt8]], for store: String? = nil) throws(DaemonError) {
        let engine = try engine(ofStore: store)
        try DaemonError.wrapping {
            for file in files { try refuseSecretKeys(file) }
            for file in files { _ = try engine.importKeys(file) }
        }
    }

    /// A secret key that somebody else knows must never pass for one's own.
    private func refuseSecretKeys(_ file: [UInt8]) throws(OpenPGPError) {
        let hasSecret = try engine.keys(in: file).contains(where: \.hasSecret)
        guard hasSecret || KeyFile.holdsMoreThanPublicKeys(file) else { return }
        throw OpenPGPError(
            .other,
            "it contains a secret key or something other than public keys, and nothing was imported: import "
                + "your own secret key with gpg --import")
    }

    /// Writes the public keys of a store's recipients into its `.public-keys`, a file a key named by its fingerprint,
    /// and commits them. Keys that are there and are no recipient's stay.
    /// - Returns: The fingerprints, and what lists name that has no key here.
    public func exportKeys(ofStore name: String) throws(DaemonError) -> (written: [String], missing: [String])
    {
        let store = try store(named: name, for: .writing)
        let named = try keys(ofStore: name)
        let fingerprints = named.compactMap(\.fingerprint)
        guard !fingerprints.isEmpty else {
            throw DaemonError(message: "no key of the store \"\(name)\" is in the keyring")
        }
        let committer = try committer(of: store)
        try DaemonError.wrapping {
            var paths: [FilePath] = []
            for text in fingerprints {
                guard let fingerprint = Fingerprint(text) else { continue }
                let bytes = try StoreError.wrapping { try store.engine.exportKeys([fingerprint]) }
                let path: FilePath = ".public-keys"
                paths.append(path.appending(text))
                try store.writePublicKey(bytes, as: path.appending(text))
            }
            let written = paths
            try Self.wait { () throws(CommitError) in
                try await committer.commit(paths: written, message: "Export public keys of the recipients.\n")
            }
            try Self.wait { () throws(CommitError) in await committer.pushCommits() }
        }
        return (fingerprints, named.filter { $0.fingerprint == nil }.map(\.id))
    }
}
