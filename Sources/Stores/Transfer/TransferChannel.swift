import Git
import Glibc
import OpenPGP
import System
import SystemPackage

/// What a transfer process says to whoever started it, a message a packet, over a socket that the process inherits:
/// neither an argument nor a variable ever holds a credential.
enum TransferMessage: Sendable {
    case progress(TransferProgress)
    /// The process asks for a credential and waits.
    case wanted(CredentialRequest)
    /// What references of the remote lead to.
    case listed([ObjectID])
    /// - Parameter tip: what the branch leads to, where that was asked.
    case succeeded(tip: ObjectID?)
    case failed(TransferFailure)

    /// Fields, separated by tabs; sentences and URLs have none.
    var text: String {
        let fields: [String] =
            switch self {
            case .progress(let progress):
                ["progress", "\(progress.objects)", "\(progress.totalObjects)", "\(progress.bytes)"]
            case .wanted(let request):
                [
                    "wanted", request.url, request.usernameFromURL ?? "", "\(request.allowed.rawValue)",
                    "\(request.attempt)",
                ]
            case .listed(let tips): ["listed"] + tips.map(\.hex)
            case .succeeded(let tip): ["succeeded", tip?.hex ?? ""]
            case .failed(let failure): ["failed", failure.code.rawValue, failure.message]
            }
        return fields.map { String($0.map { $0 == "\t" || $0.isNewline ? " " : $0 }) }.joined(separator: "\t")
    }

    init?(text: String) {
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        switch (fields[0], fields.count) {
        case ("progress", 4):
            self = .progress(
                TransferProgress(
                    objects: Int(fields[1]) ?? 0, totalObjects: Int(fields[2]) ?? 0,
                    bytes: Int(fields[3]) ?? 0))
        case ("wanted", 5):
            self = .wanted(
                CredentialRequest(
                    url: fields[1], usernameFromURL: fields[2].isEmpty ? nil : fields[2],
                    allowed: .init(rawValue: UInt32(fields[3]) ?? 0), attempt: Int(fields[4]) ?? 0))
        case ("listed", _): self = .listed(fields.dropFirst().compactMap { ObjectID(hex: $0) })
        case ("succeeded", 2): self = .succeeded(tip: ObjectID(hex: fields[1]))
        case ("failed", 3):
            self = .failed(TransferFailure(code: .init(rawValue: fields[1]) ?? .other, message: fields[2]))
        default: return nil
        }
    }
}

/// One end of the socket.
struct TransferChannel: Sendable {
    /// The descriptor that the process inherits: the first after the standard three.
    static let inherited: CInt = 3
    /// A packet is never longer: sentences are cut, credentials are short.
    private static let limit = 32 << 10

    let descriptor: CInt

    func send(_ message: TransferMessage) { send(message.text) }

    /// The next message; nil at the end.
    func receive() -> TransferMessage? { receiveText().flatMap(TransferMessage.init) }

    /// The first packet, to the process. No path, name or URL holds a NUL.
    func send(_ request: TransferRequest) { send(request.fields.joined(separator: "\0")) }

    func receiveRequest() -> TransferRequest? {
        receiveText().flatMap {
            TransferRequest(
                fields: $0.split(separator: "\0", omittingEmptySubsequences: false).map(String.init))
        }
    }

    /// In packets that are not too long.
    func send(listed tips: [ObjectID]) {
        for start in stride(from: 0, to: tips.count, by: 500) {
            send(.listed(Array(tips[start..<min(start + 500, tips.count)])))
        }
    }

    private func send(_ text: String) {
        let bytes = Array(text.utf8.prefix(Self.limit))
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func receiveText() -> String? {
        var buffer = [UInt8](repeating: 0, count: Self.limit)
        var count = -1
        repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    /// Answers `wanted`: a line of fields, NUL, the secret. It is put together in secret memory.
    func send(_ credential: Credential?) {
        guard let parts = credential?.parts else {
            send(fields: ["none"], secret: nil)
            return
        }
        send(fields: parts.fields, secret: parts.secret)
    }

    private func send(fields: [String], secret: LentSecret?) {
        var buffer = SecretBuffer()
        let head = Array(fields.joined(separator: "\n").utf8) + [0]
        let isWritten = head.withUnsafeBytes { Self.append($0, to: &buffer) }
        var isWhole = isWritten
        secret?.use { bytes in isWhole = isWritten && Self.append(bytes, to: &buffer) }
        // A part of a secret is none.
        if !isWhole { buffer.clear() }
        buffer.withUnsafeBytes { bytes in
            _ = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }

    private static func append(_ bytes: UnsafeRawBufferPointer, to buffer: inout SecretBuffer) -> Bool {
        do throws(Errno) {
            try buffer.write(bytes, at: buffer.count)
            return true
        } catch {
            return false
        }
    }

    /// Waits for the answer to `wanted`.
    func receiveCredential() -> Credential? {
        var buffer = SecretBuffer()
        guard (try? buffer.resize(to: Self.limit)) != nil else { return nil }
        var count = -1
        buffer.withUnsafeBytes { bytes in
            // The pages are ours alone; they are lent as constant for everybody else.
            let target = UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
            repeat { count = recv(descriptor, target, bytes.count, 0) } while count < 0 && errno == EINTR
        }
        guard count > 0, (try? buffer.resize(to: count)) != nil else { return nil }
        let whole = buffer.freeze()
        return whole.withUnsafeBytes { bytes in
            guard let end = bytes.firstIndex(of: 0) else { return nil }
            let fields = String(decoding: bytes[..<end], as: UTF8.self).split(
                separator: "\n", omittingEmptySubsequences: false
            ).map(String.init)
            let rest = UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
            return Credential(fields: fields, secret: try? SecretBytes(copying: rest))
        }
    }
}

extension Credential {
    /// As it goes over the socket: fields, and the secret where there is one.
    fileprivate var parts: (fields: [String], secret: LentSecret?) {
        switch self {
        case .password(let name, let secret): (["password", name], secret)
        case .sshAgent(let name): (["agent", name], nil)
        case .sshKeyFile(let name, let publicKey, let privateKey, let passphrase):
            (
                [
                    "key", name, publicKey?.string ?? "", privateKey.string,
                    passphrase == nil ? "" : "passphrase",
                ],
                passphrase
            )
        case .username(let name): (["username", name], nil)
        case .negotiate: (["negotiate"], nil)
        }
    }

    fileprivate init?(fields: [String], secret: SecretBytes?) {
        let lent = secret.map { secret in LentSecret { use in secret.withUnsafeBytes { use($0) } } }
        switch (fields[0], fields.count) {
        case ("password", 2):
            guard let lent else { return nil }
            self = .password(username: fields[1], lent)
        case ("agent", 2): self = .sshAgent(username: fields[1])
        case ("key", 5):
            self = .sshKeyFile(
                username: fields[1], publicKey: fields[2].isEmpty ? nil : FilePath(fields[2]),
                privateKey: FilePath(fields[3]), passphrase: fields[4].isEmpty ? nil : lent)
        case ("username", 2): self = .username(fields[1])
        case ("negotiate", 1): self = .negotiate
        default: return nil
        }
    }
}
