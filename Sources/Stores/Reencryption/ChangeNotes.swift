import Glibc
import Settings
import System
import SystemPackage

/// What this machine knows of a change of recipients that it is making: the journal, the new and the old `.gpg-id` with
/// their signatures, and which ciphertexts it has staged.
///
/// All of that steers who can read what, so that it lies with the machine's own state, by the store's identifier, and
/// never in the working tree, where a push could put it. Whoever works on the change holds a lock on the folder.
final class ChangeNotes: Sendable {
    private static let stagedFile = "staged"
    private static let limit = 1 << 28

    let folder: FilePath
    private let lock: OwnedDescriptor

    private init(folder: FilePath, lock: consuming OwnedDescriptor) {
        self.folder = folder
        self.lock = lock
    }

    /// Where the notes of a store lie; the second is that of a store which had no id when it began.
    private static func folders(of store: Store) -> [FilePath] {
        guard let changes = store.options.changes else { return [] }
        var folders = [changes.appending(StateName.of(store.identifier))]
        let older = changes.appending(StateName.of("path:\(store.root.path)"))
        if !folders.contains(older) { folders.append(older) }
        return folders
    }

    /// Makes the folder for a new change; `changeUnderWay` when there is one already.
    static func make(for store: Store) throws(StoreError) -> ChangeNotes {
        guard let folder = folders(of: store).first else {
            throw StoreError(
                .system(.noSuchFileOrDirectory), "there is nowhere to record a change of recipients.")
        }
        try checkNone(for: store)
        try StoreError.wrapping("create", folder) { try folder.makeFolders() }
        guard let made = try open(folder) else { return try make(for: store) }
        try made.empty()
        return made
    }

    /// Refuses where a change was begun and is not over; what is left of one that is over is removed.
    static func checkNone(for store: Store) throws(StoreError) {
        guard let left = try open(for: store) else { return }
        guard try left.readJournal(of: store) == nil else {
            let name = ShellWord.quoted(store.name)
            throw StoreError(
                .changeUnderWay,
                "a change of recipients of the store \"\(store.name)\" was interrupted: passdir recipients "
                    + "resume \(name) "
                    + "finishes it, passdir recipients abort \(name) undoes it.")
        }
        left.remove()
    }

    /// Opens and locks the folder of a change; nil when there is none. `changeUnderWay` when somebody works on it.
    static func open(for store: Store) throws(StoreError) -> ChangeNotes? {
        for folder in folders(of: store) {
            if let notes = try open(folder) { return notes }
        }
        return nil
    }

    /// Locks a folder of a change, which another process may work in.
    static func lock(_ folder: borrowing OwnedDescriptor) throws(StoreError) {
        try rethrowing(folder.lock()) { (error: Errno) in
            StoreError(
                error == .wouldBlock ? .changeUnderWay : .system(error),
                "another process is changing the recipients of this store.")
        }
    }

    private static func open(_ folder: FilePath) throws(StoreError) -> ChangeNotes? {
        let descriptor: OwnedDescriptor
        do throws(Errno) {
            descriptor = try OwnedDescriptor(opening: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw StoreError(error, "open", folder)
        }
        try lock(descriptor)
        // Removed between the two calls by the process that was at work.
        guard let ours = try? descriptor.facts(), let now = folder.facts(), ours.st_ino == now.st_ino,
            ours.st_dev == now.st_dev
        else { return nil }
        return ChangeNotes(folder: folder, lock: descriptor)
    }

    /// What is noted of a change, for whoever only looks.
    struct Look: Sendable {
        var journal: ChangeJournal
        var added: AddedReaders?
        var noted: Set<String>
    }

    /// The notes of a store; no lock is taken.
    static func look(at store: Store) -> Look? {
        for folder in folders(of: store) {
            func read(_ name: String) -> [UInt8]? {
                (try? PrivateFile.read(folder.appending(name), limit: limit)) ?? nil
            }
            if let bytes = read(ChangeJournal.name) {
                guard let journal = ChangeJournal(bytes) else { return nil }
                return Look(
                    journal: journal, added: read(AddedReaders.name).flatMap { AddedReaders($0) },
                    noted: names(in: read(stagedFile) ?? []))
            }
        }
        return nil
    }

    /// Whether a journal is there, whatever it says.
    static func exist(for store: Store) -> Bool {
        folders(of: store).contains { folder in
            folder.appending(ChangeJournal.name).exists
        }
    }

    /// Writes a file durably, in place of any other.
    func write(_ bytes: [UInt8], as name: String) throws(StoreError) {
        let file = folder.appending(name)
        try StoreError.wrapping("write", file) { try PrivateFile.write(bytes, to: file) }
    }

    /// The bytes of a file; nil when it is not there.
    func read(_ name: String) throws(StoreError) -> [UInt8]? {
        let file = folder.appending(name)
        return try StoreError.wrapping("read", file) { try PrivateFile.read(file, limit: Self.limit) }
    }

    func readJournal(of store: Store) throws(StoreError) -> ChangeJournal? {
        guard let bytes = try read(ChangeJournal.name) else { return nil }
        guard let journal = ChangeJournal(bytes),
            [store.identifier, "path:\(store.root.path)"].contains(journal.store)
        else {
            throw StoreError(
                .system(.ioError),
                "\(folder.appending(ChangeJournal.name)) is damaged, belongs to another store, or was written "
                    + "by another version of passdir: check the store with git status, then remove \(folder)."
            )
        }
        return journal
    }

    /// Notes a ciphertext before it gets its name in the store. `isDurable` waits for the disk; without it,
    /// `synchronizeStaged` must follow before anything is put in place.
    func note(_ staged: StagedName, isDurable: Bool) throws(StoreError) {
        let file = folder.appending(Self.stagedFile)
        let bytes = Array(staged.text.utf8) + [0]
        let descriptor = try OwnedDescriptor(
            opening: file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600
        ) { StoreError($0, "write", file) }
        // One call: what other threads append stays apart.
        let count = retryingWhenInterrupted {
            CInt(clamping: Glibc.write(descriptor.raw, bytes, bytes.count))
        }
        guard count == bytes.count else {
            throw StoreError(.system(count < 0 ? .last : .noSpace), "cannot write \(file).")
        }
        if isDurable { try StoreError.wrapping("fsync", file) { try descriptor.synchronize() } }
    }

    /// Waits until everything that was noted is on the disk.
    func synchronizeStaged() throws(StoreError) {
        let file = folder.appending(Self.stagedFile)
        do throws(Errno) {
            try OwnedDescriptor(opening: file, O_RDONLY | O_NOFOLLOW).synchronize()
        } catch .noSuchFileOrDirectory {
            // Nothing had to be staged.
            return
        } catch {
            throw StoreError(error, "fsync", file)
        }
        OwnedDescriptor.synchronize(folder: folder)
    }

    /// The names of ciphertexts that this machine has staged. One that was cut off had no name in the store yet.
    func noted() throws(StoreError) -> Set<String> {
        Self.names(in: try read(Self.stagedFile) ?? [])
    }

    private static func names(in bytes: [UInt8]) -> Set<String> {
        let end = bytes.lastIndex(of: 0) ?? 0
        return Set(bytes[..<end].split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) })
    }

    /// Removes everything in the folder, the journal first: what is left of it then is no change.
    private func empty() throws(StoreError) {
        for name in [ChangeJournal.name] + PrivateFile.names(in: folder) {
            let file = folder.appending(name)
            guard file.unlink() || errno == ENOENT else {
                throw StoreError(.last, "remove", file)
            }
        }
    }

    /// Removes the folder; the change is over. What cannot be removed is no journal any more.
    func remove() {
        try? empty()
        _ = folder.withPlatformString { rmdir($0) }
        OwnedDescriptor.synchronize(folder: folder.removingLastComponent())
    }
}
