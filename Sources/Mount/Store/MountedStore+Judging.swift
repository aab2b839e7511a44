import Access
import Fuse
import Stores
import Synchronization
import SystemPackage

/// Who may read is asked here, before anything is decrypted. Lists of recipients are no secrets; who may change them is told in
/// `MountedStore+ListJudging.swift`.
extension MountedStore {
    /// Judges an open.
    /// - Parameter note: of the same open as it was judged before.
    func judge(
        _ node: Node, _ flags: OpenFlags, _ caller: Caller, after note: ReadNote = .none
    ) -> Judgement {
        if isRecipientFile(node) {
            let isChanged = flags.isWritable || flags.truncates
            return isChanged ? judgeList(of: tree.parent(of: node), caller, after: note) : .allowed(.none)
        }
        guard flags.isReadable else { return .allowed(.none) }
        return switch readPlace(of: node, caller.processID) {
        case .free: .allowed(.none)
        case .nameless(let judge): judge.refuse(caller.processID, reading: store.name)
        case .ruled(let judge, let place): judge.judge(caller.processID, reading: place, after: note)
        }
    }

    /// Judges an open once more where the rules have changed while it waited: for a passphrase, or for a person to unlock the
    /// store. Then runs `body`, as `settle` does.
    func judgeAgain(
        _ node: Node, _ flags: OpenFlags, _ caller: Caller, _ note: ReadNote,
        then body: @escaping @Sendable (Result<ReadNote, Errno>) -> Void
    ) {
        guard isOutdated(note) else { return body(.success(note)) }
        settle(judge(node, flags, caller, after: note), caller, then: body)
    }

    /// Whether a read is to be judged by other rules than it was.
    func isOutdated(_ note: ReadNote) -> Bool {
        guard let judge = mount.options.judge, judge.isWatching else { return false }
        return judge.inForce !== note.inForce
    }

    /// Runs `body`, once: at once, or on another thread when a person has answered; with the note of the read, or why there is none.
    func settle(
        _ judgement: Judgement, _ caller: Caller,
        then body: @escaping @Sendable (Result<ReadNote, Errno>) -> Void
    ) {
        switch judgement {
        case .refused, .unasked: body(.failure(.permissionDenied))
        case .allowed(let note): body(.success(note))
        case .asked(let consent, let note):
            ConsentWait(consent, caller).wait { error in body(error.map { .failure($0) } ?? .success(note)) }
        }
    }

    /// Whether a thread may read at once; nil where it may not.
    func mayRead(_ node: Node, _ thread: Int32) -> ReadNote? {
        switch readPlace(of: node, thread) {
        case .free: ReadNote.none
        case .nameless: nil
        case .ruled(let judge, let place): judge.allows(thread, reading: place)
        }
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

    /// By what a read is judged.
    private enum ReadPlace {
        /// No judge has a say.
        case free
        /// What has no name any more, and is open still, may have been under any of the rules that the store has.
        case nameless(any ReadJudge)
        /// STORE/PATH.
        case ruled(any ReadJudge, String)
    }

    private func readPlace(of node: Node, _ thread: Int32) -> ReadPlace {
        guard let judge = mount.options.judge, judge.isWatching else { return .free }
        let file = node.secret
        // Looked at before the names are: what changes meanwhile makes it void.
        let basis = JudgedName.Basis(renames: tree.renames, store: store.name, rules: judge.inForce)
        if let place = file?.judgedName.withLock({ $0?.place(by: basis) }) { return .ruled(judge, place) }
        if isRecipientFile(node) { return .free }
        guard let shown = tree.visibleText(of: node, behind: basis.store) else {
            return judge.hasRules(over: store.name) ? .nameless(judge) : .ruled(judge, store.name)
        }
        let places = judge.judgedPlaces(of: shown)
        // Of several it depends on the reader.
        if places.count == 1 { file?.judgedName.withLock { $0 = JudgedName(basis, places[0]) } }
        return .ruled(judge, judge.strictest(of: places, reader: thread))
    }

    /// STORE/PATH of a path as the mount shows it.
    func place(of path: FilePath) -> String {
        path.isEmpty ? store.name : "\(store.name)/\(path)"
    }

    /// Refuses to give a secret, or a folder, a name to which other rules apply, where the caller may not read it, or any program
    /// has it open: EXDEV. mv(1) then copies, and is judged as any other reader.
    func checkMove(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) -> RuledMove {
        try checkMayMoveLists(oldName, in: source, to: newName, in: destination, flags: flags, for: caller)
        guard let judge = mount.options.judge, judge.isWatching,
            let from = tree.visiblePath(of: source), let to = tree.visiblePath(of: destination)
        else { return .free }
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
        let names = [(oldName, source), (newName, destination)]
        let moved = zip(names, moves).compactMap { name, move in
            judge.rulesDiffer(move.0, move.1) ? tree.child(name.0, of: name.1) : nil
        }
        guard !moved.isEmpty else { return .free }
        // What is opened from here on waits, and is judged by the new name.
        guard let move = RuledMove(moved, in: ruledMoves) else { throw .improperLink }
        guard !moved.contains(where: isOpen) else {
            move.end()
            throw .improperLink
        }
        return move
    }

    /// Whether a program has a secret open, or one in a folder.
    private func isOpen(_ node: Node) -> Bool {
        tree.secrets(of: self).contains { one in
            (one === node || tree.isBelow(one, node))
                && one.secret?.state.withLock { $0.isOpenInProgram } == true
        }
    }
}
