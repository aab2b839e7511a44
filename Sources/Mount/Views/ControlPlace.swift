import Fuse
import SystemPackage

/// A way to show secrets below the control directory, in folders that mirror the stores.
enum View: String, CaseIterable {
    /// A secret is a folder, with a file for each field.
    case fields
    /// The first line of a secret, without its newline.
    case first
    /// A secret is a folder, with a file for each of its versions.
    case history
    /// The one-time password of this moment, and a newline.
    case otp

    /// The folder's name.
    var name: Name { FilePath(rawValue).lastComponent ?? "." }

    init?(_ name: Name) { self.init(rawValue: name.string) }
}

/// What a name below the control directory says, before anything is looked up.
enum ControlPlace: Equatable {
    /// The control directory itself.
    case top
    /// A file at its top.
    case note(Name)
    /// The folder of a view: its entries are the stores.
    case view(View)
    /// What a view makes of a path in a store.
    case below(View, store: Name, path: [Name])
    /// The folder of rendered templates.
    case rendered
    /// A rendered template.
    case renderedFile(Name)
    /// The folder of what programs that run were given.
    case runs
    /// The folder of one of them.
    case run(Name)
    /// A file in it.
    case heldFile(Name, run: Name)

    /// The folder of rendered templates.
    static let renderedName: Name = "rendered"
    /// The folder of what programs that run were given.
    static let runName: Name = "run"

    /// - Parameter names: from below the control directory.
    init(_ names: [Name]) {
        guard let first = names.first else {
            self = .top
            return
        }
        if first == Self.renderedName {
            self = names.count == 1 ? .rendered : .renderedFile(names[names.count - 1])
            return
        }
        if first == Self.runName {
            switch names.count {
            case 1: self = .runs
            case 2: self = .run(names[1])
            default: self = .heldFile(names[names.count - 1], run: names[1])
            }
            return
        }
        guard let view = View(first) else {
            self = .note(first)
            return
        }
        self = names.count == 1 ? .view(view) : .below(view, store: names[1], path: Array(names[2...]))
    }
}

/// What a name below the control directory stands for.
enum ControlThing {
    case top
    case note(ControlNote)
    case view
    case rendered
    case renderedFile(Name)
    case runs
    case run([HeldFile])
    case heldFile(HeldFile)
    /// A folder of a store, shown by a view.
    case folder(View, MountedStore, Node)
    /// A secret as the folder of its fields.
    case fieldList(MountedStore, Node)
    /// A secret as the folder of its versions.
    case versions(MountedStore, Node)
    /// A value of a secret.
    case value(MountedStore, Node)
    /// A symbolic link of a store. It leads to the same name of the same view.
    case link(MountedStore, Node)

    var kind: Node.Kind {
        switch self {
        case .top, .view, .rendered, .runs, .run, .folder, .fieldList, .versions: .directory
        case .note, .value, .renderedFile, .heldFile: .plain
        case .link: .symbolicLink
        }
    }
}

/// A file at the top of the control directory that shows a text which is no secret.
public struct ControlNote: Sendable {
    let name: Name
    let text: @Sendable () -> String
    /// Made on a thread of its own when it is opened. A look tells the size that it had then.
    let takesTime: Bool

    /// - Parameters:
    ///   - takesTime: whether `text` may take longer than a look at the file may.
    ///   - text: what it shows; called on each open and, unless it takes time, each look at its size.
    public init(named name: Name, takesTime: Bool = false, text: @escaping @Sendable () -> String) {
        (self.name, self.takesTime, self.text) = (name, takesTime, text)
    }
}
