import GRDB
import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// What was learned can be learned again: a damaged file never ends the daemon.
@Suite struct LearnedStateTests {
    private let identity = CiphertextIdentity(
        device: 1, inode: 2, size: 300, modified: FileTime(seconds: 1, nanoseconds: 0),
        changed: FileTime(seconds: 1, nanoseconds: 0))

    @Test(arguments: [
        "INSERT INTO plaintextSize VALUES (1, 3, 'x', 1, 1, 1, 's')",
        "INSERT INTO plaintextSize VALUES ('d', x'00', 1, 1, 1, 'p', 's')",
        "INSERT INTO storeState VALUES (x'ff', x'fe', x'fd')",
        "UPDATE grdb_migrations SET identifier = x'ff'",
        "DROP TABLE plaintextSize",
    ])
    func valuesOfOtherTypesArePassedOver(_ damage: String) throws {
        try TestHome.with { home in
            let file = home.path("state.sqlite")
            let first = try LearnedState(file: file)
            first.remember(size: 7, of: identity, store: "s")
            first.close()
            let database = try DatabaseQueue(path: file.string)
            try database.write { try $0.execute(sql: damage) }
            try database.close()
            let second = try LearnedState(file: file)
            _ = second.inventory()
            _ = second.stores()
            _ = second.fact("lastPush", of: "s")
            second.remember(size: 8, of: identity, store: "s")
            #expect(second.size(of: identity) == 8)
            second.close()
            let third = try LearnedState(file: file)
            #expect(third.size(of: identity) == 8)
            third.close()
        }
    }

    /// Holds:
    /// - A damaged `state.sqlite` costs only what was learned.
    @Test func aDamagedFileIsSetAside() throws {
        try TestHome.with { home in
            try home.write("no database at all, but long enough to be looked at as one", to: "state.sqlite")
            let state = try LearnedState(file: home.path("state.sqlite"))
            state.remember(size: 8, of: identity, store: "s")
            #expect(state.size(of: identity) == 8)
            state.close()
            #expect(access(home.path("state.sqlite.damaged").string, F_OK) == 0)
        }
    }

    /// As a daemon that ends does, whose socket still answers `status`.
    @Test func whoComesAfterTheEndFindsNothing() throws {
        try TestHome.with { home in
            let file = home.path("state.sqlite")
            let state = try LearnedState(file: file)
            state.remember("now", as: "lastPush", of: "s")
            #expect(state.fact("lastPush", of: "s") == "now")
            state.close()
            #expect(access(file.string + "-wal", F_OK) != 0, "the file is closed")
            #expect(state.fact("lastPush", of: "s") == nil)
            #expect(state.stores().isEmpty)
            #expect(state.inventory().tables.isEmpty)
            state.remember(size: 8, of: identity, store: "s")
            state.remember("later", as: "lastPush", of: "s")
            state.forget(store: "s")
            state.rename(store: "s", to: "t")
            state.close()
            let next = try LearnedState(file: file)
            #expect(next.fact("lastPush", of: "s") == "now")
            next.close()
        }
    }
}
