public import Access
import Mount
import Settings
import Stores
import SystemPackage

/// The place of rules that a user means: STORE, STORE/FOLDER or STORE/SECRET, as the mount shows it.
public enum AccessPlace {
    /// Whether a secret, a folder or a store is there under this name.
    public static func isThere(_ place: String, environment: [String: String]) -> Bool {
        guard let opener = try? StoreOpener(environment: environment),
            let typed = try? TypedPlace(place, in: opener.registry, environment: environment),
            let root = try? typed.store.root(for: .reading, environment: environment)
        else { return false }
        guard !typed.path.isEmpty else { return true }
        return (try? root.status(of: VisibleName.backingPath(of: typed.path, in: root))) != nil
    }

    /// What rules decide for a reader of a secret: of a second version as of the secret to which it belongs; of several to which
    /// it may belong, the strictest.
    /// - Returns: the decision, and the secret for which it is.
    public static func decision(
        of secret: String, by rules: AccessRules, for reader: Access.Reader
    ) -> (decision: Decision, secret: String) {
        let all = JudgedPlaces.of(secret, ruled: rules.places(below:), isRuled: rules.hasRules(at:)).map {
            (decision: rules.decide(reader, at: $0), secret: $0)
        }
        return all.first { $0.decision.outcome == .deny } ?? all.first { $0.decision.outcome != .allow }
            ?? all[0]
    }

    /// - Throws: one sentence where it lies in no store.
    public static func named(_ text: String, environment: [String: String]) throws(DaemonError) -> String {
        try TypedPlace.refuseSteppingUp(text)
        let opener = try StoreOpener(environment: environment)
        let words = FilePath(text).lexicallyNormalized().string
        // Also of a store that is no longer there.
        if opener.configuration.accessSections.contains(where: { $0.place == words }) { return words }
        let place = try TypedPlace(text, in: opener.registry, environment: environment)
        guard !place.path.isEmpty else { return place.store.name }
        guard let root = try? place.store.root(for: .reading, environment: environment) else {
            return "\(place.store.name)/\(place.path)"
        }
        let backing = VisibleName.backingPath(of: place.path, in: root)
        return "\(place.store.name)/\(VisibleName.visiblePath(of: backing, in: root))"
    }
}
