public import OpenPGP
public import Stores
public import System
import SystemPackage

/// Reads texts of secrets for one run of a command. What holds for all of them is found out once: what the mount holds unsaved,
/// and for which keys nobody enters a passphrase.
public final class SecretReader {
    /// The text of a secret.
    public struct Content: Sendable {
        /// The text.
        public var bytes: SecretBytes
        /// The file on disk that it is the text of, or will be saved to.
        public var status: FileStatus
    }

    /// Why a secret is not read.
    enum Failure: Error {
        /// A sentence of its own.
        case told(DaemonError)
        /// The passphrase of its key was asked for before, in vain.
        case refusedBefore(DaemonError)

        var error: DaemonError {
            switch self {
            case .told(let error), .refusedBefore(let error): error
            }
        }
    }

    private let cancellation: Cancellation?
    private let environment: [String: String]
    private lazy var unsaved = UnsavedTexts(environment: environment)
    /// The ids of our keys for which somebody was asked in vain; 0 is that of a hidden recipient.
    private var refused: Set<UInt64> = []

    /// - Parameter cancellation: closes a prompt for a passphrase.
    public init(cancellation: Cancellation?, environment: [String: String]) {
        (self.cancellation, self.environment) = (cancellation, environment)
    }

    /// The text of the secret, for who started this command: the rules of who may read hold for them, and a locked store is
    /// not read. It is the mount's where that holds one that is not saved yet. May wait for a person and for a passphrase.
    /// - Throws: one sentence where there is no secret, it is not to be shown, or cannot be decrypted.
    public func text(of secret: SecretPlace) throws(DaemonError) -> Content {
        do throws(Failure) { return try read(secret) } catch { throw error.error }
    }

    func read(_ secret: SecretPlace) throws(Failure) -> Content {
        do {
            return try secret.judged(environment: environment) { place in
                if let text = try unsaved.text(of: place) { return text }
                return try decrypt(place)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .told(DaemonError(wrapping: error))
        }
    }

    private func decrypt(_ place: SecretPlace) throws(Failure) -> Content {
        let keys = refused.isEmpty ? [] : place.store.ownKeyIDs(of: place.file)
        let mayAsk = keys.isEmpty || !keys.isSubset(of: refused)
        do throws(StoreError) {
            let text = try place.store.plaintext(
                of: place.file, cancellation: cancellation, mayAsk: mayAsk)
            return Content(bytes: text.bytes, status: text.status)
        } catch {
            if !mayAsk, [.openPGP(.noPinentry), .openPGP(.timedOut)].contains(error.code) {
                let sentence = "\(place.name) is not read: nobody entered the passphrase of its key"
                throw .refusedBefore(DaemonError(message: sentence))
            }
            if error.isAPersonsAnswer { refused.formUnion(place.store.ownKeyIDs(of: place.file)) }
            throw .told(place.failure(error))
        }
    }
}

extension SecretPlace {
    /// Why the secret cannot be read, by its name, and what to do about it.
    fileprivate func failure(_ error: StoreError) -> DaemonError {
        let way: String =
            switch error.code {
            case .openPGP(.noSecretKey):
                "passdir recipients show \(ShellWord.quoted(name)) lists who can read it"
            case .openPGP(.notEncrypted), .openPGP(.corrupt):
                "passdir restore \(ShellWord.quoted(name)) brings back an earlier version"
            default: ""
            }
        guard case .openPGP = error.code else { return DaemonError(message: error.message) }
        return DaemonError(
            message: "\(name) cannot be read: \(error.message)" + (way.isEmpty ? "" : "; \(way)"))
    }
}
