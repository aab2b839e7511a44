import Glibc
import OpenPGP
public import Stores
import System
public import SystemPackage

/// Secrets that a merge has left encrypted to others than their `.gpg-id` names: one machine saved them before it heard of a
/// change of recipients that another had made. Each is named until it is encrypted anew or gone.
public struct DriftList: Sendable {
    private static let fact = "drift"
    /// More are not noted: `recipients check` has them all.
    private static let mostNoted = 1000

    let store: Store

    /// The secrets of a store.
    public init(_ store: Store) {
        self.store = store
    }

    /// Those that are still as the merge left them, relative to the store; what was mended is forgotten, and what cannot be told
    /// now is not. Reads the packets of each.
    public func review() -> [FilePath] {
        let noted = noted
        guard !noted.isEmpty else { return [] }
        let findings = findings(noted)
        let left = zip(noted, findings).filter { $1 != .fine }.map(\.0)
        if left.count < noted.count { note(left) }
        return zip(noted, findings).filter { $1 == .drifted }.map(\.0)
    }

    /// Looks at secrets that others brought, and at all for which a list counts that they brought.
    /// - Parameter paths: of what they brought, relative to the store.
    /// - Returns: those that are not encrypted to just whom their lists name and were not noted yet; not those that no key of
    ///   ours opens, which we could not encrypt anew.
    func look(at paths: Set<FilePath>) -> [FilePath] {
        var candidates = paths.filter(\.isSecretName)
        for list in paths where Store.isRecipientFile(list) {
            candidates.formUnion(
                (try? store.secrets(below: list.removingLastComponent(), nested: false)) ?? [])
        }
        let noted = Set(noted)
        let unknown = candidates.subtracting(noted).sorted { $0.string < $1.string }
        let findings = Dictionary(zip(unknown, findings(unknown)), uniquingKeysWith: { first, _ in first })
        let new = readable(unknown.filter { [.drifted, .unagreed].contains(findings[$0]) })
        if !new.isEmpty { note(noted.sorted { $0.string < $1.string } + new) }
        // Until their user has agreed, `status` asks for that; from then on these are named.
        return new.filter { findings[$0] == .drifted }
    }

    private var noted: [FilePath] {
        (store.fact(Self.fact) ?? "").split(separator: "\n").map { FilePath(bytes: PercentText.decoded($0)) }
    }

    private func note(_ paths: [FilePath]) {
        let lines = paths.prefix(Self.mostNoted).map { PercentText.encoded($0.bytes) }
        store.remember(lines.isEmpty ? nil : lines.joined(separator: "\n"), as: Self.fact)
    }

    private enum Finding {
        case drifted
        /// The list names others, and its user has not agreed to it: `status` asks for that first.
        case unagreed
        /// It is for whom its list names, or gone.
        case fine
        /// Nobody can say.
        case unknown
    }

    private func findings(_ secrets: [FilePath]) -> [Finding] {
        var lists: [FilePath: (readers: KnownReaders, isAgreed: Bool)?] = [:]
        // Others may push any number of lists that cannot be used, and for each a gpg may be started.
        var unusable = 0
        return secrets.map { secret in
            let folder = secret.removingLastComponent()
            if lists[folder] == nil, unusable < Store.mostUnknownNames {
                let list = list(for: secret)
                lists[folder] = .some(list)
                if list == nil { unusable += 1 }
            }
            do throws(StoreError) {
                let ids = try store.recipientKeyIDs(of: secret)
                guard let list = lists[folder] ?? nil else { return .unknown }
                guard list.readers.isDrift(ids, of: secret, in: store) else { return .fine }
                return list.isAgreed ? .drifted : .unagreed
            } catch {
                return error.code == .system(.noSuchFileOrDirectory) ? .fine : .unknown
            }
        }
    }

    /// Those that name a key of ours.
    private func readable(_ secrets: [FilePath]) -> [FilePath] {
        guard !secrets.isEmpty, let mine = try? store.allOwnKeyIDs() else { return [] }
        return secrets.filter { secret in
            (try? store.recipientKeyIDs(of: secret)).map { !mine.isDisjoint(with: $0) } ?? false
        }
    }

    private func list(for secret: FilePath) -> (readers: KnownReaders, isAgreed: Bool)? {
        guard let (list, isWhole) = try? store.knownList(for: secret), list.file != nil else { return nil }
        let isAgreed = (try? store.checkAgreed(list, for: secret)) != nil
        return (KnownReaders(recipients: list.recipients, isWhole: isWhole), isAgreed)
    }

    /// What is said of such secrets; no full stop.
    static func sentence(_ secrets: [FilePath], of store: Store) -> String {
        sentence(secrets.map { store.visiblePath(of: $0).string }, ofStore: store.name)
    }

    /// As above, of secrets as the mount shows them.
    public static func sentence(_ secrets: [String], ofStore store: String) -> String {
        let names = secrets.map { VisibleText.cut($0, atMost: 100) }
        return "not encrypted to exactly \(names.count == 1 ? "its" : "their") recipients since a merge: "
            + "\(names.listed); passdir recipients check \(ShellWord.quoted(store)) --fix re-encrypts "
            + (names.count == 1 ? "it" : "them")
    }
}

/// Whom a list names, as far as their keys are here.
private struct KnownReaders {
    let recipients: [Recipient]
    let isWhole: Bool

    /// Whether a message with these ids is for others than these. Where a name of the list means no key here, only a key that is
    /// here and not named tells.
    func isDrift(_ ids: [UInt64], of secret: FilePath, in store: Store) -> Bool {
        guard RecipientMatch(actual: ids, recipients: recipients, at: Int64(time(nil))) == .different else {
            return false
        }
        guard !isWhole else { return true }
        let named = Set(recipients.flatMap(\.key.subkeys).map(\.keyID))
        return (try? store.readers(of: secret))?.contains { $0.key != nil && !named.contains($0.keyID) }
            == true
    }
}
