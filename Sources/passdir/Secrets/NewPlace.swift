import Daemon
import Stores
import SystemPackage

/// The place that a command saves to, where a person may have to say in which store.
enum NewPlace {
    /// - Throws: one sentence where it cannot be told which place is meant.
    static func find(_ text: String, environment: [String: String]) throws -> SecretPlace {
        let search = try SecretSearch(environment: environment)
        let names: [String]
        switch try search.target(text) {
        case .place(let place): return place
        case .oneOf(let stores): names = stores
        }
        let all = names.joined(separator: ", ")
        guard Terminal.isThere else {
            throw CommandFailure(
                "no store has \"\(text)\": name the one that it belongs in, as \(names[0])/\(text); there are: \(all)"
            )
        }
        guard let answer = Terminal.line("Which store is \(text) for (\(all))? [\(names[0])] ") else {
            StandardError.endLine()
            throw CommandFailure("nothing was changed")
        }
        let name = answer.isEmpty ? names[0] : answer
        guard names.contains(name) else {
            throw CommandFailure("there is no store \"\(answer)\" to choose; nothing was changed")
        }
        let place = try search.place(text, inStore: name)
        search.remember(chosen: place.store)
        return place
    }
}

/// Asks before a secret is replaced.
enum Overwriting {
    /// - Throws: where that was not agreed to.
    static func require(_ names: [String], force: Bool) throws {
        guard let first = names.first, !force else { return }
        let more = names.count > 1 ? " and \(names.count - 1) more" : ""
        guard Confirmation.isPossible else {
            throw CommandFailure(
                "nothing was changed, as \(first)\(more) is there already: --force replaces it")
        }
        try Confirmation.require("\(first)\(more) is there already. Replace it?")
    }
}
