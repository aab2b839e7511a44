import Daemon
import Settings
import Stores
import SystemPackage

/// Stores that were typed as arguments: by their names, or as their folders in the mount.
enum WholeStores {
    /// The name of the store that a word means; the word as it is, but for slashes at its end, where it means none.
    /// - Throws: one sentence where it means a part of one.
    static func name(_ typed: String) throws -> String {
        let word = typed.count > 1 ? String(typed.reversed().drop { $0 == "/" }.reversed()) : typed
        guard word.contains("/") || word.hasPrefix(".") else { return word }
        try TypedPlace.refuseSteppingUp(word)
        let environment = CallerEnvironment.variables()
        guard
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let place = try? TypedPlace(
                word, in: Registry(configuration, environment: environment), environment: environment)
        else { return word }
        guard place.path.isEmpty else {
            throw CommandFailure(
                "\(typed) is only part of a store, and this needs a whole store: "
                    + ShellWord.quoted(place.store.name))
        }
        return place.store.name
    }

    /// The names.
    /// - Parameter verb: what is done to them, for the sentence about a part of one.
    static func names(
        _ typed: [String], _ verb: String, environment: [String: String]
    ) throws -> [String] {
        guard typed.contains(where: { $0.contains("/") || $0.hasPrefix(".") }) else { return typed }
        let configuration = try Configuration(file: Configuration.defaultPath(environment: environment))
        let registry = Registry(configuration, environment: environment)
        return try typed.map { text in
            // A plain name may also be that of a store that is configured no longer; the daemon knows.
            guard text.contains("/") || text.hasPrefix(".") else { return text }
            let place = try TypedPlace(text, in: registry, environment: environment)
            guard place.path.isEmpty else {
                throw CommandFailure(
                    "\(text) is only part of a store, and 'passdir \(verb)' works on whole stores: passdir \(verb) "
                        + ShellWord.quoted(place.store.name))
            }
            return place.store.name
        }
    }
}
