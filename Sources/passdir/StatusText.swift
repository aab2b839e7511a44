import Access
import Daemon
import Stores
import System

/// A status report for people: the mount, then a paragraph a store.
struct StatusText {
    let lines: [String]

    init(_ report: StatusReport) {
        var lines = [Self.place(report.mount)]
        lines.append(Self.version(report.mount.version))
        for warning in report.mount.warnings ?? [] { lines.append("warning  \(warning.withoutFullStop)") }
        for file in report.mount.rendered ?? [] {
            lines.append("error    .passdir/rendered/\(file.name): \(file.error.withoutFullStop)")
        }
        for store in report.mount.hidden ?? [] {
            lines.append("hidden   \(store): not fetched or pushed until passdir store unhide \(store)")
        }
        for store in report.stores { lines += [""] + Self.paragraph(store) }
        if report.stores.isEmpty { lines += ["", "no stores"] }
        self.lines = lines
    }

    private static func place(_ mount: MountReport) -> String {
        let ended = "mount    none: \(mount.path) was unmounted; process \(mount.pid) exits once "
        if mount.isFinishing == true { return ended + "it has committed and pushed what waits" }
        if mount.isUnmounted == true { return ended + "no program works in it or has files in it open" }
        return "mount    \(mount.path) (process \(mount.pid), since \(mount.since.local))"
    }

    /// Which passdir serves the mount: an upgrade replaces the command at once and the daemon at the next mount.
    private static func version(_ daemon: String?) -> String {
        let line = "version  \(daemon ?? "unknown")"
        if daemon == Version.number { return line }
        return line
            + ", while this command is \(Version.number): 'passdir unmount' and 'passdir mount' start that one"
    }

    /// What there is to say while nothing is mounted.
    init(_ report: UnmountedReport) {
        lines = Array(report.stores.map(Self.paragraph).joined(separator: [""]))
    }

    private static func paragraph(_ store: StoreReport) -> [String] {
        [store.name] + facts(of: store).map { "  " + $0 }
    }

    private static func facts(of store: StoreReport) -> [String] {
        var facts = ["path     \(store.path)", "state    \(sentence(for: store))"]
        if let objection = objection(toSavingTo: store) { facts.append("saving   \(objection)") }
        if let lock = store.locked {
            facts.append(
                "locked   since \(lock.since.local) (\(sentence(for: lock.reason))): passdir unlock "
                    + ShellWord.quoted(store.name))
        }
        if let branch = store.branch { facts.append("branch   \(branch)") }
        if store.pendingChanges > 0 {
            facts.append("waiting  \(count(store.pendingChanges, "change")) to commit")
        }
        if store.unpushedCommits > 0 {
            facts.append("waiting  \(count(store.unpushedCommits, "commit")) to push")
        }
        if let commit = store.lastCommit {
            facts.append("commit   \(commit.id.prefix(8)) \(commit.subject) (\(commit.time.local))")
        }
        if let push = store.lastPush { facts.append("push     \(push.local)") }
        if let fetch = store.lastFetch { facts.append("fetch    \(fetch.local)") }
        if let activity = store.activity { facts.append("now      \(activity)") }
        if let progress = store.reencryption {
            facts.append("now      \(sentence(for: progress, in: store.name))")
        }
        for conflict in store.conflicts.prefix(10) { facts.append("conflict \(conflict)") }
        if store.conflicts.count > 10 {
            facts.append("conflict and \(store.conflicts.count - 10) more: passdir conflicts lists them")
        }
        for note in store.notes { facts.append("note     \(note.withoutFullStop)") }
        for error in [store.lastError].compactMap(\.self) + store.otherErrors {
            facts.append("error    \(unsavedSentence(error, store) ?? error.withoutFullStop)")
        }
        let changes = Flood.newFirst(store.recipientChanges)
        for change in changes.prefix(Flood.most) {
            let lines = change.lines.map { $0.drop { $0 == " " } }
            facts.append("readers  " + lines.joined(separator: "; "))
            facts += change.advice(store: store.name).map { "       " + $0 }
        }
        let others = changes.dropFirst(Flood.most).map(\.file)
        if !others.isEmpty {
            facts.append(
                "readers  and \(count(others.count, "more list")) (\(Flood.words(others, most: 3))): "
                    + "passdir status --json shows all")
        }
        // One cause may keep many from being saved: it is said with the first of them.
        let causes = Dictionary(grouping: store.unsaved, by: \.error)
        for first in store.unsaved where causes[first.error]?.first == first {
            for unsaved in causes[first.error] ?? [] {
                let error = unsaved == first ? first.error.withoutFullStop : "for the same reason"
                facts.append("unsaved  \(unsaved.path): \(error) (since \(unsaved.since.local))")
            }
        }
        for lost in store.lost {
            let place = ShellWord.quoted("\(store.name)/\(lost.path)")
            facts.append(
                "lost     \(lost.path): \(lost.error.withoutFullStop) (its text was lost when passdir exited at "
                    + "\(lost.time.local); passdir discard \(place) clears this notice)")
        }
        return facts
    }

    /// What is said instead of an error that the lines of what is unsaved tell, cause and all; nil for any other error.
    private static func unsavedSentence(_ error: String, _ store: StoreReport) -> String? {
        guard let first = store.unsaved.first, error == "\(first.path) is not saved: \(first.error)" else {
            return nil
        }
        let others = store.unsaved.count - 1
        return others == 0
            ? "\(first.path) is not saved" : "\(first.path) and \(count(others, "other")) are not saved"
    }

    private static func sentence(for reason: LockReason) -> String {
        switch reason {
        case .command: "passdir lock"
        case .idle: "idle for lock.idle"
        case .screen: "the screen was locked"
        case .suspend: "the computer was suspended"
        case .logout: "you logged out"
        }
    }

    private static func sentence(for store: StoreReport) -> String {
        switch store.state {
        case .starting: "not examined yet"
        case .ready: store.canSave == false && !savesInPart(store) ? "ready to be read" : "ready"
        case .noCommits:
            (store.canSave == false ? "reading works" : "reading and saving work") + "; nothing is committed"
        case .waiting: "changes or commits are pending"
        case .failed: "unusable"
        }
    }

    /// Whether it is known that saving fails in some folders only.
    private static func savesInPart(_ store: StoreReport) -> Bool {
        !store.isReadOnly && store.savingObjection?.hasPrefix(Store.objectionInPart) == true
    }

    /// Why not all of a store can be saved to; nil where it can, or `state` says it.
    private static func objection(toSavingTo store: StoreReport) -> String? {
        guard store.canSave == false, store.state != .failed else { return nil }
        let name = ShellWord.quoted(store.name)
        if store.isReadOnly { return "refused, as it is read-only: passdir store set \(name) readOnly false" }
        if let objection = store.savingObjection { return "fails: \(objection.withoutFullStop)" }
        if store.recipientChanges.isEmpty {
            return "fails, as no .gpg-id says for whom to encrypt: passdir recipients set \(name) KEY"
        }
        return "fails where you have not approved the readers"
    }

    /// What is put in place or committed is not stopped any more.
    private static func sentence(for progress: Reencryption.Progress, in store: String) -> String {
        let all = count(progress.total, "secret")
        return switch progress.step {
        case .encrypting:
            "re-encrypting \(progress.done) of \(all): passdir recipients abort \(ShellWord.quoted(store)) stops it"
        case .placing: "putting \(progress.done) of \(all) in place, re-encrypted"
        case .committing: "committing \(all), re-encrypted"
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        number.counted(noun)
    }
}
