import CGit
import CLinux
import Glibc
import System
public import SystemPackage

/// Files that are about to take their places in the working tree, in place of what a commit holds there.
///
/// Everything is written and durable under temporary names before the first file moves. A file that is no longer what
/// it was when it was looked at is put back: an edit is never written over.
public final class WorkingTreeUpdate {
    /// One path.
    public struct Step: Sendable {
        /// Relative to the top of the repository.
        public var path: FilePath
        /// What must lie there now; nil: nothing.
        public var old: TreeItem?
        /// What shall lie there; nil: nothing.
        public var new: TreeItem?

        /// A step of these parts.
        public init(path: FilePath, old: TreeItem?, new: TreeItem?) {
            self.path = path
            self.old = old
            self.new = new
        }
    }

    struct Prepared {
        /// In terms of files: a submodule is nothing.
        var step: Step
        var asked: Step
        /// What lies there now, as it was looked at; nil: nothing.
        var found: stat?
        /// The new content until it is in its place, then the old one until all is done.
        var temporary: FilePath
        /// Of the new content.
        var inode: ino_t = 0
    }

    private let root: FilePath
    private var steps: [Prepared] = []
    /// Those that are done, in their order.
    private var done: [Prepared] = []
    /// The folders of submodules that come; git makes them empty.
    private var comingFolders: [FilePath] = []
    /// The folders of submodules that go, which stay unless they are empty.
    private var goingFolders: [FilePath] = []
    /// Paths at which something else lies than the step says: uncommitted edits.
    public private(set) var edited: [FilePath] = []

    /// Paths at which something new is to be put, and nothing lay that git could store; a folder or a pipe may.
    public var additions: [FilePath] {
        steps.filter { $0.step.old == nil && $0.step.new != nil && $0.found == nil }.map(\.step.path)
    }

    /// Looks at every path and writes the new files under temporary names.
    ///
    /// `edited` holds the paths whose content is neither the old nor the new one; if there is any, commit it first.
    /// - Parameter check: called before each step; what it throws ends the preparation and leaves nothing behind.
    public init(
        _ steps: [Step], in repository: Repository, check: () throws(GitError) -> Void = {}
    ) throws(GitError) {
        guard let top = repository.workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no working tree")
        }
        root = top
        let folder = try WorkingRoot(top)
        // Without core.fileMode nothing is meant by whether a file can be executed.
        let hasModes = repository.configBool("core.fileMode") ?? true
        func isSame(_ one: TreeItem?, _ other: TreeItem?) -> Bool {
            guard let one, let other else { return one == nil && other == nil }
            return one.id == other.id
                && (one.kind == other.kind || !hasModes && one.kind != .link && other.kind != .link)
        }
        var excused = repository.excusedAbsences
        for (number, step) in steps.enumerated() {
            try check()
            try checkedPath(step.path)
            let asked = step
            let step = inFiles(asked)
            // What is in a submodule's folder is its own business.
            if asked.old?.kind == .submodule, asked.new?.kind == .submodule { continue }
            let found = try WorkingFile.read(step.path, in: folder)
            let (item, metadata) = try Self.item(found, of: step, repository)
            if isSame(item, step.new), item != nil || !found.isDirectory { continue }
            // A file that a sparse checkout leaves out: it was not removed. What comes is put there.
            var isLeftOut = item == nil && !found.isDirectory && step.old != nil
            if isLeftOut { isLeftOut = try excused.contains(step.path) }
            if isLeftOut, step.new == nil { continue }
            let isAsBefore =
                isSame(item, step.old) && (!found.isDirectory || step.old == nil)
                && (item == nil || metadata != nil)
            guard isLeftOut || isAsBefore else {
                edited.append(step.path)
                continue
            }
            // Named as the temporary files of a store, which nobody shows or commits, and which the next start removes.
            let temporary = top.appending(".passdir-\(getpid())-m\(number).tmp")
            var prepared = Prepared(step: step, asked: asked, found: metadata, temporary: temporary)
            if let new = step.new {
                try Self.write(new, from: repository, to: &prepared)
                prepared.inode = Self.facts(of: temporary).st_ino
            }
            self.steps.append(prepared)
        }
    }

    /// What a step means for files; notes what it means for folders.
    private func inFiles(_ asked: Step) -> Step {
        var step = asked
        if asked.old?.kind == .submodule {
            step.old = nil
            if asked.new == nil { goingFolders.append(asked.path) }
        }
        if asked.new?.kind == .submodule {
            step.new = nil
            if asked.old?.kind != .submodule { comingFolders.append(asked.path) }
        }
        return step
    }

    deinit {
        for step in steps { step.temporary.unlink() }
    }

    private static func item(
        _ found: WorkingFile, of step: Step, _ repository: Repository
    ) throws(GitError) -> (TreeItem?, stat?) {
        switch found {
        case .absent, .directory: return (nil, nil)
        case .file(let bytes, let executable, let stat):
            // What lies there as the branch has it, byte for byte, was not edited, whatever attributes say that came since.
            var id = try Repository.blobID(of: bytes)
            if id != step.old?.id {
                id = try repository.blobID(
                    ofFile: bytes, at: step.path, known: [step.new].compactMap { $0?.id })
            }
            return (TreeItem(id: id, kind: executable ? .executable : .file), stat)
        case .link(let target, let stat):
            return (TreeItem(id: try Repository.blobID(of: target), kind: .link), stat)
        }
    }

    /// Puts the files in their places, one after another, each at once.
    ///
    /// It stops at the first one that was edited meanwhile, or fails, and takes back what was done before. Removals come first,
    /// so that a file can take the name of a folder that empties.
    /// - Returns: the paths that were edited meanwhile; none when all is done.
    public func apply() throws(GitError) -> [FilePath] {
        let folder = try WorkingRoot(root)
        let removals = steps.filter { $0.step.new == nil }
        for (number, step) in (removals + steps.filter { $0.step.new != nil }).enumerated() {
            if number == removals.count {
                // A file may take the name of a folder that is empty now.
                for removal in removals { folder.removeEmptyFolders(above: removal.step.path) }
            }
            let isDone: Bool
            do throws(GitError) {
                isDone = try step.step.new == nil ? remove(step, folder) : put(step, folder)
            } catch {
                try takeBack()
                throw error
            }
            guard isDone else {
                try takeBack()
                return [step.step.path]
            }
            done.append(step)
        }
        for step in done where step.step.new == nil { folder.removeEmptyFolders(above: step.step.path) }
        for path in goingFolders { folder.removeEmptyFolders(above: path.appending(".git")) }
        // git shows a submodule without its folder as removed, and works all the same.
        for path in comingFolders { try? folder.makeFolders(above: path.appending(".git")) }
        try synchronize(folder)
        return []
    }

    /// Makes undone what `apply` did, but for what was edited since.
    /// - Parameter isWanted: a step that is to stay.
    public func takeBack(
        unless isWanted: (Step) throws(GitError) -> Bool = { _ in false }
    ) throws(GitError) {
        let folder = try WorkingRoot(root)
        while let step = done.popLast() {
            guard try !isWanted(step.asked) else { continue }
            if step.asked.new?.kind == .submodule {
                folder.removeEmptyFolders(above: step.asked.path.appending(".git"))
            }
            try takeBack(step, folder)
        }
    }

    private func put(_ step: Prepared, _ folder: borrowing WorkingRoot) throws(GitError) -> Bool {
        try folder.makeFolders(above: step.step.path)
        guard let parent = try folder.openFolder(of: step.step.path), let name = step.step.path.lastComponent
        else {
            return false
        }
        guard let expected = step.found else {
            if try rename(step, parent, name, flags: PASSDIR_RENAME_NOREPLACE) { return true }
            // As git does: an empty folder, of which it knows nothing, gives way.
            guard name.withPlatformString({ unlinkat(parent.raw, $0, AT_REMOVEDIR) }) == 0 else {
                return false
            }
            return try rename(step, parent, name, flags: PASSDIR_RENAME_NOREPLACE)
        }
        // What was there is looked at once nobody else can reach it.
        guard try rename(step, parent, name, flags: PASSDIR_RENAME_EXCHANGE) else { return false }
        return try keepOrTakeBack(step, parent, name, expected)
    }

    /// What the exchange took out must be what was looked at, and stays beside until all is done. If it is not, it goes
    /// back.
    private func keepOrTakeBack(
        _ step: Prepared, _ parent: borrowing OwnedDescriptor, _ name: FilePath.Component, _ expected: stat
    ) throws(GitError) -> Bool {
        if Self.facts(of: step.temporary).isSameContent(as: expected) { return true }
        guard try rename(step, parent, name, flags: PASSDIR_RENAME_EXCHANGE) else { return false }
        // Written once more in between: that is the newest and belongs there; the one before it was replaced by it.
        if Self.facts(of: step.temporary).st_ino != step.inode {
            _ = try rename(step, parent, name, flags: PASSDIR_RENAME_EXCHANGE)
        }
        return false
    }

    private func remove(_ step: Prepared, _ folder: borrowing WorkingRoot) throws(GitError) -> Bool {
        guard let expected = step.found else { return true }
        guard let parent = try folder.openFolder(of: step.step.path), let name = step.step.path.lastComponent
        else {
            return true
        }
        guard try takeOut(step, parent, name) else { return true }
        if Self.facts(of: step.temporary).isSameContent(as: expected) { return true }
        // Back to its place, unless a newer one is there already.
        _ = try rename(step, parent, name, flags: PASSDIR_RENAME_NOREPLACE)
        return false
    }

    /// Makes one step undone, unless its place was edited since.
    private func takeBack(_ step: Prepared, _ folder: borrowing WorkingRoot) throws(GitError) {
        if step.step.new == nil { try folder.makeFolders(above: step.step.path) }
        guard let parent = try folder.openFolder(of: step.step.path), let name = step.step.path.lastComponent
        else {
            return
        }
        if step.step.new == nil {
            if step.found != nil { _ = try rename(step, parent, name, flags: PASSDIR_RENAME_NOREPLACE) }
        } else if step.found != nil {
            guard try rename(step, parent, name, flags: PASSDIR_RENAME_EXCHANGE) else { return }
            if Self.facts(of: step.temporary).st_ino != step.inode {
                _ = try rename(step, parent, name, flags: PASSDIR_RENAME_EXCHANGE)
            }
        } else if try takeOut(step, parent, name), Self.facts(of: step.temporary).st_ino != step.inode {
            _ = try rename(step, parent, name, flags: PASSDIR_RENAME_NOREPLACE)
        }
    }

    /// Moves what lies in the place to the temporary name; false when nothing does.
    private func takeOut(
        _ step: Prepared, _ parent: borrowing OwnedDescriptor, _ name: FilePath.Component
    ) throws(GitError) -> Bool {
        let moved = name.withPlatformString { from in
            step.temporary.withPlatformString {
                passdir_renameat2(parent.raw, from, AT_FDCWD, $0, PASSDIR_RENAME_NOREPLACE)
            }
        }
        if moved == 0 { return true }
        if errno == ENOENT { return false }
        throw .system(Errno(rawValue: errno), "cannot remove \(step.step.path)")
    }

    private static func facts(of path: FilePath) -> stat {
        path.facts() ?? stat()
    }

    /// False when the place is taken, or is empty where something must be.
    private func rename(
        _ step: Prepared, _ parent: borrowing OwnedDescriptor, _ name: FilePath.Component, flags: UInt32
    ) throws(GitError) -> Bool {
        let result = step.temporary.withPlatformString { from in
            name.withPlatformString { passdir_renameat2(AT_FDCWD, from, parent.raw, $0, flags) }
        }
        if result == 0 { return true }
        switch errno {
        case EEXIST, ENOENT, ENOTDIR, EISDIR, ENOTEMPTY: return false
        default: throw .system(Errno(rawValue: errno), "cannot put \(step.step.path) in place")
        }
    }

    private func synchronize(_ folder: borrowing WorkingRoot) throws(GitError) {
        var seen: Set<FilePath> = []
        for step in steps where seen.insert(step.step.path.removingLastComponent()).inserted {
            if let parent = try folder.openFolder(of: step.step.path) { try? parent.synchronize() }
        }
    }
}
