import Access
public import Contents
public import Fuse
import Stores
import Synchronization
import System
public import SystemPackage

/// A template that the mount shows as a file with a value for each of its references: `.passdir/rendered/NAME`.
public struct RegisteredTemplate: Sendable, Equatable {
    /// What the file is called.
    public var name: Name
    /// The template, by an absolute path.
    public var file: FilePath
    /// How values are written into it.
    public var kind: Escaping

    /// A template by its parts.
    public init(name: Name, file: FilePath, kind: Escaping) {
        (self.name, self.file, self.kind) = (name, file, kind)
    }
}

/// The templates that are registered, and what became of each when it was opened last.
final class RenderedTemplates: Sendable {
    /// What a file was when it was made last: nothing is known of one that nobody has opened.
    struct Made: Sendable {
        var size: Int64 = 0
        /// When the newest of the template and its secrets was changed.
        var modified: FileTime?
    }

    private struct Known {
        var template: RegisteredTemplate
        var made = Made()
        var failure: ValueError?
    }

    private let known = Mutex<[Known]>([])

    /// The names of all, in the order in which they were registered.
    var names: [Name] { known.withLock { $0.map(\.template.name) } }

    /// Has these in place of those before; what is known of one that stays is kept.
    func set(_ templates: [RegisteredTemplate]) {
        known.withLock { known in
            known = templates.map { template in
                known.first { $0.template == template } ?? Known(template: template)
            }
        }
    }

    func template(_ name: Name) -> RegisteredTemplate? { of(name)?.template }

    /// What it was when it was made last.
    func made(_ name: Name) -> Made { of(name)?.made ?? Made() }

    /// Why it could not be made, as long as that is so for all that is known.
    func failure(_ name: Name) -> String? { of(name)?.failure.flatMap(Self.sentence) }

    /// Those that could not be made, with a sentence each.
    var failures: [(name: Name, sentence: String)] {
        known.withLock { $0 }.compactMap { known in
            known.failure.flatMap(Self.sentence).map { (known.template.name, $0) }
        }
    }

    /// Forgets why files could not be made, unless that was a lock: what a secret has been found to lack tells something of it.
    func forgetFailures() {
        known.withLock { known in
            for index in known.indices where known[index].failure?.lockedStore == nil {
                known[index].failure = nil
            }
        }
    }

    /// Notes what became of an open; one of a template that is no longer registered is nothing to tell.
    func note(_ result: Result<Made, ValueError>, of template: RegisteredTemplate) {
        known.withLock { known in
            guard let index = known.firstIndex(where: { $0.template == template }) else { return }
            switch result {
            case .success(let made): (known[index].made, known[index].failure) = (made, nil)
            case .failure(let error): known[index].failure = error
            }
        }
    }

    private func of(_ name: Name) -> Known? {
        known.withLock { $0.first { $0.template.name == name } }
    }

    /// Nothing is wrong any more once a store that was locked is not, or the secret that could not be opened can be.
    private static func sentence(_ error: ValueError) -> String? {
        let isOver = error.lockedStore?.lock.isLocked == false || error.unopened?.isTold == false
        return isOver ? nil : error.sentence
    }
}
