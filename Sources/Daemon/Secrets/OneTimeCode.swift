import Contents
import Glibc
import Mount
public import OpenPGP
import Settings
import Stores
public import System
import SystemPackage

/// One-time codes of secrets, and the URIs that they are made from.
public enum OneTimeCode {
    /// The present code of a secret. One that counts its codes is saved with the next number before the code is given, so that
    /// no code is given twice.
    /// - Throws: one sentence where there is none.
    public static func next(
        of place: SecretPlace, cancellation: Cancellation?, environment: [String: String]
    ) throws(DaemonError) -> SecretBytes {
        let place = try place.followed()
        let plaintext = try place.text(cancellation: cancellation, environment: environment)
        let password = try Self.password(plaintext.bytes, place.name)
        guard case .counter = password.movement else {
            return try DaemonError.wrapping { try password.code(at: Int64(time(nil))).text }
        }
        return try counted(place, plaintext, cancellation, environment)
    }

    /// The code of a moment, of a secret whose codes go by the time.
    /// - Parameter seconds: since 1970 in UTC.
    /// - Throws: one sentence where there is none, or where a counter makes the codes: who only looks must not use one up.
    static func timed(
        _ text: SecretBytes, named name: String, at seconds: Int64
    ) throws(DaemonError) -> SecretBytes {
        let password = try Self.password(text, name)
        guard case .time = password.movement else {
            throw DaemonError(
                message: "\(name) counts its codes, and a reference must not use one up: passdir otp "
                    + "\(ShellWord.quoted(name)) prints the next one")
        }
        return try DaemonError.wrapping { try password.code(at: seconds).text }
    }

    /// The code of the counter, once it is this command's turn. A passphrase is not waited for in the turn: where the secret was
    /// changed meanwhile, it is read again out of turn.
    private static func counted(
        _ place: SecretPlace, _ plaintext: SecretReader.Content, _ cancellation: Cancellation?,
        _ environment: [String: String]
    ) throws(DaemonError) -> SecretBytes {
        var plaintext = plaintext
        for _ in 0..<16 {
            let turn = try turn(for: "\(place.store.name)/\(place.file)", environment)
            let disk = try? place.store.root.status(of: place.file)
            if let disk, disk.isUnchanged(since: plaintext.status) {
                return try withExtendedLifetime(turn) { () throws(DaemonError) in
                    try counted(place, plaintext, environment)
                }
            }
            _ = consume turn
            plaintext = try place.text(cancellation: cancellation, environment: environment)
        }
        throw DaemonError(message: "\(place.name) keeps being changed: try again")
    }

    private static func counted(
        _ place: SecretPlace, _ now: SecretReader.Content, _ environment: [String: String]
    ) throws(DaemonError) -> SecretBytes {
        let password = try Self.password(now.bytes, place.name)
        guard case .counter(let counter) = password.movement, counter < .max else {
            throw DaemonError(message: "\(place.name) was changed just now, or has given all its codes")
        }
        let next = try DaemonError.wrapping {
            try now.bytes.withUnsafeBytes { try SecretEdit.settingCounter(of: $0, to: counter + 1) }
        }
        let access = try StoreAccess.open(place.store.name, for: .writing, environment: environment)
        let writable = SecretPlace(access, place.path, namesFolder: false)
        let kept = try writable.save(
            next, replacing: now.status, losing: .agreed,
            message: "Increment HOTP counter for \(place.passName).")
        if let kept {
            throw DaemonError(
                message:
                    "another program saved \(place.name) just now, and its version is kept as \(kept): try again"
            )
        }
        return try DaemonError.wrapping { try password.code(counter: counter) }
    }

    /// The otpauth URI of a secret.
    public static func uri(_ text: SecretBytes, named name: String) throws(DaemonError) -> SecretBytes {
        let range = text.withUnsafeBytes { SecretText($0).oneTimeURI }
        guard let range else { throw missing(name) }
        return try DaemonError.wrapping {
            try text.withUnsafeBytes { try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }

    /// A text with an otpauth URI in place of the one that it has, or with one more line for it.
    /// - Parameter text: nil for a new secret.
    public static func adding(_ uri: SecretBytes, to text: SecretBytes?) throws(DaemonError) -> SecretBytes {
        try DaemonError.wrapping {
            let text = try text ?? SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
            return try text.withUnsafeBytes { text in
                try uri.withUnsafeBytes { try SecretEdit.settingOneTimeURI(of: text, to: $0) }
            }
        }
    }

    private static func password(_ text: SecretBytes, _ name: String) throws(DaemonError) -> OneTimePassword {
        guard let uri = text.withUnsafeBytes({ SecretText($0).oneTimeURI }) else { throw missing(name) }
        do throws(ContentsError) {
            return try text.withUnsafeBytes { (bytes) throws(ContentsError) in
                try OneTimePassword(uri: UnsafeRawBufferPointer(rebasing: bytes[uri]))
            }
        } catch {
            throw DaemonError(message: "\(name): \(error)")
        }
    }

    private static func missing(_ name: String) -> DaemonError {
        DaemonError(message: "\(name) has no otpauth URI: passdir otp add \(ShellWord.quoted(name)) adds one")
    }

    private static func turn(
        for secret: String, _ environment: [String: String]
    ) throws(DaemonError) -> OwnedDescriptor {
        do throws(Errno) {
            return try CountingLock.wait(for: secret, environment: environment)
        } catch {
            let folder = Directories(environment: environment).runtime
            throw DaemonError(message: "no code is counted, as \(folder) cannot be used: \(error)")
        }
    }
}
