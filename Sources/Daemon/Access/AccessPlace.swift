public import Access
import Mount
import Settings
import Stores
import System
import SystemPackage

/// The place of rules that a user means: STORE, STORE/FOLDER or STORE/SECRET, as the mount shows it.
public enum AccessPlace {
    /// What is there under the name of a rule's place.
    public enum Finding: Sendable {
        /// A store, a folder or a secret; or nothing can be said, as its disk does not answer.
        case something
        case nothing
        /// A symbolic link: what it leads to has a name of its own, for which the rule does not hold.
        case link
    }

    /// Looks for what rules are for, by one reading of the configuration.
    public static func findings(environment: [String: String]) -> (_ place: String) -> Finding {
        let opener = try? StoreOpener(environment: environment)
        return { place in
            guard let opener,
                let typed = try? TypedPlace(place, in: opener.registry, environment: environment)
            else { return .nothing }
            guard let root = try? typed.store.root(for: .reading, environment: environment),
                !typed.path.isEmpty
            else { return .something }
            do throws(Errno) {
                let path = VisibleName.backingPath(of: typed.path, in: root)
                guard let status = try root.statusIfPresent(of: path) else { return .nothing }
                return status.kind == .symbolicLink ? .link : .something
            } catch {
                return error == .notDirectory ? .nothing : .something
            }
        }
    }

    /// The rules that hold for a name and what lies below it, and that whatever gets another name leaves behind, as one sentence
    /// without a full stop; nil where there are none.
    static func left(by former: String, now name: String, environment: [String: String]) -> String? {
        guard let rules = try? AccessOptions(Daemon.configuration(environment)).rules,
            rules.hasRules(at: former) || !rules.places(below: former).isEmpty
        else { return nil }
        return
            "the access rules of \(former) stay with that name and do not hold for \(name): "
            + "set them there with passdir access set, and remove the others with passdir access unset"
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
