import CGit
public import SystemPackage

/// The kinds of objects that git knows.
public enum ObjectKind: Sendable {
    case commit, tree, blob, tag

    init?(_ raw: git_object_t) {
        switch raw {
        case GIT_OBJECT_COMMIT: self = .commit
        case GIT_OBJECT_TREE: self = .tree
        case GIT_OBJECT_BLOB: self = .blob
        case GIT_OBJECT_TAG: self = .tag
        default: return nil
        }
    }
}

/// The objects that lie in a repository, whatever leads to them, and where they lead.
public final class ObjectStock {
    private let repository: Repository
    private let database: Owned

    /// The objects of a repository, and of those that it borrows from.
    public init(_ repository: Repository) throws(GitError) {
        self.repository = repository
        database = try Owned("cannot read the objects", free: git_odb_free) {
            git_repository_odb(&$0, repository.pointer)
        }
    }

    /// The kind of an object; nil when it is not here.
    public func kind(of id: ObjectID) -> ObjectKind? {
        var oid = id.oid
        var size = 0
        var kind = GIT_OBJECT_INVALID
        guard git_odb_read_header(&size, &kind, database.pointer, &oid) == 0 else { return nil }
        return ObjectKind(kind)
    }

    /// Every object in the repository's own folder, also those that nothing leads to. Not those of other repositories
    /// that it borrows from (`objects/info/alternates`), which stay when it goes.
    public func own() throws(GitError) -> [ObjectID] {
        let folder = repository.commonDirectory.appending("objects").string
        let stock = try Owned("cannot read the objects", free: git_odb_free) { git_odb_new(&$0) }
        var (loose, packed): (OpaquePointer?, OpaquePointer?)
        try check(git_odb_backend_loose(&loose, folder, -1, 0, 0, 0), "cannot read the objects")
        try check(git_odb_add_backend(stock.pointer, loose, 1), "cannot read the objects")
        try check(git_odb_backend_pack(&packed, folder), "cannot read the objects")
        try check(git_odb_add_backend(stock.pointer, packed, 2), "cannot read the objects")
        final class Found { var ids: Set<ObjectID> = [] }
        let found = Found()
        let code = git_odb_foreach(
            stock.pointer,
            { id, payload in
                guard let id, let payload else { return 0 }
                Unmanaged<Found>.fromOpaque(payload).takeUnretainedValue().ids.insert(ObjectID(id.pointee))
                return 0
            }, Unmanaged.passUnretained(found).toOpaque())
        try withExtendedLifetime(found) { () throws(GitError) in try check(code, "cannot read the objects") }
        return Array(found.ids)
    }

    /// What an object leads to directly: a commit's tree and parents, a tree's entries, a tag's target; and whether that
    /// leads nowhere further, as a blob. Nothing for an object that is not here, as the parents of a shallow clone's last
    /// commits are not.
    func next(of id: ObjectID) -> [(id: ObjectID, isLeaf: Bool)] {
        var oid = id.oid
        var object: OpaquePointer?
        guard git_object_lookup(&object, repository.pointer, &oid, GIT_OBJECT_ANY) == 0, let object else {
            return []
        }
        defer { git_object_free(object) }
        switch git_object_type(object) {
        case GIT_OBJECT_COMMIT:
            let tree = ObjectID(git_commit_tree_id(object).pointee)
            return [(tree, false)]
                + (0..<git_commit_parentcount(object)).compactMap {
                    git_commit_parent_id(object, $0).map { (ObjectID($0.pointee), false) }
                }
        case GIT_OBJECT_TREE:
            return (0..<git_tree_entrycount(object)).compactMap { index in
                guard let entry = git_tree_entry_byindex(object, index),
                    // A submodule's commit lies in another repository.
                    git_tree_entry_type(entry) != GIT_OBJECT_COMMIT,
                    let id = git_tree_entry_id(entry)
                else { return nil }
                return (ObjectID(id.pointee), git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
            }
        case GIT_OBJECT_TAG: return git_tag_target_id(object).map { [(ObjectID($0.pointee), false)] } ?? []
        default: return []
        }
    }

    /// Adds to `found` what these objects lead to, themselves with it.
    /// - Parameter goesOn: whether an object counts, and what it leads to.
    public func close(
        _ found: inout Set<ObjectID>, over tips: [ObjectID], where goesOn: (ObjectID) -> Bool = { _ in true }
    ) {
        var waiting = tips
        while let id = waiting.popLast() {
            guard !found.contains(id), goesOn(id) else { continue }
            found.insert(id)
            for (id, isLeaf) in next(of: id) {
                if isLeaf { if goesOn(id) { found.insert(id) } } else { waiting.append(id) }
            }
        }
    }

    /// A commit's parents; none for what is no commit, or is not here.
    public func parents(of id: ObjectID) -> [ObjectID] {
        kind(of: id) == .commit ? next(of: id).dropFirst().map(\.id) : []
    }

    /// A commit's tree; nothing for other objects.
    public func content(of id: ObjectID) -> [ObjectID] {
        kind(of: id) == .commit ? next(of: id).prefix(1).map(\.id) : []
    }

    /// The first line that a commit or tag says; nil for other objects.
    public func subject(of id: ObjectID) -> String? {
        var oid = id.oid
        var object: OpaquePointer?
        guard git_object_lookup(&object, repository.pointer, &oid, GIT_OBJECT_ANY) == 0, let object else {
            return nil
        }
        defer { git_object_free(object) }
        let message: UnsafePointer<CChar>? =
            switch git_object_type(object) {
            case GIT_OBJECT_COMMIT: git_commit_message(object)
            case GIT_OBJECT_TAG: git_tag_message(object)
            default: nil
            }
        guard let message else { return nil }
        let text = String(cString: message).split(whereSeparator: \.isNewline).first ?? ""
        return String(text.prefix(72))
    }
}

extension Repository {
    /// A reference by its full name, and what it leads to.
    public struct NamedTip: Sendable, Equatable {
        /// `refs/heads/main`, or `HEAD`.
        public var name: String
        /// The object, not peeled: a tag's own.
        public var target: ObjectID
    }

    /// Every reference that leads to an object, of any kind, and HEAD first.
    public func namedTips() throws(GitError) -> [NamedTip] {
        var found: [NamedTip] = []
        func add(_ name: String) {
            var oid = git_oid()
            if git_reference_name_to_id(&oid, pointer, name) == 0 {
                found.append(NamedTip(name: name, target: ObjectID(oid)))
            }
        }
        add("HEAD")
        let references = try Owned("cannot read the references", free: git_reference_iterator_free) {
            git_reference_iterator_new(&$0, pointer)
        }
        while true {
            var name: UnsafePointer<CChar>?
            let code = git_reference_next_name(&name, references.pointer)
            if code == GIT_ITEROVER.rawValue { return found }
            try check(code, "cannot read the references")
            if let name { add(String(cString: name)) }
        }
    }

    /// A line of a reference's log.
    public struct ReflogLine: Sendable, Equatable {
        /// Where the reference stood before; all zero for its first.
        public var old: ObjectID
        /// Where it went.
        public var new: ObjectID
        /// Why.
        public var message: String
    }

    /// The log of a reference, newest first; empty when it has none.
    public func reflog(of name: String) -> [ReflogLine] {
        var log: OpaquePointer?
        guard git_reflog_read(&log, pointer, name) == 0 else { return [] }
        defer { git_reflog_free(log) }
        return (0..<git_reflog_entrycount(log)).compactMap { index in
            guard let line = git_reflog_entry_byindex(log, index) else { return nil }
            return ReflogLine(
                old: ObjectID(git_reflog_entry_id_old(line).pointee),
                new: ObjectID(git_reflog_entry_id_new(line).pointee),
                message: git_reflog_entry_message(line).map { String(cString: $0) } ?? "")
        }
    }

    /// The names of the linked worktrees, and their folders.
    public func linkedWorktrees() -> [(name: String, folder: FilePath)] {
        var names = git_strarray()
        guard git_worktree_list(&names, pointer) == 0 else { return [] }
        defer { git_strarray_dispose(&names) }
        return (0..<names.count).compactMap { index in
            guard let name = names.strings[index] else { return nil }
            var worktree: OpaquePointer?
            guard git_worktree_lookup(&worktree, pointer, name) == 0 else { return nil }
            defer { git_worktree_free(worktree) }
            guard let path = git_worktree_path(worktree) else { return nil }
            return (String(cString: name), FilePath(platformString: path))
        }
    }
}
