public import Access
import Fuse
import Stores
import SystemPackage

/// The place by whose rules a file is judged: a second version of a secret as the secret, so that a conflict makes nothing
/// readable.
extension ReadJudge {
    /// - Parameters:
    ///   - place: STORE/PATH, as the mount shows it.
    ///   - reader: the thread that reads.
    public func judgedPlace(of place: String, reader: Int32) -> String {
        strictest(of: judgedPlaces(of: place), reader: reader)
    }

    func judgedPlaces(of place: String) -> [String] {
        JudgedPlaces.of(place, ruled: ruledPlaces(below:), isRuled: hasRules(at:))
    }

    /// Of several places the strictest: nobody knows which it is.
    func strictest(of places: [String], reader: Int32) -> String {
        places.dropFirst().first { allows(reader, reading: $0) == nil } ?? places[0]
    }
}

/// By which place a file was judged last, so that a program that opens it again and again costs little.
struct JudgedName: Sendable {
    /// While all of it is the same, so is the place.
    struct Basis: Sendable {
        /// Of the tree.
        let renames: UInt64
        let store: String
        let rules: AccessGate.InForce
    }

    private let basis: Basis
    private let place: String

    init(_ basis: Basis, _ place: String) { (self.basis, self.place) = (basis, place) }

    /// nil where it may be another one.
    func place(by now: Basis) -> String? {
        basis.renames == now.renames && basis.rules === now.rules && basis.store == now.store ? place : nil
    }
}

/// The places by whose rules a file may be judged.
public enum JudgedPlaces {
    private static let suffix = String(decoding: Name.secretSuffix, as: UTF8.self)

    /// The place itself, or that of the secret to which a second version belongs; then the secrets with rules to which it may
    /// belong where its name was cut; of each also the other name by which a secret is shown where something else has its own:
    /// `foo` with `.gpg` or without. Never none.
    ///
    /// - Parameters:
    ///   - place: STORE/PATH, as the mount shows it.
    ///   - ruled: the places with rules below a folder.
    ///   - isRuled: whether a place has rules of its own.
    public static func of(
        _ place: String, ruled: (_ folder: String) -> [String], isRuled: (_ place: String) -> Bool
    ) -> [String] {
        versions(of: place, ruled).flatMap { place -> [String] in
            if place.utf8.suffix(4).elementsEqual(Name.secretSuffix) {
                return [place] + versions(of: FilePath(place).withoutSuffix.string, ruled)
            }
            let suffixed = place + suffix
            return isRuled(suffixed) ? [place, suffixed] : [place]
        }
    }

    private static func versions(of place: String, _ ruled: (_ folder: String) -> [String]) -> [String] {
        guard ConflictName.isLikely(place) else { return [place] }
        let path = FilePath(place)
        let folder = path.removingLastComponent()
        guard !folder.isEmpty, let name = path.lastComponent, let original = ConflictName.original(of: path)
        else { return [place] }
        let others = ruled(folder.string).filter {
            let one = FilePath($0)
            return one.removingLastComponent() == folder
                && one.lastComponent.map { ConflictName.isCut(name, from: $0) } == true
        }
        return [original.string] + others
    }
}
