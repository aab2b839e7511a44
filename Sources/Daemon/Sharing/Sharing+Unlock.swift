import OpenPGP
import Stores
import System
import SystemPackage

extension Sharing {
    /// What an unlock of a store has come to.
    public struct Unlocking: Sendable {
        /// The lists of recipients for which a secret could be decrypted.
        public var listCount = 0
        /// Of each list for which none could, why, as a sentence.
        public var complaints: [String] = []
    }

    /// How many secrets of a list are tried: others may push any number that are damaged.
    private static let mostTries = 20

    /// Decrypts a secret for each list of recipients of a store, so that gpg-agent asks for the passphrases that it does not know,
    /// in the terminal that GPG_TTY names, and knows them from then on. What they hold is forgotten at once.
    /// - Throws: what the person who is asked answers, and what keeps the store from being looked at.
    public func unlock(store name: String) throws(DaemonError) -> Unlocking {
        let store = try store(named: name, for: .reading)
        return try DaemonError.wrapping {
            var unlocking = Unlocking()
            for list in try store.recipientFiles(below: FilePath()) {
                let secrets = try store.secrets(below: list.removingLastComponent(), nested: false)
                let hidden = Set(try store.unreadable(secrets))
                var complaint: String?
                for secret in secrets.lazy.filter({ !hidden.contains($0) }).prefix(Self.mostTries) {
                    guard let objection = try Self.objection(toReading: secret, in: store) else {
                        unlocking.listCount += 1
                        complaint = nil
                        break
                    }
                    complaint = complaint ?? objection
                }
                if let complaint { unlocking.complaints.append(complaint) }
            }
            return unlocking
        }
    }

    /// Why a secret cannot be decrypted, as a sentence: a damaged one says nothing about its keys. nil when it can.
    /// - Throws: what the person who is asked answers.
    private static func objection(toReading secret: FilePath, in store: Store) throws(StoreError) -> String? {
        do throws(StoreError) {
            _ = try store.plaintext(of: secret, cancellation: nil)
            return nil
        } catch {
            guard !error.isAPersonsAnswer else { throw error }
            return "\(store.name)/\(store.visiblePath(of: secret)): \(error.message)"
        }
    }
}

extension StoreError {
    /// Whether somebody was asked for a passphrase, or could not be.
    fileprivate var isAPersonsAnswer: Bool {
        [.badPassphrase, .declined, .timedOut, .noPinentry].contains { code == .openPGP($0) }
    }
}
