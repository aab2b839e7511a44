import Access
import Glibc
import Logging
import Mount
import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// The stores of a running mount, as the configuration has them at the moment.
///
/// A store that leaves stays known until the end: what is still open of it is saved and committed when it is closed. Its folder is
/// let go of as soon as nothing is, so that a disk can be unmounted whose stores are hidden.
final class LiveStores: Sendable {
    private let opening: StoreOpening
    let filesystem: StoreFilesystem
    private let mountPoint: FilePath
    private let learned: LearnedState?
    private let log: Logger
    private let gate: AccessGate
    private let served = Mutex<[ServedStore]>([])
    let departed = Mutex<[ServedStore]>([])
    private let hidden = Mutex<[String]>([])
    private let problem = Mutex<String?>(nil)
    /// Stores that appear are looked into in the background, as those that were there at the mount.
    let looksInBackground = Atomic(false)
    /// One change of the configuration is followed at a time.
    private let following = Mutex<Void>(())

    init(
        opening: StoreOpening, filesystem: StoreFilesystem, mountPoint: FilePath, learned: LearnedState?,
        log: Logger, gate: AccessGate
    ) {
        self.opening = opening
        self.filesystem = filesystem
        self.mountPoint = mountPoint
        self.learned = learned
        self.log = log
        self.gate = gate
    }

    /// The stores that are shown, in the order of the configuration.
    var all: [ServedStore] { served.withLock { $0 } }

    /// The stores that are shown, and those that have left and of which files may be open.
    var known: [ServedStore] {
        let shown = all
        return shown + departed.withLock { $0 }.filter { left in !shown.contains { $0 === left } }
    }

    /// The names of the stores that are configured and not shown.
    var hiddenNames: [String] { hidden.withLock { $0 } }

    /// Stores that left while secrets of them were unsaved, and still are.
    var withUnsavedRest: [ServedStore] {
        departed.withLock { $0 }.filter { $0.store.map(filesystem.holdsUnsaved) ?? false }
    }

    /// What is wrong with the configuration, so that it is not followed; nil when nothing is.
    var configurationProblem: String? { problem.withLock { $0 } }

    /// Reads the configuration and shows what it says; on an error everything stays as it is.
    ///
    /// - Parameters:
    ///   - reopening: the id of a store whose folder was replaced.
    ///   - isStill: whether what was read counts; where it does not, everything stays as it is.
    func follow(reopening: String? = nil, while isStill: () -> Bool = { true }) throws(DaemonError) {
        try following.withLock { _ throws(DaemonError) in
            do throws(DaemonError) {
                guard try self.followInTurn(reopening, isStill) else { return }
                self.problem.withLock { $0 = nil }
            } catch {
                guard isStill() else { return }
                self.problem.withLock { $0 = error.message }
                self.log.error("the configuration is not applied: \(error.message)")
                throw error
            }
        }
    }

    private typealias Read = (
        definitions: [StoreDefinition], wanted: [StoreSettings], access: AccessOptions,
        templates: [RegisteredTemplate], cacheTime: Duration
    )

    private func followInTurn(_ reopening: String?, _ isStill: () -> Bool) throws(DaemonError) -> Bool {
        let opener = opening.opener
        let read: Read? = try DaemonError.wrapping {
            guard try opener.configuration.reload(while: isStill) else { return nil }
            // Before anything changes: rules that cannot be read leave all as it is.
            let access = try AccessOptions(opener.configuration)
            let templates = try RegisteredTemplate.all(opener.configuration)
            let definitions = try opener.registry.definitions()
            let wanted = try definitions.filter(\.isInMount).map {
                try StoreSettings(opener.configuration, of: $0)
            }
            let cacheTime = try opener.configuration.value(Catalogue.cacheTime)
            return (definitions, wanted, access, templates, cacheTime)
        }
        guard let (definitions, wanted, access, templates, cacheTime) = read else { return false }
        gate.use(access)
        gate.forgetOldLines()
        filesystem.setTemplates(templates)
        filesystem.setCacheTime(cacheTime)
        let step = step(to: wanted, reopening)
        for store in step.leaving { leave(store) }
        let known = zip(step.stores, wanted).filter { store, _ in !step.fresh.contains { $0 === store } }
        rename(known.map { ($0, $1) })
        for store in step.returning { showAgain(store) }
        for store in step.fresh { show(store) }
        if step.hasChanged { retryFailedSaves() }
        filesystem.setOrder(step.stores.compactMap(\.store))
        served.withLock { $0 = step.stores }
        hidden.withLock { $0 = definitions.filter { !$0.isInMount }.map(\.name) }
        if !step.fresh.isEmpty { recoverShown() }
        return true
    }

    /// Tries again what could not be opened: shows a store whose folder is there now, a disk that was mounted late for
    /// example. Reads no configuration.
    func openAgain() {
        for unopened in all where unopened.store == nil && !unopened.isAwaited {
            // Outside the lock: a disk that does not answer keeps no change of the configuration waiting.
            replace(unopened, by: make(unopened.settings))
        }
    }

    /// A store as the settings say; where its disk does not answer, one that is replaced once it does.
    private func make(_ settings: StoreSettings) -> ServedStore {
        opening.make(settings, mountPoint: mountPoint) { [weak self] placeholder, made in
            self?.replace(placeholder, by: made)
        }
    }

    private func replace(_ unopened: ServedStore, by made: ServedStore) {
        following.withLock { _ in
            guard let index = all.firstIndex(where: { $0 === unopened }) else { return }
            show(made)
            served.withLock { $0[index] = made }
            guard made.store != nil else { return }
            filesystem.setOrder(all.compactMap(\.store))
            recoverShown()
        }
    }

    /// Looks into stores that have appeared, where those of the mount's start are looked into.
    private func recoverShown() {
        guard looksInBackground.load(ordering: .acquiring) else { return }
        // Without a thread they are looked into when they are used.
        try? recoverInBackground(after: .zero)
    }

    /// What leads from the stores as they are to those that the configuration wants.
    private struct Step {
        /// As they are to be shown, in their order.
        var stores: [ServedStore] = []
        /// Those of `stores` that were not known.
        var fresh: [ServedStore] = []
        /// Those of `stores` that had left.
        var returning: [ServedStore] = []
        /// Whether one of `stores` works by other settings than before.
        var hasChanged = false
        var leaving: [ServedStore]
    }

    private func step(to wanted: [StoreSettings], _ reopening: String?) -> Step {
        var step = Step(leaving: all)
        let unsaved = withUnsavedRest
        for settings in wanted {
            func isKnown(_ known: ServedStore) -> Bool {
                if known.isAwaited { return known.settings == settings && reopening == nil }
                return Self.areSame(known.definition, settings.definition) && known.store != nil
                    && known.definition.path == settings.definition.path
                    && known.definition.identifier != reopening
            }
            var known = step.leaving.first(where: isKnown) ?? unsaved.first(where: isKnown)
            if let changed = known, !changed.settings.isSameWork(as: settings) {
                do throws(OpenPGPError) {
                    try opening.change(changed, to: settings)
                    step.hasChanged = true
                } catch {
                    // Its keyring cannot be used: it comes back, with what is unsaved of it, when one can.
                    known = nil
                }
            }
            if let known {
                step.stores.append(known)
                if unsaved.contains(where: { $0 === known }) { step.returning.append(known) }
                step.leaving.removeAll { $0 === known }
            } else {
                let made = make(settings)
                step.stores.append(made)
                step.fresh.append(made)
            }
        }
        return step
    }

    /// One store has one id; until it has one, its folder tells it.
    private static func areSame(_ one: StoreDefinition, _ other: StoreDefinition) -> Bool {
        one.identifier == other.identifier || (one.id == nil && !one.isImplicit && one.path == other.path)
    }

    private func show(_ served: ServedStore) {
        // Once, however often it is tried.
        if let failure = served.failure, !all.contains(where: { $0.failure == failure }) {
            log.error("\(failure)")
        }
        guard let store = served.store, let committer = served.committer else { return }
        do throws(Errno) {
            try filesystem.add(
                store, sink: committer,
                changeRecipients: RecipientSaving.changer(
                    store, committer, served.runningChanges, opening.opener.environment),
                isReadOnly: served.definition.isReadOnly)
        } catch {
            log.error("the store \"\(served.name)\" cannot be shown: \(error)")
        }
    }

    /// What is unsaved of a store that was hidden is shown again with it.
    private func showAgain(_ served: ServedStore) {
        guard let store = served.store, let committer = served.committer else { return }
        departed.withLock { $0.removeAll { $0 === served } }
        do throws(Errno) {
            try filesystem.restore(store, isReadOnly: served.definition.isReadOnly)
            ActorCall { await committer.comeBack() }
        } catch {
            log.error("the store \"\(served.name)\" cannot be shown: \(error)")
        }
    }

    private func rename(_ stores: [(ServedStore, StoreSettings)]) {
        let changed = stores.filter { served, settings in served.settings != settings }
        let renamed = changed.map { ($0, $1.definition) }.filter { served, definition in
            served.name != definition.name
        }
        let taken = Set(stores.map { served, _ in served.name })
        // Two stores may have swapped their names: then all names are made free before one is given.
        if renamed.contains(where: { taken.contains($0.1.name) }) {
            for (served, definition) in renamed {
                name(served, ".\(definition.identifier.prefix(8))", definition.identifier)
            }
        }
        for (served, settings) in changed {
            guard let store = served.store else { continue }
            let definition = settings.definition
            if store.identifier != definition.identifier {
                learned?.rename(store: store.identifier, to: definition.identifier)
                filesystem.locks.rename(store.identifier, to: definition.identifier)
            }
            filesystem.setReadOnly(definition.isReadOnly, store)
            name(served, definition.name, definition.identifier)
            served.settings = settings
        }
    }

    private func name(_ served: ServedStore, _ name: String, _ identifier: String) {
        guard let store = served.store else { return }
        store.rename(to: name, identifier: identifier)
        do throws(Errno) {
            try filesystem.showName(of: store)
        } catch {
            log.error("the store \"\(name)\" cannot be renamed in the mount: \(error)")
        }
    }

    private func leave(_ served: ServedStore) {
        guard let store = served.store, let committer = served.committer else { return }
        filesystem.remove(store, tellsWatchers: served.disk.answers)
        departed.withLock { $0.append(served) }
        // It is gone whether its disk answers or not: then it ends when that does.
        served.work("leaving") { [filesystem] in
            filesystem.saveEverything(of: store)
        }
        ActorCall {
            await committer.leave()
            self.closeDeparted()
        }
    }

    /// Lets go of the folders of stores that have left and are not used any more.
    func closeDeparted() {
        for case let store? in departed.withLock({ $0 }).map(\.store) where !filesystem.isInUse(store) {
            store.root.letGo()
        }
    }
}
