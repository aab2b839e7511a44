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
        /// Whether the store may be read again: who has no key for it is asked for none, and what nobody can read needs no lock.
        public var isOpen: Bool { listCount > 0 || complaints.isEmpty }
    }

    /// How many secrets of a list are tried at least, the likeliest first, and for how long: others may push any number that are
    /// damaged.
    private static let fewestTries = 20
    private static let longestTry = Duration.seconds(2)

    /// Decrypts a secret for each list of recipients of a store, so that gpg-agent asks for the passphrases that it does not know,
    /// in the terminal that GPG_TTY names, and knows them from then on. What they hold is forgotten at once.
    /// - Parameter cancellation: closes the prompt.
    /// - Throws: what the person who is asked answers, and what keeps the store from being looked at.
    public func unlock(
        store name: String, cancellation: Cancellation? = nil
    ) throws(DaemonError) -> Unlocking {
        let store = try store(named: name, for: .reading)
        return try DaemonError.wrapping {
            var unlocking = Unlocking()
            for list in try store.recipientFiles(below: FilePath()) {
                var complaint: String?
                let start = ContinuousClock.now
                for (number, secret) in try Self.readable(store, list).enumerated() {
                    guard number < Self.fewestTries || .now - start < Self.longestTry else { break }
                    do throws(StoreError) {
                        _ = try store.plaintext(of: secret, cancellation: cancellation)
                        unlocking.listCount += 1
                        complaint = nil
                        break
                    } catch {
                        guard !error.isAPersonsAnswer else { throw error.whileUnlocking(store) }
                        // A damaged one says nothing about its keys, and one that was just renamed nothing at all.
                        guard error.code != .system(.noSuchFileOrDirectory) else { continue }
                        complaint =
                            complaint ?? "\(store.name)/\(store.visiblePath(of: secret)): \(error.message)"
                    }
                }
                if let complaint { unlocking.complaints.append(complaint) }
            }
            return unlocking
        }
    }

    /// The secrets that are tried for a list, the likeliest first.
    private static func readable(_ store: Store, _ list: FilePath) throws -> [FilePath] {
        let secrets = try store.secrets(below: list.removingLastComponent(), nested: false)
        return try store.likelyReadable(secrets)
    }

    /// Whether `unlock` would have somebody asked for a passphrase; false where that cannot be told. Asks nobody.
    public func asksForPassphrase(toUnlock name: String) -> Bool {
        guard let store = try? store(named: name, for: .reading),
            let lists = try? store.recipientFiles(below: FilePath())
        else { return false }
        return lists.contains { list in
            guard let first = try? Self.readable(store, list).first else { return false }
            return store.asksForPassphrase(toRead: first)
        }
    }
}

extension StoreError {
    /// As a sentence that names the store.
    fileprivate func whileUnlocking(_ store: Store) -> StoreError {
        // Whoever types `passdir unlock` is not told to do so.
        let isPlain = (store.engine as? OpenPGPEngine)?.missingPinentry == nil
        let reason =
            code == .openPGP(.noPinentry) && isPlain
            ? "the passphrase prompt could not be opened, or ended without an answer; try again in a terminal"
            : message
        return StoreError(code, "\(store.name) cannot be unlocked: \(reason)")
    }
}
