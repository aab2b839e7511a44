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
        // Two commands at once must not both have this number.
        return try inTurn(environment) { () throws(DaemonError) in
            try counted(place, cancellation, environment)
        }
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

    private static func counted(
        _ place: SecretPlace, _ cancellation: Cancellation?, _ environment: [String: String]
    ) throws(DaemonError) -> SecretBytes {
        let now = try place.text(cancellation: cancellation, environment: environment)
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

    /// Runs one after the other what several commands want at once.
    private static func inTurn<Value>(
        _ environment: [String: String], _ body: () throws(DaemonError) -> Value
    ) throws(DaemonError) -> Value {
        let turn = try turn(environment)
        return try withExtendedLifetime(turn) { () throws(DaemonError) in try body() }
    }

    private static func turn(_ environment: [String: String]) throws(DaemonError) -> CountingTurn {
        do throws(Errno) {
            return try CountingTurn.wait(environment)
        } catch {
            let folder = Directories(environment: environment).runtime
            throw DaemonError(message: "no code is counted, as \(folder) cannot be used: \(error)")
        }
    }
}

extension CountingTurn {
    /// Waits for the turn, by a lock that the daemon and all commands of a user take.
    static func wait(_ environment: [String: String]) throws(Errno) -> CountingTurn {
        let folder = Directories(environment: environment).runtime
        do throws(SettingsError) {
            try Directories.makePrivate(folder)
        } catch {
            throw .permissionDenied
        }
        let file = try OwnedDescriptor(
            opening: folder.appending("counting"), O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        try file.lock(LOCK_EX)
        return CountingTurn(holding: file)
    }
}
