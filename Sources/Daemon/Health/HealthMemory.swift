import Contents
import FoundationEssentials
import Settings
import Stores
import System
import SystemPackage

/// What a check leaves in the state for later: dates and names, and nothing of any text.
enum HealthMemory {
    /// Until when a password serves.
    struct Deadline: Codable, Equatable {
        /// The file, relative to the store.
        var path: String
        /// Its ciphertext when it was read (`Store.stamp`): the date is that of no other.
        var stamp: String
        /// The last day on which it serves, `YYYY-MM-DD`.
        var day: String
        /// Whether that is the day of its `expires:` field, and not when it is to be changed.
        var expires: Bool
    }

    /// The name of the fact: an array of Deadline as JSON.
    static let deadlines = "deadlines"
    /// The name of the fact: the days that were told by path, as JSON.
    static let told = "deadlinesTold"

    static func read<Value: Decodable>(_ text: String?, _ type: Value.Type) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    static func text(_ value: some Encodable) -> String? {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension LearnedState {
    /// What was learned, for a command; nil where it cannot be opened. Losing it does no harm.
    static func shared(_ environment: [String: String]) -> LearnedState? {
        let folder = Directories(environment: environment).state
        guard (try? folder.makeFolders()) != nil else { return nil }
        return try? LearnedState(file: folder.appending("state.sqlite"))
    }
}
