import GRDB
import Glibc
import System
public import SystemPackage

/// The file of the log. Nothing depends on it: one that cannot be read is set aside and begun anew.
public final class AccessDatabase: Sendable {
    /// Reads that are alike become one line for so many seconds.
    private static let together: Int64 = 60

    private let queue: DatabaseQueue
    private let bounds: Bounds
    private let file: FilePath
    /// The device and inode of the file that was opened.
    private let inode: [UInt]?

    /// Opens or creates the file.
    public convenience init(file: FilePath) throws { try self.init(file: file, bounds: Bounds()) }

    init(file: FilePath, bounds: Bounds) throws {
        (self.bounds, self.file) = (bounds, file)
        do {
            queue = try Self.open(file)
        } catch let error as DatabaseError where Self.isDamage(error) {
            Self.setAside(file)
            queue = try Self.open(file)
        }
        inode = Self.inode(of: file)
    }

    /// Puts a file that holds no log out of the way, for who wants to look at it.
    static func setAside(_ file: FilePath) {
        for suffix in ["", "-wal", "-shm"] {
            try? FilePath(file.string + suffix).rename(to: FilePath(file.string + ".damaged" + suffix))
        }
    }

    private static func inode(of file: FilePath) -> [UInt]? {
        file.targetFacts().map { [$0.st_dev, $0.st_ino] }
    }

    /// Closes the file; nothing can be read or added from then on.
    func close() { try? queue.close() }

    /// Whether the file still lies at its place: SQLite goes on writing into one that was removed.
    var isAtItsPlace: Bool { inode != nil && Self.inode(of: file) == inode }

    /// Whether somebody has emptied the file, as SQLite never does.
    var isEmptied: Bool { file.targetFacts()?.st_size == 0 }

    /// Whether an error says that the file holds no log. A file may also not be had now: held, or for want of descriptors.
    private static func isDamage(_ error: DatabaseError) -> Bool {
        [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_SCHEMA, .SQLITE_MISMATCH, .SQLITE_FORMAT]
            .contains(error.resultCode)
    }

    /// Whether an error says that the file holds no log.
    static func isDamage(_ error: any Error) -> Bool { (error as? DatabaseError).map(isDamage) ?? false }

    /// Whether an error says that another program holds the file.
    static func isHeld(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode)
    }

    private static func open(_ file: FilePath) throws -> DatabaseQueue {
        try file.removingLastComponent().makeFolders()
        // Before SQLite makes it with the mode that umask leaves.
        _ = try? OwnedDescriptor(opening: file, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
        var configuration = Configuration()
        configuration.label = "passdir.access"
        configuration.busyMode = .timeout(2)
        configuration.prepareDatabase {
            // Its pages in memory: SQLite would keep up to 2 MiB in a daemon that only adds lines.
            try $0.execute(
                sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -512")
        }
        let queue = try DatabaseQueue(path: file.string, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("reads and programs") { database in
            try database.execute(
                sql: """
                    CREATE TABLE read (
                        id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, first INTEGER NOT NULL,
                        last INTEGER NOT NULL, count INTEGER NOT NULL, secret TEXT NOT NULL, program TEXT NOT NULL,
                        isProgramCertain INTEGER NOT NULL, process INTEGER NOT NULL, words TEXT NOT NULL,
                        startedBy TEXT NOT NULL, terminal TEXT, unit TEXT, rule TEXT, outcome TEXT NOT NULL
                    );
                    CREATE INDEX readBySecret ON read (secret, program);
                    CREATE INDEX readByRevision ON read (revision);
                    CREATE TABLE program (path TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("dropped lines") { database in
            try database.execute(
                sql: """
                    CREATE INDEX readByProgram ON read (program);
                    CREATE TABLE dropped (
                        program TEXT PRIMARY KEY, count INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
                    """)
        }
        try migrator.migrate(queue)
        return queue
    }

    /// Those of the lines whose program has read the secret in no line so far, each once.
    func firstReads(in lines: [AccessLine]) -> [AccessLine] {
        var seen: Set<[String]> = []
        let candidates = lines.filter { $0.outcome.isRead && seen.insert([$0.secret, $0.program]).inserted }
        return
            (try? queue.read { database in
                try candidates.filter { line in
                    try
                        !(Bool.fetchOne(
                            database,
                            sql: """
                                SELECT EXISTS (SELECT 1 FROM read WHERE secret = ? AND program = ?
                                    AND outcome IN ('allowed', 'agreed'))
                                """, arguments: [line.secret, line.program]) ?? false)
                }
            }) ?? []
    }

    /// Adds lines; those that are like one of the last minute raise its count.
    /// - Parameter dropped: lines that could not wait for the file, by their programs.
    /// - Throws: where the file cannot be written now; nothing was added.
    func add(
        _ lines: [AccessLine], dropped: [String: DroppedLines] = [:], keeping time: Duration
    ) throws {
        try queue.write { database in
            for one in dropped.values { try one.add(to: database) }
            var revision = try Int64.fetchOne(database, sql: "SELECT max(revision) FROM read") ?? 0
            var counts: [AccessLine.Kind: (line: AccessLine, count: Int, last: Int64)] = [:]
            var order: [AccessLine.Kind] = []
            for line in lines {
                let kind = line.kind
                if counts[kind] == nil { order.append(kind) }
                counts[kind, default: (line, 0, line.last)].count += line.count
                counts[kind]?.last = line.last
            }
            for kind in order {
                guard let (line, count, last) = counts[kind] else { continue }
                revision += 1
                try Self.add(line, count, last, revision, database)
            }
            let oldest = FileTime.now.seconds - Int64(time / .seconds(1))
            try database.execute(sql: "DELETE FROM read WHERE last < ?", arguments: [oldest])
            try database.execute(sql: "DELETE FROM dropped WHERE last < ?", arguments: [oldest])
            try bounds.keep(database)
        }
    }

    private static func add(
        _ line: AccessLine, _ count: Int, _ last: Int64, _ revision: Int64, _ database: Database
    ) throws {
        let (words, startedBy) = (joined(line.words), joined(line.startedBy))
        try database.execute(
            sql: """
                UPDATE read SET count = count + ?, last = ?, revision = ? WHERE id = (
                    SELECT id FROM read WHERE secret = ? AND program = ? AND isProgramCertain = ? AND words = ?
                        AND startedBy = ? AND terminal IS ? AND unit IS ? AND rule IS ? AND outcome = ? AND first > ?
                    ORDER BY id DESC LIMIT 1)
                """,
            arguments: [
                count, last, revision, line.secret, line.program, line.isProgramCertain, words, startedBy,
                line.terminal, line.unit, line.rule, line.outcome.rawValue, last - together,
            ])
        guard database.changesCount == 0 else { return }
        try database.execute(
            sql: "INSERT INTO read VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                revision, line.first, last, count, line.secret, line.program, line.isProgramCertain,
                line.process,
                words, startedBy, line.terminal, line.unit, line.rule, line.outcome.rawValue,
            ])
    }

    /// What one is to look for in the log.
    public struct Search: Sendable {
        /// A store, a folder or a secret; nil: all.
        public var place: String?
        /// A program, by its path or the last part of it.
        public var program: String?
        /// The path of the file that `program` leads to: `python3` is a link to another name.
        public var programFile: String?
        /// Nothing that was last read before, in seconds since 1970.
        public var since: Int64?
        /// Only what has changed after this revision.
        public var after: Int64?

        /// Looks for everything.
        public init(
            place: String? = nil, program: String? = nil, programFile: String? = nil, since: Int64? = nil,
            after: Int64? = nil
        ) {
            (self.place, self.program, self.programFile) = (place, program, programFile)
            (self.since, self.after) = (since, after)
        }

        /// Whether lines of a program are looked for.
        public func isAbout(_ program: String) -> Bool {
            self.program.map { [$0, programFile].contains(program) || program.hasSuffix("/" + $0) } ?? true
        }
    }

    /// The lines that are looked for, the oldest first.
    public func lines(_ search: Search = Search()) throws -> [AccessLine] {
        try queue.read { database in
            let rows = try Row.fetchCursor(
                database,
                sql: """
                    SELECT * FROM read WHERE revision > ?1 AND last >= ?2
                        AND (?3 IS NULL OR secret = ?3 OR substr(secret, 1, length(?3) + 1) = ?3 || '/')
                        AND (?4 IS NULL OR program IN (?4, ?5) OR substr(program, -length(?4) - 1) = '/' || ?4)
                        ORDER BY revision
                    """,
                arguments: [
                    search.after ?? 0, search.since ?? 0, search.place, search.program, search.programFile,
                ])
            var lines: [AccessLine] = []
            while let row = try rows.next() { if let line = AccessLine(row) { lines.append(line) } }
            return lines
        }
    }

    /// Which programs have had more reads than the log has room for.
    public func droppedLines() throws -> [DroppedLines] {
        try queue.read { try DroppedLines.all($0) }
    }

    /// Whether a program's file is another one than when it was last asked about; notes that it is now.
    func hasChanged(_ program: Program) -> Bool {
        (try? queue.write { database in
            let known = try String.fetchOne(
                database, sql: "SELECT fingerprint FROM program WHERE path = ?", arguments: [program.path])
            try database.execute(
                sql: "INSERT OR REPLACE INTO program VALUES (?, ?)",
                arguments: [program.path, program.fingerprint])
            return known.map { $0 != program.fingerprint } ?? false
        }) ?? false
    }

    /// What is between words in the file; SQLite's texts hold no NUL.
    fileprivate static let separator: Character = "\u{1F}"

    private static func joined(_ words: [String]) -> String {
        words.map { String($0.map { $0 == separator ? " " : $0 }) }.joined(separator: String(separator))
    }
}

extension AccessLine {
    /// nil for a row that is not ours.
    init?(_ row: Row) {
        guard let outcome = AccessOutcome(rawValue: row["outcome"] ?? "") else { return nil }
        func words(_ name: String) -> [String] {
            ((row[name] as String?) ?? "").split(separator: AccessDatabase.separator).map(String.init)
        }
        (revision, first, last) = (row["revision"] ?? 0, row["first"] ?? 0, row["last"] ?? 0)
        (count, secret, program) = (row["count"] ?? 0, row["secret"] ?? "", row["program"] ?? "")
        (isProgramCertain, process) = (row["isProgramCertain"] ?? false, row["process"] ?? 0)
        (self.words, startedBy) = (words("words"), words("startedBy"))
        (terminal, unit, rule) = (row["terminal"], row["unit"], row["rule"])
        self.outcome = outcome
    }
}
