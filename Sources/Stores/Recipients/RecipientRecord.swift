import Glibc
import OpenPGP
import Settings
import Synchronization
import System
public import SystemPackage

/// Whom each `.gpg-id` named when you last agreed to it: what a pull brings is compared with this.
///
/// It is read anew when its file changed, so that a command and a daemon agree. What cannot be read is never taken for
/// an agreement, and neither is its absence once a store had a record: a marker in another folder remembers that.
public final class RecipientRecord: Sendable {
    private struct State {
        var identity: CiphertextIdentity?
        var content = RecordContent.Parsed.entries([])
    }

    /// What is known of a store.
    enum Agreement: Equatable {
        /// Nothing was ever recorded of it.
        case never
        /// These `.gpg-id` files were agreed to; never none.
        case known([RecordContent.Entry])
        /// There was a record, and it cannot be used: why, as the rest of a sentence.
        case lost(String)
    }

    private let path: FilePath
    private let markers: FilePath?
    private let state = Mutex(State())

    /// The record in a file, which need not be there yet.
    /// - Parameter markers: The folder that remembers which stores had a record; nil: nothing does.
    public init(file: FilePath, markers: FilePath? = nil) {
        path = file
        self.markers = markers
    }

    /// The record of a user.
    convenience init(environment: [String: String]) {
        let folders = Directories(environment: environment)
        self.init(file: folders.data.appending("recipients"), markers: folders.state.appending("agreed"))
    }

    /// What is known of a store.
    /// - Parameter names: What the store is filed under, the name that is written first; the others are older ones.
    func agreement(of names: [String]) -> Agreement {
        state.withLock { state in
            refresh(&state)
            let found = found(names, state)
            guard case .lost = found else { return found }
            // Whoever records a store for the first time leaves the marker first: that is waited for.
            guard let lock = try? Self.lock(path.removingLastComponent()) else { return found }
            defer { withExtendedLifetime(lock) {} }
            refresh(&state)
            return self.found(names, state)
        }
    }

    private func found(_ names: [String], _ state: State) -> Agreement {
        switch state.content {
        case .unreadable(let reason): return .lost("\(path) \(reason)")
        case .entries(let entries):
            for name in names {
                let own = entries.filter { $0.store == name && $0.kind == .agreed }
                if !own.isEmpty { return .known(own) }
            }
            return names.contains(where: isMarked) ? .lost("\(path) no longer contains it") : .never
        }
    }

    /// The keys of a store that others brought and nobody has agreed to since.
    func offered(to names: [String]) -> Set<String> {
        Set(entries(of: names).filter { $0.kind == .offered }.flatMap(\.fingerprints))
    }

    /// The names that lists of a store had when they were agreed to.
    func names(of names: [String]) -> [RecordContent.Entry] {
        entries(of: names).filter { $0.kind == .named }
    }

    /// The names in lists of a store that meant no key when it was first looked at, and none since.
    func awaited(of names: [String]) -> [RecordContent.Entry] {
        entries(of: names).filter { $0.kind == .awaited }
    }

    /// Moves of folders of a store that were begun and not ended.
    func moves(of names: [String]) -> [RecordContent.Entry] {
        entries(of: names).filter { $0.kind == .moving }
    }

    /// The lists of a store of which anything is recorded.
    func files(of names: [String]) -> [FilePath] {
        entries(of: names).filter { $0.kind != .moving }.map(\.file)
    }

    private func entries(of names: [String]) -> [RecordContent.Entry] {
        state.withLock { state in
            refresh(&state)
            guard case .entries(let entries) = state.content else { return [] }
            return entries.filter { names.contains($0.store) }
        }
    }

    /// Changes what is recorded of a store: takes its entries, gives the new ones. Durable on return.
    func update(
        _ names: [String], _ change: ([RecordContent.Entry]) -> [RecordContent.Entry]
    ) throws(Errno) {
        try state.withLock { (state) throws(Errno) in
            try path.removingLastComponent().makeFolders()
            // Another process may be changing what it knows of another store.
            let lock = try Self.lock(path.removingLastComponent())
            defer { withExtendedLifetime(lock) {} }
            refresh(&state)
            var all: [RecordContent.Entry] = []
            var isDamaged = true
            if case .entries(let entries) = state.content {
                all = entries
                isDamaged = false
            }
            let own = all.filter { names.contains($0.store) }
            let next = change(own)
            guard next != own || isDamaged && !next.isEmpty else { return }
            let rest = all.filter { !names.contains($0.store) }
            if next.contains(where: { $0.kind == .agreed }) { try mark(names[0]) }
            try replace(rest + next)
            state.identity = nil
        }
    }

    /// Forgets a store that is removed: added again, it is looked at anew.
    /// - Parameter names: All that the store is and was filed under: what stayed of one would speak of a record that was lost.
    func forget(_ names: [String]) throws(Errno) {
        guard path.removingLastComponent().exists else { return }
        try update(names) { _ in [] }
        guard let markers else { return }
        for name in names { markers.appending(StateName.of(name)).unlink() }
    }

    private func replace(_ entries: [RecordContent.Entry]) throws(Errno) {
        guard entries.isEmpty else {
            return try PrivateFile.write(RecordContent.bytes(of: entries), to: path)
        }
        guard path.unlink() || errno == ENOENT else { throw Errno.last }
    }

    private static func lock(_ folder: FilePath) throws(Errno) -> OwnedDescriptor {
        let opened = try OwnedDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        try opened.lock(LOCK_EX)
        return opened
    }

    private func refresh(_ state: inout State) {
        guard let facts = path.facts() else {
            let reason = Errno.last
            state.identity = nil
            state.content =
                reason == .noSuchFileOrDirectory ? .entries([]) : .unreadable("cannot be read (\(reason))")
            return
        }
        let identity = FileStatus(facts).identity
        guard identity != state.identity else { return }
        // Only what was read is remembered: a permission that comes back is seen.
        state.identity = nil
        do throws(Errno) {
            guard let bytes = try PrivateFile.read(path, limit: RecordContent.limit) else {
                state.content = .entries([])
                return
            }
            state.content = RecordContent.parse(bytes)
            state.identity = identity
        } catch {
            state.content = .unreadable("cannot be read (\(error))")
        }
    }

    private func isMarked(_ name: String) -> Bool {
        guard let markers else { return false }
        return markers.appending(StateName.of(name)).exists
    }

    private func mark(_ name: String) throws(Errno) {
        guard let markers, !isMarked(name) else { return }
        try markers.makeFolders()
        try PrivateFile.write([], to: markers.appending(StateName.of(name)))
    }
}
