import Stores
import System
import SystemPackage

extension Sharing {
    /// Decrypts a secret for each list of recipients of a store, so that gpg-agent asks for the passphrases that it does not know,
    /// in the terminal that GPG_TTY names, and knows them from then on. What they hold is forgotten at once.
    /// - Returns: for how many lists a secret could be decrypted.
    public func unlock(store name: String) throws(DaemonError) -> Int {
        let store = try store(named: name, for: .reading)
        return try DaemonError.wrapping {
            var count = 0
            for list in try store.recipientFiles(below: FilePath()) {
                let secrets = try store.secrets(below: list.removingLastComponent(), nested: false)
                let hidden = Set(try store.unreadable(secrets))
                guard let secret = secrets.first(where: { !hidden.contains($0) }) else { continue }
                _ = try store.plaintext(of: secret, cancellation: nil)
                count += 1
            }
            return count
        }
    }
}
