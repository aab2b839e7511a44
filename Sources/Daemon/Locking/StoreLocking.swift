import Access
import Logging
import Mount
import OpenPGP
import Settings
import Stores
import System
import SystemPackage

/// Locks and unlocks the stores of a mount: by a command, or because the user goes away.
final class StoreLocking: Sendable {
    private let filesystem: StoreFilesystem
    private let stores: LiveStores
    private let locks: StoreLocks
    private let gate: AccessGate
    private let configuration: Configuration
    private let log: Logger

    init(
        _ filesystem: StoreFilesystem, _ stores: LiveStores, _ locks: StoreLocks,
        _ gate: AccessGate, _ configuration: Configuration, log: Logger
    ) {
        self.filesystem = filesystem
        self.stores = stores
        self.locks = locks
        self.gate = gate
        self.configuration = configuration
        self.log = log
    }

    /// Locks stores, and has gpg-agent forget (`lock.agent`). Returns when what was decrypted is forgotten.
    /// - Parameter names: of the stores; nil for all, also those that are not shown any more.
    /// - Returns: a sentence without a full stop where gpg-agent may not have forgotten; nil where all is well.
    func lock(_ names: [String]?, because reason: LockReason) throws(ControlError) -> String? {
        let wanted = try served(names)
        filesystem.lock(wanted.compactMap(\.store), because: reason)
        let lockedNames = Set(wanted.map(\.name))
        gate.forgetConsents { lockedNames.contains($0) }
        log.notice("locked (\(reason.rawValue)): \(lockedNames.sorted().joined(separator: ", "))")
        guard (try? configuration.value(Catalogue.lockAgent)) ?? true else { return nil }
        var isForgotten = true
        var asked: Set<String> = []
        for served in wanted {
            guard asked.insert(served.definition.keyring?.string ?? "").inserted,
                let agent = served.store?.engine as? any PassphraseAgent
            else { continue }
            if !agent.forgetPassphrases() { isForgotten = false }
        }
        guard !isForgotten else { return nil }
        let complaint =
            "gpg-agent does not answer and may still have passphrases cached: pkill -KILL gpg-agent ends it"
        log.warning("\(complaint)")
        return complaint
    }

    /// Unlocks stores. Passphrases that gpg-agent does not know are asked for when something is read.
    /// - Parameter names: of the stores; nil for all.
    func unlock(_ names: [String]?) throws(ControlError) {
        let wanted = try served(names)
        let stores = wanted.compactMap(\.store)
        guard stores.contains(where: { locks.isLocked($0.identifier) }) else { return }
        filesystem.unlock(stores)
        log.notice("unlocked: \(Set(wanted.map(\.name)).sorted().joined(separator: ", "))")
        // A list of recipients that was saved meanwhile could not take effect.
        self.stores.retryFailedSaves()
    }

    /// The passphrases of stores were entered: what is told of prompts that failed is over. A lock stays, as it may have come
    /// since.
    func passphrasesEntered(_ names: [String]?) throws(ControlError) {
        filesystem.forgetPromptFailures(try served(names).compactMap(\.store))
    }

    /// Since when a store is locked, and why; nil where it is not.
    func report(of served: ServedStore) -> LockReport? {
        guard let store = served.store else { return nil }
        return locks.lock(of: store.identifier).facts.map {
            LockReport(since: Timestamp(seconds: $0.since.seconds), reason: $0.reason)
        }
    }

    /// Whether anything is not locked.
    var isAnythingOpen: Bool {
        stores.known.compactMap(\.store).contains { !locks.isLocked($0.identifier) }
    }

    private func served(_ names: [String]?) throws(ControlError) -> [ServedStore] {
        let known = stores.known
        guard let names else { return known }
        if let unknown = names.first(where: { name in !known.contains { $0.name == name } }) {
            throw ControlError(.failed, UnknownStore.sentence(unknown, among: stores.all.map(\.name)))
        }
        return known.filter { names.contains($0.name) }
    }
}
