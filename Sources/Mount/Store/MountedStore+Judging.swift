import Access
import Fuse
import Stores
import Synchronization
import SystemPackage

/// Who may read is asked here, before anything is decrypted. Lists of recipients are no secrets.
extension MountedStore {
    /// Judges an open for reading.
    func judge(_ node: Node, _ caller: Caller) -> Judgement {
        guard let judge = judge(of: node) else { return .allowed(.none) }
        guard let secret = judgedPlace(of: node, judge, caller.processID) else { return .refused }
        return judge.judge(caller.processID, reading: secret)
    }

    /// Whether a thread may read at once; nil where it may not.
    func mayRead(_ node: Node, _ thread: Int32) -> ReadNote? {
        guard let judge = judge(of: node) else { return ReadNote.none }
        guard let secret = judgedPlace(of: node, judge, thread) else { return nil }
        return judge.allows(thread, reading: secret)
    }

    /// The judge, where one has a say.
    private func judge(of node: Node) -> (any ReadJudge)? {
        guard let judge = mount.options.judge, judge.isWatching else { return nil }
        return isRecipientFile(node) ? nil : judge
    }

    /// Whether a thread may make a file that it can read: others may save to it while the descriptor is open.
    func mayCreate(_ name: Name, in folder: Node, _ thread: Int32) -> Bool {
        guard let judge = mount.options.judge, judge.isWatching else { return true }
        guard let path = tree.visiblePath(of: folder) else { return false }
        let place = judge.judgedPlace(of: place(of: path.appending(name)), reader: thread)
        guard let note = judge.allows(thread, reading: place) else { return false }
        note.read()
        return true
    }

    /// STORE/PATH, by whose rules a file is judged. What has no name any more, and is open still, may have been under any rule of
    /// the store: nil.
    private func judgedPlace(of node: Node, _ judge: any ReadJudge, _ thread: Int32) -> String? {
        guard let place = tree.visibleText(of: node, behind: store.name) else { return nil }
        return judge.judgedPlace(of: place, reader: thread)
    }

    private func place(of path: FilePath) -> String {
        path.isEmpty ? store.name : "\(store.name)/\(path)"
    }

    /// Refuses to give a secret, or a folder, a name to which other rules apply, where the caller may not read it, or has it open
    /// and may not read it there: EXDEV. mv(1) then copies, and is judged as any other reader.
    func checkMove(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) {
        guard let judge = mount.options.judge, judge.isWatching,
            let from = tree.visiblePath(of: source), let to = tree.visiblePath(of: destination)
        else { return }
        let (one, other) = (place(of: from.appending(oldName)), place(of: to.appending(newName)))
        let moves = flags.contains(.exchange) ? [(one, other), (other, one)] : [(one, other)]
        for (place, target) in moves {
            let targets = JudgedPlaces.of(
                target, ruled: judge.ruledPlaces(below:), isRuled: judge.hasRules(at:))
            for place in JudgedPlaces.of(
                place, ruled: judge.ruledPlaces(below:), isRuled: judge.hasRules(at:))
            {
                for target in targets where !judge.allows(caller.processID, moving: place, to: target) {
                    throw .improperLink
                }
            }
        }
        // What is open goes along: whoever holds it would read on whatever others save to it there.
        let places = [(oldName, source, moves[0].1)] + moves.dropFirst().map { (newName, destination, $0.1) }
        for (name, folder, target) in places {
            let judged = judge.judgedPlace(of: target, reader: caller.processID)
            guard judge.allows(caller.processID, reading: judged) == nil,
                let moved = tree.child(name, of: folder)
            else { continue }
            let isOpen = tree.secrets(of: self).contains { node in
                (node === moved || tree.isBelow(node, moved))
                    && node.secret?.state.withLock { $0.isOpenInProgram } == true
            }
            if isOpen { throw .improperLink }
        }
    }
}
