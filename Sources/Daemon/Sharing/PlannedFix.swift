public import OpenPGP
public import Stores
import SystemPackage

/// What `Sharing.fix` is to do, as it is shown before: which secrets, and to whom.
public struct PlannedFix: Sendable {
    /// `STORE/FOLDER`.
    public var place: String
    /// The folder, relative to the store.
    let folder: FilePath
    /// The secrets.
    public var secrets: [DifferingSecret]
    /// By list, the keys that nobody here has agreed to.
    let unagreed: [FilePath: [Recipient]]
    let lists: [FilePath: RecipientList]
    let store: Store

    /// The keys that would be encrypted to and that you have not agreed to, each once.
    public var foreign: [Recipient] {
        var found: [Recipient] = []
        for (_, keys) in unagreed.sorted(by: { $0.key.string < $1.key.string }) {
            found += keys.filter { key in
                !found.contains { $0.key.fingerprint == key.key.fingerprint }
            }
        }
        return found
    }

    /// The secrets by whom they will be for.
    public var groups: [(readers: [Recipient], secrets: [DifferingSecret])] {
        var found: [(readers: [Recipient], secrets: [DifferingSecret])] = []
        for secret in secrets {
            if let index = found.firstIndex(where: { $0.readers == secret.readers }) {
                found[index].secrets.append(secret)
            } else {
                found.append((secret.readers, [secret]))
            }
        }
        return found
    }
}
