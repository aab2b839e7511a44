public import SystemPackage
import System

extension StoreDefinition {
    /// Why its folder cannot be opened, as one sentence without a full stop: for a folder that is missing, what of its path is.
    /// - Parameter error: what opening it failed with.
    public func sentence(forUnopened error: Errno) -> String {
        guard error == .noSuchFileOrDirectory, let missing = Self.firstMissing(of: path) else {
            return "the store \"\(name)\" in \(path) cannot be opened: \(error)"
        }
        let reason =
            missing.facts() != nil
            ? ", as the link \(missing) is dangling" : missing == path ? "" : ", as \(missing) does not exist"
        return "the store \"\(name)\" cannot be opened: its folder \(path) is missing\(reason); put it back, "
            + "or run passdir store remove \(ShellWord.quoted(name)) --yes to remove the store"
    }

    /// The shortest beginning of a path at which there is nothing: a disk that is not mounted is told by its own folder.
    private static func firstMissing(of path: FilePath) -> FilePath? {
        var place: FilePath = "/"
        for component in path.components {
            place.append(component)
            if place.targetFacts() == nil { return place }
        }
        return nil
    }
}
