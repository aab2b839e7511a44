import CGPGME
import Glibc
import System
import SystemPackage

extension GnuPG {
    /// Lists keys of the local keyring, with what gpg-agent has of their secret parts.
    func keys(matching patterns: [String], secretOnly: Bool) throws(OpenPGPError) -> [Key] {
        try keys(matching: patterns, secretOnly: secretOnly, askingAgent: true)
    }

    /// As above, within the bounds of an operation that needs to know.
    /// - Parameter askingAgent: Whether gpg asks gpg-agent which secret parts it has.
    func keys(
        matching patterns: [String], secretOnly: Bool, askingAgent: Bool, _ bounds: Bounds? = nil
    ) throws(OpenPGPError) -> [Key] {
        let operation = try Operation(home: homeOption)
        _ = gpgme_set_keylist_mode(
            operation.context,
            UInt32(
                GPGME_KEYLIST_MODE_LOCAL | GPGME_KEYLIST_MODE_WITH_KEYGRIP
                    | (askingAgent ? GPGME_KEYLIST_MODE_WITH_SECRET : 0)))
        let error = try run(operation, to: "list keys", bounds) { context in
            patterns.withCStrings { gpgme_op_keylist_ext_start(context, $0, secretOnly ? 1 : 0, 0) }
        }
        switch gpgme_err_code(error) {
        case GPG_ERR_NO_ERROR, GPG_ERR_NO_PUBKEY, GPG_ERR_NO_SECKEY, GPG_ERR_NOT_FOUND, GPG_ERR_EOF: break
        default: throw EngineFailure.error(error, "gpg could not list keys")
        }
        // A key that answers to two patterns is listed twice.
        return Self.distinct(operation.keys, \.fingerprint)
    }

    /// Lists the keys in a file of keys, as `gpg --show-keys` does.
    func keys(in data: [UInt8]) throws(OpenPGPError) -> [Key] {
        let operation = try Operation(home: homeOption)
        let error = try data.withBytes { (bytes) throws(OpenPGPError) in
            let source = try operation.reading(bytes)
            return try run(operation, to: "read keys") { gpgme_op_keylist_from_data_start($0, source, 0) }
        }
        switch gpgme_err_code(error) {
        case GPG_ERR_NO_ERROR, GPG_ERR_NO_DATA, GPG_ERR_EOF: break
        default: throw EngineFailure.error(error, "gpg could not read the keys")
        }
        return Self.distinct(operation.keys, \.fingerprint)
    }

    /// Imports public keys.
    func importKeys(_ data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] {
        let operation = try Operation(home: homeOption)
        let error = try data.withBytes { (bytes) throws(OpenPGPError) in
            let source = try operation.reading(bytes)
            return try run(operation, to: "import keys") { gpgme_op_import_start($0, source) }
        }
        guard error == 0 else { throw EngineFailure.error(error, "gpg could not import the keys") }
        let imported = operation.status.filter { $0.keyword == "IMPORT_OK" }
            .compactMap { $0.arguments.dropFirst().first.flatMap { Fingerprint(String($0)) } }
        guard !imported.isEmpty else { throw OpenPGPError(.notEncrypted, "there is no key to import") }
        return Self.distinct(imported, \.self)
    }

    /// Takes a public key out of the keyring; gpg itself refuses one whose secret part is here.
    func removeKey(_ fingerprint: Fingerprint) throws(OpenPGPError) {
        guard let key = try keys(matching: [fingerprint.description], secretOnly: false).first else {
            throw OpenPGPError(
                .missingKey, "there is no key \(fingerprint) in the keyring", subject: fingerprint.description
            )
        }
        guard !key.hasSecret else {
            throw OpenPGPError.secretPart(of: key)
        }
        let home = homeOption.map { ["--homedir", $0] } ?? []
        let words = [program.path] + home + ["--batch", "--yes", "--delete-keys", fingerprint.description]
        let outcome = try? ChildProcess.run(
            words, environment: ProcessEnvironment.variables(), timeout: .seconds(30))
        guard outcome?.status == 0 else {
            throw OpenPGPError(
                .other,
                "gpg could not remove \(key.title): \(outcome?.errors.split(separator: "\n").last ?? "it did not end")"
            )
        }
    }

    private static func distinct<Value>(_ values: [Value], _ name: (Value) -> Fingerprint) -> [Value] {
        var seen: Set<Fingerprint> = []
        return values.filter { seen.insert(name($0)).inserted }
    }

    /// Exports public keys, armoured.
    func exportKeys(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8] {
        guard !fingerprints.isEmpty else { throw OpenPGPError(.missingKey, "there is no key to export") }
        var found: Set<Fingerprint> = []
        for key in try keys(
            matching: fingerprints.map(\.description), secretOnly: false, askingAgent: false)
        {
            found.formUnion(key.subkeys.map(\.fingerprint))
        }
        if let missing = fingerprints.first(where: { !found.contains($0) }) {
            throw OpenPGPError(
                .missingKey, "there is no key \(missing) in the keyring", subject: missing.description)
        }
        return try export(fingerprints, 0, isArmored: true)
    }

    /// What gpg exports of keys.
    func export(
        _ fingerprints: [Fingerprint], _ mode: gpgme_export_mode_t, isArmored: Bool, _ bounds: Bounds? = nil
    ) throws(OpenPGPError) -> [UInt8] {
        let operation = try Operation(home: homeOption)
        gpgme_set_armor(operation.context, isArmored ? 1 : 0)
        let sink = ByteSink()
        let target = try operation.writing(to: sink)
        let error = try run(operation, to: "export keys", bounds) { context in
            fingerprints.map(\.description).withCStrings {
                gpgme_op_export_ext_start(context, $0, mode, target)
            }
        }
        guard error == 0 else { throw EngineFailure.error(error, "gpg could not export the keys") }
        return sink.bytes
    }
}
