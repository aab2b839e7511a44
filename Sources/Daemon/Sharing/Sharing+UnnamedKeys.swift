import OpenPGP
import Stores
import System

extension Sharing {
    /// The keys of the keyring that no list of a store names; of a store's own keyring, where it has one.
    /// - Throws: also where a list cannot be read: it might name any.
    public func unnamedKeys(ofStore name: String?) throws(DaemonError) -> [KeyReport] {
        let named = try namedKeys()
        let engine = try engine(ofStore: name)
        return try DaemonError.wrapping {
            try engine.keys(matching: [], secretOnly: false)
                .filter { named[$0.fingerprint.description] == nil }
                .map {
                    Self.report(Recipient(key: $0, subkey: nil, named: $0.fingerprint.description), .always)
                }
        }
    }

    /// Takes a public key that no list of a store names out of the keyring.
    public func removeKey(_ fingerprint: String, ofStore name: String?) throws(DaemonError) {
        try checkRemovable(fingerprint, ofStore: name)
        let engine = try engine(ofStore: name)
        try DaemonError.wrapping {
            guard let fingerprint = Fingerprint(fingerprint) else { return }
            try engine.removeKey(fingerprint)
        }
    }

    /// Refuses a key that a store names, or whose secret part is here.
    public func checkRemovable(_ fingerprint: String, ofStore name: String?) throws(DaemonError) {
        if let folders = try namedKeys()[fingerprint] {
            throw DaemonError(
                message:
                    "the key is named in \(folders.joined(separator: ", ")), so it was not removed: passdir "
                    + "recipients remove removes it there")
        }
        let engine = try engine(ofStore: name)
        try DaemonError.wrapping {
            guard let key = try engine.keys(matching: [fingerprint], secretOnly: true).first else { return }
            throw OpenPGPError.secretPart(of: key)
        }
    }

    /// The key that was typed: by its fingerprint, or what else names just one.
    public func key(_ typed: String, ofStore name: String?) throws(DaemonError) -> KeyReport {
        let engine = try engine(ofStore: name)
        return try DaemonError.wrapping {
            let found = try engine.resolve(typed)
            guard found.count == 1, let one = found.first else {
                throw OpenPGPError(
                    .ambiguousKey, "\(typed) matches \(found.count) keys: name one by its fingerprint")
            }
            return Self.report(one, .always)
        }
    }

    /// The folders in which keys are named, by their fingerprints.
    private func namedKeys() throws(DaemonError) -> [String: [String]] {
        let (keys, complaints) = keysOfAllStores()
        if let first = complaints.first { throw DaemonError(message: first) }
        return Dictionary(
            keys.compactMap { key in key.fingerprint.map { ($0, key.folders) } }, uniquingKeysWith: +)
    }
}
