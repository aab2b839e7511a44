import Glibc
import Logging
import OpenPGP
import Settings
public import Stores
import Sync
import System
public import SystemPackage

/// A store as a command works on it by itself, whether it is mounted or not, and a place in it.
public struct StoreAccess: Sendable {
    /// The store.
    public let store: Store
    /// The path in it that was named; empty for the store itself.
    public let path: FilePath
    /// The path on disk of what was named: what the mount shows there, or the secret that it would be.
    public var backingPath: FilePath { VisibleName.backingPath(of: path, in: store.root) }
    private let committing: Committer.Options
    private let environment: [String: String]
    /// Whether a daemon shows the store: it pushes what a command has committed.
    var isServed: Bool {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        return (try? client.access(limit: .seconds(2))) != nil
    }

    /// The store that an argument names (`TypedPlace`).
    /// - Throws: One sentence where there is no such store, or it is not for that use.
    public static func open(
        _ argument: String, for use: StoreUse, environment: [String: String]
    ) throws(DaemonError) -> StoreAccess {
        let opener = try StoreOpener(environment: environment)
        let place = try TypedPlace(argument, in: opener.registry, environment: environment)
        return try StoreAccess(opener, place.store, place.path, for: use)
    }

    static func open(
        _ place: TypedPlace, _ opener: StoreOpener, for use: StoreUse
    ) throws(DaemonError) -> StoreAccess {
        try open(place.store, place.path, opener, for: use)
    }

    static func open(
        _ definition: StoreDefinition, _ path: FilePath, _ opener: StoreOpener, for use: StoreUse
    ) throws(DaemonError) -> StoreAccess {
        try StoreAccess(opener, definition, path, for: use)
    }

    /// Stores by their names.
    /// - Throws: One sentence where there is no store of a name, or one cannot be opened.
    public static func named(
        _ names: [String], environment: [String: String]
    ) throws(DaemonError) -> [StoreAccess] {
        let opener = try StoreOpener(environment: environment)
        let definitions = try names.map { name throws(DaemonError) in try opener.definition(named: name) }
        return try definitions.map { definition throws(DaemonError) in
            try StoreAccess(opener, definition, FilePath(), for: .reading)
        }
    }

    /// All stores that can be opened, and of each other one why not, as one sentence.
    public static func all(
        environment: [String: String]
    ) throws(DaemonError) -> (stores: [StoreAccess], complaints: [String]) {
        let opener = try StoreOpener(environment: environment)
        var (stores, complaints): ([StoreAccess], [String]) = ([], [])
        let definitions = try opener.definitions()
        DiskLook.lookAhead(at: definitions)
        for definition in definitions {
            do throws(DaemonError) {
                stores.append(try StoreAccess(opener, definition, FilePath(), for: .reading))
            } catch {
                complaints.append(error.message)
            }
        }
        return (stores, complaints)
    }

    private init(
        _ opener: StoreOpener, _ definition: StoreDefinition, _ path: FilePath, for use: StoreUse
    ) throws(DaemonError) {
        store = try opener.store(definition, for: use)
        self.path = path
        environment = opener.environment
        var committing = try opener.committing(definition)
        committing.keepFact = opener.keepingFacts(of: store.identifier)
        self.committing = committing
    }

    /// Commits changes that lie on disk, and pushes them if that goes quickly; else the daemon does it, or the next
    /// mount.
    /// Blocks the calling thread.
    /// - Throws: why something is not committed.
    public func commit(_ changes: [Change], pushing: Bool = true) throws(DaemonError) {
        let committer = committer()
        for change in changes { committer.note(change) }
        ActorCall { await committer.finish(timeout: .seconds(10), pushing: pushing) }.value()
        let status = committer.status
        if status.pendingChanges > 0 {
            throw DaemonError(message: status.lastError ?? "the changes could not be committed in time")
        }
    }

    /// Commits files as they lie on disk, or are there no more, as one commit with a message of its own; pushes it as
    /// `commit(_:pushing:)`. Blocks the calling thread.
    /// - Parameter message: one sentence.
    /// - Throws: why they are not committed.
    public func commit(
        _ files: [FilePath], message: String, pushing: Bool = true
    ) throws(DaemonError) {
        let committer = committer()
        let failure = ActorCall { () async -> CommitError? in
            do throws(CommitError) {
                try await committer.commit(paths: files, message: message + "\n")
                return nil
            } catch {
                return error
            }
        }.value()
        if let failure { throw DaemonError(message: failure.message) }
        guard pushing else { return }
        ActorCall { await committer.finish(timeout: .seconds(10), pushing: true) }.value()
    }

    /// Which of these files no commit holds as they lie on disk, although the store is a git repository. Blocks the calling
    /// thread.
    /// - Throws: why that is not known.
    func uncommitted(among files: [FilePath]) throws(DaemonError) -> [FilePath] {
        let committer = committer()
        let result = ActorCall { () async -> Result<[FilePath], CommitError> in
            do throws(CommitError) {
                return .success(try await committer.uncommitted(among: files))
            } catch {
                return .failure(error)
            }
        }.value()
        switch result {
        case .success(let files): return files
        case .failure(let error): throw DaemonError(message: error.message)
        }
    }

    private func committer() -> Committer {
        var committing = committing
        committing.recovers = false
        return Committer(store: store, options: committing, log: StoreOpener.quietLog)
    }
}
