import FoundationEssentials
import Stores
import System

/// Who could once read what of a store, as it is kept with what was learned of the store, and is forgotten with it.
struct FormerReaderList {
    /// The name of the fact: an array of FormerReader as JSON.
    static let fact = "formerReaders"

    var readers: [FormerReader]

    /// - Parameter text: what the fact says; nil where it is not there.
    init(fact text: String?) {
        readers =
            text.flatMap { try? JSONDecoder().decode([FormerReader].self, from: Data($0.utf8)) } ?? []
    }

    /// What the fact is to say; nil where nobody is left.
    var text: String? {
        guard !readers.isEmpty else { return nil }
        return (try? JSONEncoder().encode(readers)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Adds whom a change took secrets from. What one of them could read before, and got back meanwhile, is as of this change.
    mutating func add(_ new: [FormerReader]) {
        for reader in new {
            guard let index = readers.firstIndex(where: { $0.key == reader.key }) else {
                readers.append(reader)
                continue
            }
            let paths = Set(reader.secrets.map(\.path))
            readers[index].name = reader.name
            readers[index].keyIDs = Set(readers[index].keyIDs + reader.keyIDs).sorted()
            readers[index].secrets.removeAll { paths.contains($0.path) }
            readers[index].secrets += reader.secrets
        }
    }

    /// Adds them to what is kept of a store that a daemon serves.
    static func keep(_ new: [FormerReader], of store: Store) {
        guard !new.isEmpty else { return }
        var list = FormerReaderList(fact: store.fact(fact))
        list.add(new)
        store.remember(list.text, as: fact)
    }

    /// As `keep`, of a command's store, which knows nothing of what was learned.
    static func keep(_ new: [FormerReader], of store: Store, environment: [String: String]) {
        guard !new.isEmpty, let learned = LearnedState.shared(environment) else { return }
        defer { learned.close() }
        var list = FormerReaderList(fact: learned.fact(fact, of: store.identifier))
        list.add(new)
        learned.remember(list.text, as: fact, of: store.identifier)
    }
}
