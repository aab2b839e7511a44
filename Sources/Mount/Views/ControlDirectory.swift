import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// The control directory, `.passdir` in the mount point: what is made of secrets, each value a file. No listing shows it, so
/// that no program that walks the mount enters it; it can be named.
///
/// Names are looked up without a look into any secret. A value is made when its file is opened: the secret is opened as by its
/// own name, so that rules, lock and log hold, and the value lies in secret memory until the last close.
final class ControlDirectory: ReadOnlySubtree {
    static let name: Name = ".passdir"

    let mount: MountState
    /// The mount point, whose stores each view shows again. It lives as long as the file system, which owns both.
    unowned let top: Top
    private let notes: [ControlNote]
    /// Values that programs have open, to be wiped by a lock.
    let values = OpenValues()
    /// Why values could not be made.
    let sentences = ValueSentences()
    /// Templates, each shown as a file with its values.
    let templates = RenderedTemplates()
    /// Files that programs were given for as long as they run.
    let held = HeldFiles()
    /// What stores held; nil where no history is shown.
    let past: PastDirectory?

    /// - Parameter notes: the files at its top.
    init(_ top: Top, in mount: MountState, notes: [ControlNote]) {
        (self.top, self.mount, self.notes) = (top, mount, notes)
        past = mount.options.past.map { _ in PastDirectory(top, in: mount) }
    }

    /// The views that are shown.
    private var views: [View] { View.allCases.filter { $0 != .history || past != nil } }

    var tree: Tree { mount.tree }

    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        guard folder.kind == .directory else { throw .notDirectory }
        let names = try names(of: folder)
        if let past, names.isEmpty, name == PastDirectory.name {
            return past.entry(name, .top, in: folder)
        }
        return try found(ControlPlace(names + [name])) { (thing) throws(Errno) in
            if case .versions(let store, let secret) = thing {
                return try versions(of: secret, in: store, name, folder)
            }
            let node = tree.shown(thing.kind, name: name, in: folder, self)
            do throws(Errno) {
                return Entry(inode: node.inode, attributes: try attributes(of: node, thing))
            } catch {
                tree.forget(node.inode, count: 1)
                throw error
            }
        }
    }

    /// The entries whose names can be told without a look into a secret.
    func entries(of folder: Node) throws(Errno) -> [ListedEntry] {
        try found(place(of: folder)) { (thing) throws(Errno) in
            switch thing {
            case .top:
                listed(notes.map(\.name), .regular, in: folder)
                    + listed(
                        views.map(\.name) + [ControlPlace.renderedName, ControlPlace.runName], .directory,
                        in: folder)
                    + listed(past == nil ? [] : [PastDirectory.name], .directory, in: folder)
            case .rendered: listed(templates.names, .regular, in: folder)
            case .runs: listed(held.names, .directory, in: folder)
            case .run(let files): listed(files.map(\.name), .regular, in: folder)
            case .view: listed(top.names, .directory, in: folder)
            case .folder(let view, let store, let node):
                try store.entries(of: node).compactMap { entry in
                    kind(of: entry, in: node, of: store, view).map {
                        ListedEntry(name: entry.name, inode: tree.inode(of: entry.name, in: folder), kind: $0)
                    }
                }
            case .fieldList, .versions: []
            case .note, .value, .renderedFile, .heldFile, .link: throw .notDirectory
            }
        }
    }

    func listed(_ names: [Name], _ kind: FileKind, in folder: Node) -> [ListedEntry] {
        names.map { ListedEntry(name: $0, inode: tree.inode(of: $0, in: folder), kind: kind) }
    }

    /// As what a view shows an entry of a store; nil where it does not.
    private func kind(
        of entry: ListedEntry, in folder: Node, of store: MountedStore, _ view: View
    ) -> FileKind? {
        switch entry.kind {
        case .directory, .symbolicLink: return entry.kind
        case .regular:
            guard entry.name != Store.recipientFileName, store.kind(of: entry.name, in: folder) == .secret
            else { return nil }
            return view == .fields || view == .history ? .directory : .regular
        }
    }

    func attributes(of node: Node) throws(Errno) -> Attributes {
        try found(place(of: node)) { (thing) throws(Errno) in try attributes(of: node, thing) }
    }

    func attributesUnseen(of top: Node) -> Attributes {
        mount.attributes(of: top, permissions: 0o500)
    }

    private func attributes(of node: Node, _ thing: ControlThing) throws(Errno) -> Attributes {
        switch thing {
        case .top, .view, .rendered, .runs, .run: return attributesUnseen(of: node)
        case .renderedFile(let name):
            // What it was when it was made last. Nobody looks at its template here: that may lie on another disk.
            let made = templates.made(name)
            var facts = mount.attributes(of: node, permissions: 0o400, size: made.size)
            if let time = made.modified { (facts.modificationTime, facts.changeTime) = (time, time) }
            return facts
        case .heldFile(let file):
            // As a value's below.
            let size = max(0, node.toldSize.load(ordering: .acquiring))
            var facts = mount.attributes(of: node, permissions: 0o400, size: size)
            (facts.modificationTime, facts.changeTime) = (file.made, file.made)
            return facts
        case .note(let note):
            let size =
                note.takesTime
                ? max(0, node.toldSize.load(ordering: .acquiring)) : Int64(note.text().utf8.count)
            return mount.attributes(of: node, permissions: 0o400, size: size)
        case .folder(_, let store, let folder):
            return shown(try store.attributes(of: folder), of: node, permissions: 0o500)
        case .fieldList(let store, let secret), .versions(let store, let secret):
            return shown(try store.attributes(of: secret), of: node, permissions: 0o500, size: 0)
        case .value(let store, let secret):
            // What it was when it was opened last; nothing is known of one that nobody has opened.
            let size = max(0, node.toldSize.load(ordering: .acquiring))
            return shown(try store.attributes(of: secret), of: node, permissions: 0o400, size: size)
        case .link(let store, let link):
            return shown(try store.attributes(of: link), of: node, permissions: 0o777)
        }
    }

    /// The facts of a store's node, told of one of ours.
    private func shown(
        _ facts: Attributes, of node: Node, permissions: UInt16, size: Int64? = nil
    ) -> Attributes {
        var facts = facts
        facts.inode = node.inode
        facts.kind = node.fileKind
        facts.permissions = permissions
        if let size { facts.size = size }
        return facts
    }

    func target(of link: Node) throws(Errno) -> [UInt8] {
        try found(place(of: link)) { (thing) throws(Errno) in
            guard case .link(let store, let node) = thing else { throw .invalidArgument }
            return try store.target(of: node)
        }
    }

    /// `error` tells why a value could not be made; all else is the secret's.
    func extendedAttribute(_ attribute: [UInt8], of node: Node) throws(Errno) -> [UInt8] {
        try found(place(of: node)) { (thing) throws(Errno) in
            switch thing {
            case .top, .note, .view, .rendered, .runs, .run: throw .noData
            case .heldFile:
                guard let sentence = sentence(attribute, of: node) else { throw .noData }
                return sentence
            case .renderedFile(let name):
                guard TellingAttribute(attribute) == .error, let sentence = templates.failure(name) else {
                    throw .noData
                }
                return Array(VisibleText.line(sentence).utf8)
            case .folder(_, let store, let shown), .fieldList(let store, let shown),
                .versions(let store, let shown), .link(let store, let shown):
                return try store.extendedAttribute(attribute, of: shown)
            case .value(let store, let secret):
                if let sentence = sentence(attribute, of: node) { return sentence }
                return try store.extendedAttribute(attribute, of: secret)
            }
        }
    }

    /// Why the value of a node could not be made, where that is what is asked for.
    private func sentence(_ attribute: [UInt8], of node: Node) -> [UInt8]? {
        guard TellingAttribute(attribute) == .error else { return nil }
        return sentences.of(tree.visiblePath(of: node)).map { Array(VisibleText.line($0).utf8) }
    }

    func statistics() throws(Errno) -> FileSystemStatistics { try top.statistics() }

    func open(_ node: Node, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<any OpenFile> {
        guard !flags.isWritable, !flags.truncates else { throw .readOnlyFileSystem }
        switch try place(of: node) {
        case .note(let name):
            guard let note = note(name) else { throw .noSuchFileOrDirectory }
            return open(note, node)
        case .below(let view, let store, let path):
            return try openValue(node, view, store, path, for: caller)
        case .renderedFile(let name):
            guard let template = templates.template(name) else { throw .noSuchFileOrDirectory }
            return openRendered(.registered(template), node, for: caller)
        case .heldFile(let name, let run):
            guard let file = held.file(name, in: run) else { throw .noSuchFileOrDirectory }
            return openRendered(.held(file), node, for: caller)
        case .top, .view, .rendered, .runs, .run: throw .isDirectory
        }
    }

    private func open(_ note: ControlNote, _ node: Node) -> Reply<any OpenFile> {
        let mount = mount
        let make = { @Sendable in
            let file = PlainFile(bytes: Array(note.text().utf8))
            mount.correctSize(of: node, to: file.size)
            node.noteTold(file.size)
            return file
        }
        guard note.takesTime else { return .now(make()) }
        let reply = PendingReply<any OpenFile>()
        PosixThread.startWhenPossible(named: "note") { reply.give(.success(make())) }
        return .later(reply)
    }

    func note(_ name: Name) -> ControlNote? { notes.first { $0.name == name } }
}
