import Logging
import Mount
import OpenPGP
import Settings
import Stores
import Sync
import SystemPackage

/// A store as the daemon serves it: open, with its committer, or not openable with the reason.
struct ServedStore: Sendable {
    var name: String
    var path: FilePath
    /// nil when the store could not be opened.
    var committer: Committer?
    /// Why it could not be opened.
    var failure: String?
    /// What others did to its recipients.
    var recipients: RecipientWatch?

    func report(unsaved: [UnsavedSecret], failedOpen: String?) -> StoreReport {
        guard let status = committer?.status else {
            return StoreReport(name: name, path: path.string, state: .failed, lastError: failure)
        }
        let state: StoreState =
            switch status.state {
            case .starting, .ready: status.lastError == nil && unsaved.isEmpty ? .ready : .waiting
            case .noRepository, .noCommits: .noCommits
            }
        return StoreReport(
            name: name, path: path.string, state: state, branch: status.branch,
            pendingChanges: status.pendingChanges, unpushedCommits: status.unpushedCommits,
            lastCommit: status.lastCommit.map {
                CommitReport(id: $0.id, subject: $0.subject, time: Timestamp(seconds: $0.time))
            },
            lastPush: status.lastPush.map(Timestamp.init(seconds:)),
            lastError: unsaved.first.map { "\($0.path) is not saved: \($0.message)" } ?? status.lastError
                ?? failedOpen ?? recipients?.interrupted,
            unsaved: unsaved.map {
                UnsavedReport(
                    path: $0.path, error: $0.message, since: Timestamp(seconds: $0.since.seconds))
            }, recipientChanges: recipients?.reports ?? [])
    }
}

/// Opens the stores of the configuration for a mount.
struct StoreOpening {
    var configuration: Configuration
    var environment: [String: String]
    var secretLimit: Int
    var learned: LearnedState?
    var log: Logger

    /// Opens what can be opened; a store that cannot is left out of the mount and says why in `status`.
    func open(
        _ definitions: [StoreDefinition], in filesystem: StoreFilesystem
    ) throws(DaemonError) -> [ServedStore] {
        let engine: GnuPG
        do {
            engine = try GnuPG()
        } catch {
            throw DaemonError(message: error.message)
        }
        var served: [ServedStore] = []
        for definition in definitions {
            served.append(try open(definition, engine, in: filesystem))
        }
        if served.allSatisfy({ $0.committer == nil }), let failure = served.first?.failure {
            throw DaemonError(message: failure)
        }
        return served
    }

    private func open(
        _ definition: StoreDefinition, _ engine: GnuPG, in filesystem: StoreFilesystem
    ) throws(DaemonError) -> ServedStore {
        let options: Store.Options
        let delay: Duration
        let pushTimeout: Duration
        do {
            options = try Store.Options(configuration, store: definition.name, environment: environment)
            delay = try configuration.value(Catalogue.commitDelay, store: definition.name)
            pushTimeout = try configuration.value(Catalogue.pushTimeout)
        } catch {
            throw DaemonError(error)
        }
        do {
            let root = try Root(path: definition.path)
            let store = Store(
                name: definition.name, identifier: definition.identifier, root: root, engine: engine,
                options: options, learned: learned)
            try store.removeLeftTemporaries()
            let committer = Committer(
                store: store,
                options: Committer.Options(delay: delay, pushTimeout: pushTimeout, program: "/proc/self/exe"),
                log: log)
            try filesystem.add(store, sink: committer)
            let watch = RecipientWatch(store)
            watch.start()
            return ServedStore(name: definition.name, path: root.path, committer: committer, recipients: watch)
        } catch {
            let reason = (error as? StoreError)?.message ?? "\(error)"
            let failure = "the store \"\(definition.name)\" in \(definition.path) cannot be opened: \(reason)"
            log.error("\(failure)")
            return ServedStore(name: definition.name, path: definition.path, failure: failure)
        }
    }
}
