import Fuse
import Stores
import SystemPackage

/// From nodes to what their names stand for.
extension ControlDirectory {
    func place(of node: Node) throws(Errno) -> ControlPlace { try ControlPlace(names(of: node)) }

    /// The names from below the control directory to a node.
    func names(of node: Node) throws(Errno) -> [Name] {
        guard let places = tree.places(to: node) else { throw .staleNFSFileHandle }
        var names: [Name] = []
        for place in places {
            guard let name = Name(bytes: place.name) else { throw .invalidArgument }
            names.append(name)
        }
        return names
    }

    /// Runs `body` with what a place stands for, which lives for as long.
    func found<Value>(
        _ place: ControlPlace, _ body: (ControlThing) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        switch place {
        case .top: return try body(.top)
        case .view(.history) where past == nil, .below(.history, _, _) where past == nil:
            throw .noSuchFileOrDirectory
        case .view: return try body(.view)
        case .rendered: return try body(.rendered)
        case .renderedFile(let name):
            guard templates.template(name) != nil else { throw .noSuchFileOrDirectory }
            return try body(.renderedFile(name))
        case .runs: return try body(.runs)
        case .run(let name):
            guard let files = held.files(name) else { throw .noSuchFileOrDirectory }
            return try body(.run(files))
        case .heldFile(let name, let run):
            guard let file = held.file(name, in: run) else { throw .noSuchFileOrDirectory }
            return try body(.heldFile(file))
        case .note(let name):
            guard let note = note(name) else { throw .noSuchFileOrDirectory }
            return try body(.note(note))
        case .below(let view, let name, let path):
            let (store, node, rest) = try walk(path, in: name)
            defer { tree.forget(node.inode, count: 1) }
            return try body(thing(view, store, node, rest))
        }
    }

    /// Finds what lies at a path in a store, with a lookup of it counted.
    func walk(
        _ path: [Name], in name: Name
    ) throws(Errno) -> (store: MountedStore, node: Node, rest: [Name]) {
        guard let store = top.store(name), let folder = tree.child(name, of: tree.root) else {
            throw .noSuchFileOrDirectory
        }
        let (node, rest) = try store.walk(path, from: folder)
        return (store, node, rest)
    }

    private func thing(
        _ view: View, _ store: MountedStore, _ node: Node, _ rest: [Name]
    ) throws(Errno) -> ControlThing {
        switch (node.kind, rest.count) {
        case (.directory, _): return .folder(view, store, node)
        case (.symbolicLink, 0): return .link(store, node)
        case (.secret, _):
            guard !store.isRecipientFile(node), !store.isScratch(node) else { break }
            switch (view, rest.count) {
            case (.fields, 0): return .fieldList(store, node)
            case (.history, 0): return .versions(store, node)
            case (.fields, 1), (.first, 0), (.otp, 0): return .value(store, node)
            default: throw .notDirectory
            }
        default: break
        }
        throw .noSuchFileOrDirectory
    }
}
