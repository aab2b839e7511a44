import Git
import Glibc
public import OpenPGP
public import Stores
import Sync
import System
import SystemPackage

extension Sharing {
    /// Works out what a change of a folder's recipients means; changes nothing.
    /// - Parameter use: Whether the change is to be made.
    public func plan(
        _ edit: RecipientEdit, at path: String, for use: StoreUse
    ) throws(DaemonError) -> PlannedChange {
        let place = try place(path, for: use)
        let store = place.store
        if let secret = place.secret {
            throw DaemonError(
                message: "\(store.name)/\(secret) is a secret, and recipients are those of a folder: name "
                    + place.title)
        }
        // Before anybody is shown a plan that would be refused.
        if use == .writing { try checkUnlocked(store) }
        return try DaemonError.wrapping {
            if use == .writing { try Reencryption.checkNoneUnderWay(in: store) }
            // Before the file is read that the new one is made from: what changes afterwards is noticed.
            let applied = try store.appliedList(of: place.folder)
            let file: RecipientFile
            var named: [String] = []
            var agreedAbove: [String] = []
            switch edit {
            case .set(let names):
                named = names
                file = RecipientFile(lines: try lines(names, store))
            case .take(let names): file = RecipientFile(lines: try lines(names, store))
            case .inherit:
                guard try store.hasOwnList(place.folder) else {
                    throw StoreError(
                        .badRecipientFile,
                        "\(place.title) has no .gpg-id of its own: nothing was changed.")
                }
                file = try store.inheritedFile(of: place.folder)
                // Whoever gives a folder's list up names those whom the list above was agreed to be for.
                agreedAbove = store.agreedReaders(of: try store.recipientFile(for: place.folder))
            case .add(let names):
                named = names
                try checkHasList(store, toAdd: names)
                let current = try store.currentFile(of: place.folder)
                let known = current.lines.flatMap { (try? store.engine.resolve($0)) ?? [] }
                var next = current
                for (name, line) in zip(names, try lines(names, store)) {
                    let new = (try? store.engine.resolve(name)) ?? []
                    let isThere = new.allSatisfy { one in
                        known.contains {
                            $0.key.fingerprint == one.key.fingerprint && $0.subkey == one.subkey
                        }
                    }
                    if !isThere { next = next.adding(line) }
                }
                file = next
            case .remove(let names):
                file = try store.file(try store.currentFile(of: place.folder), without: names)
            }
            let keys =
                named.flatMap { (try? store.engine.resolve($0)) ?? [] }.map(\.key.fingerprint)
                + agreedAbove.compactMap { Fingerprint($0) }
            return PlannedChange(
                place: place.title, change: try store.change(of: place.folder, to: file, from: applied),
                removesList: { if case .inherit = edit { true } else { false } }(), named: Set(keys),
                store: store)
        }
    }

    /// Where nothing was ever committed there is no list to be restored, and adding somebody means to write the first one.
    private func checkHasList(_ store: Store, toAdd names: [String]) throws(StoreError) {
        guard !ServedStore.hasList(store),
            (try? store.repositories.own()?.commit(named: "HEAD")) ?? nil == nil
        else { return }
        let words = ([store.name] + names).map(ShellWord.quoted).joined(separator: " ")
        throw StoreError(
            .noRecipients,
            "the store \"\(store.name)\" has no .gpg-id that somebody could be added to: passdir recipients set \(words) "
                + "writes one.")
    }

    private func lines(_ names: [String], _ store: Store) throws(StoreError) -> [String] {
        var lines: [String] = []
        for name in names {
            let line = try store.line(for: name)
            if !lines.contains(line) { lines.append(line) }
        }
        return lines
    }

    /// Makes a change; can be stopped, and then resumed or aborted. One that would leave everything as it is only is the
    /// agreement to what somebody else made of the list.
    public func make(
        _ planned: PlannedChange, consent: ChangeConsent, skipsUnreadable: Bool, after former: Judged? = nil,
        cancellation: Cancellation,
        progress: @escaping @Sendable (Reencryption.Progress) -> Void
    ) throws(DaemonError) -> ChangeOutcome {
        let judged = try check(
            planned, consent: consent, skipsUnreadable: skipsUnreadable, after: former)
        return try DaemonError.wrapping {
            let accepted = planned.named.union(consent.foreign)
            guard !planned.change.isEmpty else {
                try planned.store.accept(
                    planned.change, in: planned.change.folder.appending(Store.recipientFileName), accepted)
                if planned.removesList { try removeList(planned) }
                return ChangeOutcome(place: planned.place)
            }
            let work = try Reencryption.begin(
                planned.change, in: planned.store, accepting: accepted,
                skipsUnreadable: skipsUnreadable, cancellation: cancellation)
            let outcome = try run(work, judged, planned.store, planned.place, cancellation, progress)
            if planned.removesList { try removeList(planned) }
            return outcome
        }
    }

    /// The folder's list names just whom the one above it names: it goes, in pass's words.
    private func removeList(_ planned: PlannedChange) throws {
        let (store, folder) = (planned.store, planned.change.folder)
        let committer = try committer(of: store)
        let gone = try store.removeList(of: folder)
        try Self.wait { () throws(CommitError) in
            try await committer.commit(
                paths: gone, message: "Deinitialize \(folder)/.gpg-id (\(folder)).\n")
        }
        try? Self.wait { () throws(CommitError) in await committer.pushCommits() }
    }

    /// Looks at a change of a store that was interrupted: what is left of it, and that it may still be made.
    public func interrupted(store name: String) throws(DaemonError) -> InterruptedChange {
        let store = try store(named: name, for: .writing)
        try mend(store)
        return try DaemonError.wrapping {
            guard let work = try Reencryption.interrupted(in: store) else { throw Self.noChange(name) }
            let rest = try work.rest()
            let folder = rest.folder ?? FilePath()
            return InterruptedChange(
                place: folder.isEmpty ? name : "\(name)/\(folder.string)", rest: rest, work: work,
                store: store)
        }
    }

    /// Finishes a change of a store that was interrupted.
    public func resume(
        _ change: InterruptedChange, cancellation: Cancellation,
        progress: @escaping @Sendable (Reencryption.Progress) -> Void
    ) throws(DaemonError) -> ChangeOutcome {
        try checkUnlocked(change.store)
        let judged = try checkMayChange(change.rest.folder ?? FilePath(), change.store)
        return try DaemonError.wrapping {
            try run(change.work, judged, change.store, change.place, cancellation, progress)
        }
    }

    /// Takes a change of a store back that a save of a `.gpg-id` in the mount is making: the daemon does that itself.
    /// - Returns: nil where no save is making one; what else there is to be taken back is `abort`'s.
    public func abortSave(ofStore name: String) -> AbortedSave? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        return (try? client.abortSave(store: name)) ?? nil
    }

    /// Takes a change of a store back that was interrupted.
    /// - Parameter skipsUnreadable: Leave secrets as they are that were saved to its list and cannot be encrypted again.
    public func abort(
        store name: String, skipsUnreadable: Bool
    ) throws(DaemonError) -> Reencryption.Aborted {
        let store = try store(named: name, for: .writing)
        try mend(store)
        let committer = try committer(of: store)
        return try DaemonError.wrapping {
            guard let work = try Reencryption.interrupted(in: store) else { throw Self.noChange(name) }
            let end = try work.abort(skipsUnreadable: skipsUnreadable) { paths throws(StoreError) in
                try Self.wait { () throws(CommitError) in try await committer.isCommitted(paths: paths) }
            }
            guard case .undone(let undone) = end, !undone.committed.isEmpty else { return end }
            try Self.wait { () throws(CommitError) in
                try await committer.commit(
                    paths: undone.committed,
                    message: "Reencrypt password store to the recipients of its .gpg-id files.\n")
            }
            try? Self.wait { () throws(CommitError) in await committer.pushCommits() }
            return end
        }
    }

    /// Brings the index in step with the branch where the commit of the change was killed between the two.
    private func mend(_ store: Store) throws(DaemonError) {
        let committer = try committer(of: store)
        try DaemonError.wrapping {
            try Self.wait { () throws(CommitError) in try await committer.mendIndex() }
        }
    }

    private static func noChange(_ name: String) -> StoreError {
        StoreError(.noChange, "there is no interrupted change of recipients in the store \"\(name)\".")
    }

    /// Makes a change. Behind the prompts that it has waited at it is judged once more: rules that were set meanwhile count, and so
    /// does a lock.
    func run(
        _ work: Reencryption, _ judged: Judged, _ store: Store, _ place: String, _ cancellation: Cancellation,
        _ progress: @escaping @Sendable (Reencryption.Progress) -> Void
    ) throws(StoreError) -> ChangeOutcome {
        let committer: Committer
        do {
            committer = try self.committer(of: store)
        } catch {
            throw StoreError(.system(.ioError), error.message)
        }
        let skipped: [FilePath]
        var isRefused = false
        do throws(StoreError) {
            skipped = try work.run(cancellation: cancellation, progress: progress) { () throws(StoreError) in
                do throws(DaemonError) {
                    try checkUnlocked(store)
                    try checkMayChange(judged.folder, store, judgedBy: judged.rules)
                } catch {
                    isRefused = true
                    throw StoreError(.system(.permissionDenied), error.message)
                }
            } commit: { paths, message throws(StoreError) in
                try Self.wait { () throws(CommitError) in
                    try await committer.commit(paths: paths, message: message)
                }
                // Before the change is over: one that is interrupted here is resumed, and comes by again.
                FormerReaderList.keep(work.formerReaders(), of: store, environment: environment)
            }
        } catch {
            // What stopped before anything was put in place leaves nothing behind, but where it can go on.
            let isUnreadable = if case .unreadableSecrets = error.code { true } else { false }
            let isStopped = cancellation.isCancelled && !isUnreadable
            if !isStopped {
                if work.progressed == .aborting { throw error }
                guard !isUnreadable, !isRefused, work.progressed == .resumable else {
                    _ = try? work.abort { _ throws(StoreError) in false }
                    throw error
                }
            }
            let why = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
            let name = ShellWord.quoted(store.name)
            throw StoreError(
                isStopped ? .openPGP(.canceled) : error.code,
                "\(isStopped ? "stopped" : why): passdir recipients resume \(name) continues, passdir recipients abort "
                    + "\(name) undoes what was done.")
        }
        try? Self.wait { () throws(CommitError) in await committer.pushCommits() }
        return ChangeOutcome(place: place, skipped: skipped, left: work.leftAlone)
    }

    /// Waits for work on a committer's own thread. Only for plain threads.
    static func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(CommitError) -> Value
    ) throws(StoreError) -> Value {
        let call = ActorCall { () async -> Result<Value, CommitError> in
            do throws(CommitError) { return .success(try await work()) } catch { return .failure(error) }
        }
        return try rethrowing(call.value().get()) { (error: CommitError) in
            StoreError(.system(.ioError), error.message)
        }
    }
}
