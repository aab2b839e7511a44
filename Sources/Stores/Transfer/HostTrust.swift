import Git
import Glibc
import Synchronization
import System
import SystemPackage

/// Decides on host keys and certificates, and keeps the sentence about one that is refused. Trusted is what the
/// system's authorities signed and what `~/.ssh/known_hosts` holds; nothing is ever added by itself.
final class HostTrust: Sendable {
    private let said = Mutex<String?>(nil)
    /// The remote's URL: libgit2 tells the server's name only, known_hosts goes by name and port.
    private let url: String

    init(url: String) {
        self.url = url
    }

    /// Why the last one was refused, without a full stop.
    var complaint: String? { said.withLock { $0 } }

    func judge(_ certificate: CertificateInfo) -> Bool {
        if certificate.isValid { return true }
        let sentence: String
        switch certificate.kind {
        case .sshHostKey(_, let digest):
            let fingerprint = "SHA256:" + (digest.map(Self.base64) ?? "?")
            let name = HostKeys.server(of: url).map { HostKeys.name($0, $1) } ?? certificate.host
            sentence =
                Self.isKnown(name)
                ? "the SSH key of \(certificate.host) does not match known_hosts: it is now \(fingerprint). "
                    + "Someone may be intercepting the connection, or the server has a new key; ask its owner, "
                    + "then remove the old line with ssh-keygen -R '\(name)'"
                : "the SSH server \(certificate.host) is unknown; its key is \(fingerprint). If that is "
                    + "correct, accept it with passdir store trust-host"
        case .x509, .unknown:
            sentence =
                "the certificate of \(certificate.host) is not signed by an authority that this system trusts, "
                + "has expired, or is for another name"
        }
        said.withLock { $0 = sentence }
        return false
    }

    /// Whether known_hosts has any key of the host, on any port.
    static func isKnown(_ host: String) -> Bool {
        // Where libgit2 looks; OpenSSH itself goes by the password file's home.
        let home = getenv("HOME").map { String(cString: $0) } ?? "/"
        let outcome = try? ChildProcess.run(
            ["ssh-keygen", "-F", host, "-f", home + "/.ssh/known_hosts"],
            environment: ProcessEnvironment.forGit, timeout: .seconds(10),
            group: .ours)
        return outcome?.status == 0
    }

    /// Base64 without padding, as ssh-keygen prints fingerprints.
    static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var value = group.reduce(0) { $0 << 8 | UInt32($1) }
            value <<= UInt32(8 * (3 - group.count))
            for place in 0...group.count { text.append(digits[Int(value >> UInt32(18 - 6 * place) & 63)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
