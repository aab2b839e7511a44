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
        guard Terminal.isThere else {
            throw CommandFailure(
                "no store has the secret \"\(text)\": name the one that it belongs in, as \(names[0])/\(text); there are: "
                    + names.joined(separator: ", "))
        }
        let all = names.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: ", ")
        guard let answer = Terminal.line("Which store is \(text) for: \(all)? [\(names[0])] ") else {
            StandardError.endLine()
            throw CommandFailure("nothing was changed")
        }
        guard let name = chosen(answer, names) else {
            throw CommandFailure("there is no store \"\(answer)\" to choose; nothing was changed")
        }
        let place = try search.newPlace(text, inStore: name)
        search.remember(chosen: place.store)
        return place
    }

    /// By its name, or its number in the question; by nothing the first.
    private static func chosen(_ answer: String, _ names: [String]) -> String? {
        if answer.isEmpty { return names[0] }
        if names.contains(answer) { return answer }
        return Int(answer).flatMap { names.indices.contains($0 - 1) ? names[$0 - 1] : nil }
    }
}

/// Asks before a secret is replaced.
enum Overwriting {
    /// - Parameter unkept: those that no commit holds: `force` was not meant for these.
    /// - Throws: where that was not agreed to.
    static func require(
        _ names: [String], unkept: [String] = [], force: Bool
    ) throws -> SecretPlace.Loss {
        if !unkept.isEmpty { return try Losing.require(unkept, "Replace it") }
        guard let first = names.first, !force else { return .refused }
        let more = names.count > 1 ? " and \(names.count - 1) more are" : " is"
        guard Confirmation.isPossible else {
            throw CommandFailure("nothing was changed, as \(first)\(more) there already: --force replaces it")
        }
        try Confirmation.require("\(first)\(more) there already. Replace \(names.count > 1 ? "them" : "it")?")
        return .refused
    }
}

/// Asks before a text is gone for good.
enum Losing {
    /// - Parameters:
    ///   - names: of what no commit holds; empty where there is nothing to ask.
    ///   - verb: what is done to it.
    /// - Throws: where that was not agreed to.
    static func require(_ names: [String], _ verb: String) throws -> SecretPlace.Loss {
        guard let first = names.first else { return .refused }
        let what = names.count > 1 ? "\(first) and \(names.count - 1) more" : first
        let reason = "git ignores \(what), so no commit holds what is there now"
        guard Confirmation.isPossible else {
            throw CommandFailure(
                "nothing was changed: \(reason), and passdir restore could not bring it back; copy it with passdir cp, "
                    + "or agree on a terminal")
        }
        try Confirmation.require("\(reason). \(verb) for good?")
        return .agreed
    }
}
