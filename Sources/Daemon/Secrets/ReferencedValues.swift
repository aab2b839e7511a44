public import Contents
import Glibc
public import OpenPGP
import Stores
public import System
import SystemPackage

/// The values that the references of templates stand for. Each secret is read once, however many references lead to it, and all
/// codes are of one moment.
public final class ReferencedValues {
    /// Reads the text of a secret for whoever gets the values, by the rules that hold for them.
    typealias Reading = (SecretPlace) throws(DaemonError) -> SecretBytes

    private struct Key: Hashable {
        let store: String
        let file: FilePath
    }

    private let opener: StoreOpener
    private let moment: Int64
    private let read: Reading
    private var stores: [String: StoreAccess] = [:]
    private var texts: [Key: SecretBytes] = [:]

    /// - Parameter moment: of which the codes are, in seconds since 1970 in UTC.
    init(_ opener: StoreOpener, at moment: Int64, read: @escaping Reading) {
        (self.opener, self.moment, self.read) = (opener, moment, read)
    }

    /// For who started this command: the rules of who may read hold for them, and a locked store is not read.
    /// - Throws: one sentence where the configuration cannot be read.
    public convenience init(
        cancellation: Cancellation?, environment: [String: String]
    ) throws(DaemonError) {
        let reader = SecretReader(cancellation: cancellation, environment: environment)
        self.init(try StoreOpener(environment: environment), at: Int64(time(nil))) {
            place throws(DaemonError) in
            try reader.text(of: place).bytes
        }
    }

    /// The value that a reference stands for, as it is in the secret. May wait for a person and for a passphrase.
    /// - Throws: one sentence where there is none, or it is not to be read.
    public func value(of target: TemplateReference.Target) throws(DaemonError) -> SecretBytes {
        let place = try place(target).followed()
        let text = try text(place)
        switch target.part {
        case .whole: return text
        case .first: return try SecretPart.first.of(text, named: place.name)
        case .field(let key): return try SecretPart.field(key).of(text, named: place.name)
        case .oneTimeCode: return try OneTimeCode.timed(text, named: place.name, at: moment)
        }
    }

    private func text(_ place: SecretPlace) throws(DaemonError) -> SecretBytes {
        let key = Key(store: place.store.name, file: place.file)
        if let known = texts[key] { return known }
        let text = try read(place)
        texts[key] = text
        return text
    }

    private func place(_ target: TemplateReference.Target) throws(DaemonError) -> SecretPlace {
        let access: StoreAccess
        if let known = stores[target.store] {
            access = known
        } else {
            access = try StoreAccess.open(
                try opener.definition(named: target.store), FilePath(), opener, for: .reading)
            stores[target.store] = access
        }
        let path = FilePath(root: nil, FilePath(target.path).components)
        let place = SecretPlace(access, path, namesFolder: false)
        guard place.kind != .nothing else {
            throw DaemonError(
                message: "there is no secret \"\(target.path)\" in the store \"\(target.store)\"")
        }
        return place
    }
}
