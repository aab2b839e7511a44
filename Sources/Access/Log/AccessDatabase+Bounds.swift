import GRDB

/// Lines that the log had no room for.
public struct DroppedLines: Sendable, Equatable {
    /// The program whose reads they were.
    public let program: String
    /// How many.
    public let count: Int
    /// When the last of them was last read, in seconds since 1970.
    public let last: Int64

    /// Counts them with those of the program before.
    func add(to database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO dropped VALUES (?, ?, ?)
                    ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)
                """, arguments: [program, count, last])
    }

    static func all(_ database: Database) throws -> [DroppedLines] {
        try Row.fetchAll(database, sql: "SELECT program, count, last FROM dropped ORDER BY last").map {
            DroppedLines(program: $0["program"], count: $0["count"], last: $0["last"])
        }
    }
}

extension AccessDatabase {
    /// How much is kept. The program with the most lines loses its oldest first: a program that reads, or asks, as often as it
    /// can drives out its own traces and nobody else's; and how many are gone stays.
    struct Bounds {
        /// So many lines.
        var lines = 50_000
        /// So many bytes of the file: names of secrets may be long.
        var bytes = 64 << 20

        /// Of so many programs it is told that lines are gone.
        private static let mostPrograms = 1000
        /// So much more than it must goes at once, as a part of the lines: finding the program reads them all.
        private static let share = 20

        /// Drops what is too much.
        func keep(_ database: Database) throws {
            while true {
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM read") ?? 0
                guard count > 0 else { return }
                let isTooLarge = try usedBytes(database) > bytes
                guard count > lines || isTooLarge else { return }
                try drop(max(count - lines, 0) + max(count / Self.share, 1), database)
            }
        }

        private func usedBytes(_ database: Database) throws -> Int {
            func value(_ name: String) throws -> Int {
                try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
            }
            return try (value("page_count") - value("freelist_count")) * value("page_size")
        }

        private func drop(_ count: Int, _ database: Database) throws {
            let most = try String.fetchOne(
                database,
                sql: "SELECT program FROM read GROUP BY program ORDER BY count(*) DESC, min(id) LIMIT 1")
            try database.execute(
                sql: """
                    INSERT INTO dropped SELECT program, count(*), max(last) FROM
                        (SELECT program, last FROM read WHERE program = ?1 ORDER BY id LIMIT ?2)
                        WHERE true GROUP BY program
                        ON CONFLICT DO UPDATE SET count = count + excluded.count, last = excluded.last
                    """, arguments: [most, count])
            try database.execute(
                sql:
                    "DELETE FROM read WHERE id IN (SELECT id FROM read WHERE program = ?1 ORDER BY id LIMIT ?2)",
                arguments: [most, count])
            try database.execute(
                sql: """
                    DELETE FROM dropped WHERE program NOT IN
                        (SELECT program FROM dropped ORDER BY last DESC LIMIT ?)
                    """, arguments: [Self.mostPrograms])
        }
    }
}
