import Dispatch
import Glibc
import GRDB
import Synchronization
import System
public import SystemPackage

/// What passdir has learned and could learn again: `state.sqlite` of the map.
///
/// Nothing here is secret and nothing depends on it: a file that cannot be read is set aside and begun anew, a
/// write that fails is forgotten. After `close` nothing is known, and what is remembered is forgotten.
public final class LearnedState: Sendable {
    private struct Size: Sendable {
        var identity: CiphertextIdentity
        var plaintext: Int64
        var store: String
    }

    private enum Change: Sendable {
        case learned(Size)
        case forgotten(CiphertextIdentity)
    }

    private struct Memory: Sendable {
        var sizes: KnownSizes
        /// What is not in the database yet, in order.
        var unwritten: [Change] = []
    }

    /// Nil once closed. Threads that serve on while the daemon ends (`status`) may still hold it: the last that lets go
    /// of it closes the file. GRDB's own `close` would leave them a connection that is NULL, which ends the process.
    private let database: Mutex<DatabaseQueue?>
    /// As `ls -l` asks for very many at once.
    private let memory: Mutex<Memory>
    /// Writes what a listing has made known in few transactions, and not while it runs.
    private let writing = DispatchQueue(label: "passdir.learned")
    private static let pause = DispatchTimeInterval.milliseconds(300)

    /// Opens or creates the database.
    public init(file: FilePath) throws {
        let loaded: (DatabaseQueue, KnownSizes)
        do {
            loaded = try Self.load(file)
        } catch  where error is DatabaseError || error is RowDecodingError {
            // With its log, or SQLite would write what that holds into the new file.
            for suffix in ["", "-wal", "-shm"] {
                _ = Glibc.rename(file.string + suffix, file.string + ".damaged" + suffix)
            }
            loaded = try Self.load(file)
        }
        database = Mutex(loaded.0)
        memory = Mutex(Memory(sizes: loaded.1))
    }

    private static func load(_ file: FilePath) throws -> (DatabaseQueue, KnownSizes) {
        let database = try open(file)
        let count = try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM plaintextSize") ?? 0 }
        if count > KnownSizes.limit {
            try database.write { database in
                // Which of them are still anything's size is not known.
                try database.execute(
                    sql: "DELETE FROM plaintextSize WHERE inode & 1 = ?", arguments: [Int.random(in: 0...1)])
            }
        }
        let sizes = try database.read { database in
            var sizes = KnownSizes()
            let rows = try Row.fetchCursor(
                database,
                sql: "SELECT device, inode, size, modified, changed, plaintext FROM plaintextSize LIMIT ?",
                arguments: [KnownSizes.limit])
            while let row = try rows.next() {
                // SQLite keeps a text in a column of integers when the file says so: that row is not ours.
                let numbers = (0..<6).compactMap { try? row.decode(Int64.self, atIndex: $0) }
                guard numbers.count == 6 else { continue }
                let identity = CiphertextIdentity(
                    device: UInt64(bitPattern: numbers[0]), inode: UInt64(bitPattern: numbers[1]),
                    size: numbers[2], modified: FileTime(stored: numbers[3]),
                    changed: FileTime(stored: numbers[4]))
                sizes.set(numbers[5], of: identity)
            }
            return sizes
        }
        return (database, sizes)
    }

    private static func open(_ file: FilePath) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "passdir.state"
        configuration.maximumReaderCount = 1
        // A command may write beside the daemon, for a moment.
        configuration.busyMode = .timeout(1)
        configuration.prepareDatabase {
            // Its pages of 4 KiB in memory: what is read is read once, at the start. SQLite would keep up to 2 MiB.
            try $0.execute(
                sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -256")
        }
        let database = try DatabaseQueue(path: file.string, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("sizes of secrets, state of stores") { database in
            try database.execute(
                sql: """
                    CREATE TABLE plaintextSize (
                        device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
                        modified INTEGER NOT NULL, changed INTEGER NOT NULL,
                        plaintext INTEGER NOT NULL, store TEXT NOT NULL,
                        PRIMARY KEY (device, inode)
                    ) WITHOUT ROWID;
                    CREATE TABLE storeState (
                        store TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
                        PRIMARY KEY (store, name)
                    ) WITHOUT ROWID;
                    """)
        }
        try migrator.migrate(database)
        return database
    }

    /// The database, unless it is closed.
    private var opened: DatabaseQueue? { database.withLock { $0 } }

    /// The plaintext size, in bytes, that is known of exactly this ciphertext.
    public func size(of identity: CiphertextIdentity) -> Int64? {
        memory.withLock { $0.sizes[identity] }
    }

    /// Forgets the size of a ciphertext that was replaced or removed.
    /// Each save replaces one: the file would grow with every save.
    public func forgetSize(of identity: CiphertextIdentity) {
        change { $0.forget(identity) ? .forgotten(identity) : nil }
    }

    /// Keeps the plaintext size of a ciphertext; returns before it is written.
    public func remember(size: Int64, of identity: CiphertextIdentity, store: String) {
        change { sizes in
            guard sizes.set(size, of: identity) else { return nil }
            return .learned(Size(identity: identity, plaintext: size, store: store))
        }
    }

    /// Changes what is known, and has it written a moment later.
    private func change(_ body: (inout KnownSizes) -> Change?) {
        let isFirst = memory.withLock { memory in
            guard let change = body(&memory.sizes) else { return false }
            memory.unwritten.append(change)
            return memory.unwritten.count == 1
        }
        if isFirst { writing.asyncAfter(deadline: .now() + Self.pause) { [self] in writeSizes(opened) } }
    }

    private func writeSizes(_ database: DatabaseQueue?) {
        let changes = memory.withLock { memory in
            defer { memory.unwritten = [] }
            return memory.unwritten
        }
        guard !changes.isEmpty else { return }
        try? database?.write { database in
            let learn = try database.makeStatement(
                sql: "INSERT OR REPLACE INTO plaintextSize VALUES (?, ?, ?, ?, ?, ?, ?)")
            let forget = try database.makeStatement(
                sql: "DELETE FROM plaintextSize WHERE device = ? AND inode = ?")
            for change in changes {
                switch change {
                case .learned(let row):
                    try learn.execute(arguments: row.identity.stored + [row.plaintext, row.store])
                case .forgotten(let identity):
                    try forget.execute(arguments: [identity.device.stored, identity.inode.stored])
                }
            }
        }
    }

    /// A fact of a store, such as the time of its last push.
    public func fact(_ name: String, of store: String) -> String? {
        try? opened?.read { database in
            try String.fetchOne(
                database, sql: "SELECT value FROM storeState WHERE store = ? AND name = ?",
                arguments: [store, name])
        }
    }

    /// Keeps a fact of a store, or drops it when nil; returns before it is written.
    public func remember(_ value: String?, as name: String, of store: String) {
        opened?.asyncWrite(
            { database in
                if let value {
                    try database.execute(
                        sql: "INSERT OR REPLACE INTO storeState VALUES (?, ?, ?)",
                        arguments: [store, name, value])
                } else {
                    try database.execute(
                        sql: "DELETE FROM storeState WHERE store = ? AND name = ?", arguments: [store, name])
                }
            }, completion: { _, _ in })
    }

    /// Drops everything that was learned of a store.
    public func forget(store: String) {
        writeSizes(opened)
        try? opened?.write { database in
            try database.execute(sql: "DELETE FROM plaintextSize WHERE store = ?", arguments: [store])
            try database.execute(sql: "DELETE FROM storeState WHERE store = ?", arguments: [store])
        }
    }

    /// Files what was learned of a store under its new identifier.
    public func rename(store: String, to new: String) {
        writeSizes(opened)
        try? opened?.write { database in
            try database.execute(
                sql: "UPDATE OR REPLACE plaintextSize SET store = ? WHERE store = ?", arguments: [new, store])
            try database.execute(
                sql: "UPDATE OR REPLACE storeState SET store = ? WHERE store = ?", arguments: [new, store])
        }
    }

    /// How many rows each table has, and which facts each store has, for `audit`; never a value.
    public func inventory() -> (tables: [String: Int], facts: [String: [String]]) {
        let found = try? opened?.read { database in
            var tables: [String: Int] = [:]
            for name in try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            where !name.hasPrefix("sqlite_") {
                tables[name] = try Int.fetchOne(database, sql: "SELECT count(*) FROM \"\(name)\"") ?? 0
            }
            var facts: [String: [String]] = [:]
            for row in try Row.fetchAll(
                database, sql: "SELECT store, name FROM storeState ORDER BY store, name")
            {
                let store = try row.decode(String.self, atIndex: 0)
                facts[store, default: []].append(try row.decode(String.self, atIndex: 1))
            }
            return (tables, facts)
        }
        return found ?? ([:], [:])
    }

    /// The stores that something was learned of.
    public func stores() -> Set<String> {
        let found = try? opened?.read { database in
            try Set(
                String.fetchAll(
                    database, sql: "SELECT store FROM plaintextSize UNION SELECT store FROM storeState"))
        }
        return found ?? []
    }

    /// Waits until everything remembered so far is written, then closes the file, or leaves that to who still reads.
    public func close() {
        let database = database.withLock { $0.take() }
        writeSizes(database)
        database?.writeWithoutTransaction { _ in }
    }
}

extension CiphertextIdentity {
    /// The first columns of a size.
    fileprivate var stored: StatementArguments {
        [device.stored, inode.stored, size, modified.stored, changed.stored]
    }
}

extension UInt64 {
    /// SQLite's integers are signed.
    fileprivate var stored: Int64 { Int64(bitPattern: self) }
}

extension FileTime {
    /// Nanoseconds since 1970; wraps in the year 2262, which only makes a size be learned again.
    fileprivate var stored: Int64 { seconds &* 1_000_000_000 &+ nanoseconds }

    fileprivate init(stored: Int64) {
        let (seconds, nanoseconds) = stored.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }
}
