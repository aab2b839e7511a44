import Git
import OpenPGP
public import Stores
public import SystemPackage

/// Which commit brought a `.gpg-id` as it is.
public struct RecipientOrigin: Sendable, Equatable {
    /// The commit's full name.
    public var commit: String
    /// `Ann <ann@example.org>`.
    public var author: String
    /// Seconds since 1970.
    public var time: Int64
    /// The fingerprint of the key that signed the commit; nil where it is not signed, or its signature is not good.
    public var signer: String?

    /// Looks it up; nil where the file is not committed as it lies there, or the store is no git repository.
    public init?(of file: FilePath, in store: Store) {
        guard let place = store.repositories.around(file),
            let repository = (try? store.repositories.open(place)) ?? nil,
            case .branch(_, _, let tip?)? = try? repository.head()
        else { return nil }
        var relative = file
        guard place.isEmpty || relative.removePrefix(place),
            let bytes = try? store.read(file, limit: TreeBounds.recipients),
            let committed = (try? repository.blobID(at: relative, in: tip)) ?? nil,
            (try? repository.blob(committed, atMost: bytes.count)) == bytes,
            let info = (try? repository.lastChange(of: relative, from: tip)) ?? nil
        else { return nil }
        commit = info.id.hex
        author = "\(info.author.name) <\(info.author.email)>"
        time = info.author.time
        if let signature = (try? repository.signature(of: info.id)) ?? nil {
            signer =
                (try? store.engine.verifyDetached(signature: signature.signature, of: signature.signed))?
                .first?.description
        }
    }
}
