import Glibc
import SystemPackage

/// An OpenPGP key in a home's keyring.
public struct TestKey: Sendable {
    /// The fingerprint of the primary key, 40 hexadecimal digits.
    public let fingerprint: String
    /// The address in its user id.
    public let address: String
}

extension TestHome {
    /// Makes a key pair; it does not expire.
    ///
    /// - Parameter passphrase: empty for none.
    @discardableResult
    public func makeKey(_ address: String, passphrase: String = "") throws -> TestKey {
        try makeKey(address, passphrase: passphrase, expires: "never", extra: [])
    }

    /// Makes a key that expired years ago.
    @discardableResult
    public func makeExpiredKey(_ address: String) throws -> TestKey {
        try makeKey(
            address, passphrase: "", expires: "1y", extra: ["--faked-system-time", "20200101T000000!"])
    }

    /// Makes a key and revokes it.
    @discardableResult
    public func makeRevokedKey(_ address: String) throws -> TestKey {
        let key = try makeKey(address)
        let name = "gnupg/openpgp-revocs.d/\(key.fingerprint).rev"
        // gpg keeps the certificate ready, with a colon before it so that nobody imports it by mistake.
        let certificate = try text(of: name).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix(":-----") ? $0.dropFirst() : $0 }.joined(separator: "\n")
        try succeed(["gpg", "--batch", "--import"], input: Array(certificate.utf8))
        return key
    }

    /// Takes a key's public and secret part out of the keyring.
    public func deleteKey(_ key: TestKey) throws {
        try succeed(["gpg", "--batch", "--yes", "--delete-secret-and-public-key", key.fingerprint])
    }

    /// The text of a file in the home.
    public func text(of name: String) throws -> String {
        String(decoding: try bytes(of: name), as: UTF8.self)
    }

    /// The bytes of a file in the home.
    public func bytes(of name: String) throws -> [UInt8] {
        try bytes(at: path(name))
    }

    /// The bytes of a file, by one open and reads to the end.
    public func bytes(at path: FilePath) throws -> [UInt8] {
        let file = try FileDescriptor.open(path, .readOnly)
        return try file.closeAfter {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
                guard count > 0 else { return bytes }
                bytes += chunk.prefix(count)
            }
        }
    }

    private func makeKey(
        _ address: String, passphrase: String, expires: String, extra: [String]
    ) throws -> TestKey {
        let name = address.split(separator: "@").first.map(String.init) ?? address
        let user = "\(name) <\(address)>"
        let options = ["gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase] + extra
        try succeed(options + ["--quick-gen-key", user, "future-default", "default", expires])
        let listing = String(
            decoding: try succeed(["gpg", "--batch", "--with-colons", "--list-keys", "<\(address)>"]),
            as: UTF8.self)
        // The newest key comes last; the fingerprint of the primary key follows its `pub` line.
        let lines = listing.split(separator: "\n")
        guard let primary = lines.lastIndex(where: { $0.hasPrefix("pub:") }),
            let mark = lines[primary...].first(where: { $0.hasPrefix("fpr:") })
        else { throw TestFailure("gpg made no key for \(address)") }
        let fields = mark.split(separator: ":", omittingEmptySubsequences: false)
        return TestKey(fingerprint: String(fields[9]), address: address)
    }
}
