import Access
import Fuse
import Stores
import Synchronization
import SystemPackage

/// A list of recipients is no secret, but says who reads all that lies below: whoever changes it must be one who may read that.
extension MountedStore {
    /// Judges a change of the list of a folder by an open of that list.
    /// - Parameter note: of the same open as it was judged before.
    func judgeList(of folder: Node?, _ caller: Caller, after note: ReadNote) -> Judgement {
        guard let path = folder.flatMap({ tree.visiblePath(of: $0) }) else { return .refused }
        return judgeList(of: path, caller, mayAsk: true, after: note)
    }

    /// - Parameter folder: as the mount shows it.
    private func judgeList(
        of folder: FilePath, _ caller: Caller, mayAsk: Bool, after note: ReadNote = .none
    ) -> Judgement {
        let judgement: Judgement
        if let judge = mount.options.judge, judge.isWatching {
            let list = place(of: folder.appending(Store.recipientFileName))
            judgement = judge.judge(caller.processID, changing: list, mayAsk: mayAsk, after: note)
        } else {
            judgement = .allowed(.none)
        }
        switch judgement {
        case .allowed(let note), .asked(_, let note):
            judgedLists.withLock { $0[folder] = JudgedList(thread: caller.processID, note: note) }
        case .refused, .unasked: break
        }
        return judgement
    }

    /// Judges a change of the list of a folder once more, behind the prompts that it has waited at, where other rules are in force by
    /// then; a lock that came meanwhile counts, too. Nobody is asked: who waits for close(2) or rename(2) would hold up others.
    func checkStillMayChangeList(of folder: FilePath) throws(StoreError) {
        if lock.isLocked { throw lockedError }
        guard let judge = mount.options.judge, judge.isWatching,
            let judged = judgedLists.withLock({ $0[folder] }), judge.inForce !== judged.note.inForce
        else { return }
        let place = place(of: folder)
        let list = "\(place)/\(Store.recipientFileName)"
        switch judge.judge(judged.thread, changing: list, mayAsk: false, after: judged.note) {
        case .allowed(let note): judgedLists.withLock { $0[folder]?.note = note }
        case .refused, .asked, .unasked:
            throw StoreError(
                .system(.permissionDenied),
                "the access rules refuse changing who can read \(place): passdir access log "
                    + "\(ShellWord.quoted(place)) says why")
        }
    }

    /// Refuses a change of the list of a folder to whoever may not read what lies below: EACCES. So it is where a person would have
    /// to be asked, as the kernel holds the folder, or the list, until this is answered.
    func checkMayChangeRecipients(of folder: FilePath, for caller: Caller) throws(Errno) {
        switch judgeList(of: folder, caller, mayAsk: false) {
        case .allowed(let note): note.read()
        case .refused, .asked: throw .permissionDenied
        case .unasked:
            let list = folder.appending(Store.recipientFileName)
            note(unaskedMessage(of: folder), about: list, at: list, because: .rules)
            throw .permissionDenied
        }
    }

    private func unaskedMessage(of folder: FilePath) -> String {
        let place = place(of: folder)
        return
            "a rule asks before anybody changes who can read \(place), and this call cannot wait for an answer: use "
            + "passdir recipients, which asks, or change the rule: passdir access set \(ShellWord.quoted(place))"
    }

    /// Refuses to make or remove a list, or a link of that name, as above.
    func checkMayChange(_ name: Name, in folder: Node, for caller: Caller) throws(Errno) {
        guard name == Store.recipientFileName, let path = tree.visiblePath(of: folder) else { return }
        try checkMayChangeRecipients(of: path, for: caller)
    }

    /// Refuses a rename by which a folder gets, or loses, a list of its own, as above.
    func checkMayMoveLists(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) {
        guard let judge = mount.options.judge,
            let from = tree.visiblePath(of: source), let to = tree.visiblePath(of: destination)
        else { return }
        try checkMayChange(oldName, in: source, for: caller)
        if source !== destination || oldName != newName {
            try checkMayChange(newName, in: destination, for: caller)
        }
        let moves =
            [(oldName, source, to.appending(newName))]
            + (flags.contains(.exchange) ? [(newName, destination, from.appending(oldName))] : [])
        for (name, folder, target) in moves where judge.hasRules(over: place(of: target)) {
            guard let moved = tree.child(name, of: folder), moved.kind == .directory, holdsList(moved) else {
                continue
            }
            try checkMayChangeRecipients(of: target, for: caller)
        }
    }

    /// Whether a list lies in a folder or below it, on disk or not saved yet.
    private func holdsList(_ folder: Node) -> Bool {
        guard let path = tree.backingPath(of: folder) else { return false }
        // What cannot be looked at may hold one.
        guard let lists = try? store.recipientFiles(below: path), lists.isEmpty else { return true }
        return tree.secrets(of: self).contains { isRecipientFile($0) && tree.isBelow($0, folder) }
    }
}

/// Who changes a list of recipients, and by what that was judged.
struct JudgedList: Sendable {
    /// Of the program, as the kernel names it; it may be gone when a save is tried again, and is then one that cannot be seen.
    var thread: Int32
    var note: ReadNote
}
