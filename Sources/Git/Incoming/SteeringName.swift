import System
public import SystemPackage

/// What a name means to git or to passdir itself: only their user puts such a file in place, whatever others push beside
/// it or into the history.
public enum SteeringName: Sendable {
    /// Git's own folder, a file of passdir's own, or what no working tree may have.
    case forbidden
    /// `.gitignore`, `.gitattributes`, `.gitmodules`.
    case rules
    /// A list of recipients, or its signature.
    case list

    /// nil for any other name, such as a secret's.
    public init?(_ name: FilePath.Component) {
        let bytes = name.bytes
        if IncomingName.objection(bytes) != nil {
            self = .forbidden
        } else if RuleFiles.names.contains(IncomingName.plain(bytes[...])) {
            self = .rules
        } else if StoreFile.lists.contains(IncomingName.plain(bytes[...])) {
            self = .list
        } else {
            return nil
        }
    }
}

extension FilePath {
    /// Whether a name in it is one that no working tree may have.
    public var hasForbiddenName: Bool {
        components.contains { SteeringName($0) == .forbidden }
    }
}
