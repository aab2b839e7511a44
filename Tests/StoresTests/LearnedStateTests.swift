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

    /// Each save makes another file: what it replaced stays neither in memory nor in the file.
    @Test func whatIsForgottenIsWrittenNowhere() throws {
        try TestHome.with { home in
            let file = home.path("state.sqlite")
            let first = try LearnedState(file: file)
            func another(_ inode: UInt64) -> CiphertextIdentity {
                CiphertextIdentity(
                    device: 1, inode: inode, size: 300, modified: identity.modified, changed: identity.changed
                )
            }
            for inode in 2...101 {
                first.remember(size: 7, of: another(UInt64(inode)), store: "s")
                if inode > 2 { first.forgetSize(of: another(UInt64(inode - 1))) }
            }
            first.close()
            let second = try LearnedState(file: file)
            #expect(second.inventory().tables["plaintextSize"] == 1)
            #expect(second.size(of: another(101)) == 7 && second.size(of: another(100)) == nil)
            // As its times are after a rename.
            second.forgetSize(
                of: CiphertextIdentity(
                    device: 1, inode: 101, size: 300, modified: identity.modified,
                    changed: FileTime(seconds: 9, nanoseconds: 0)))
            #expect(second.size(of: another(101)) == nil)
            second.close()
            let third = try LearnedState(file: file)
            #expect(third.inventory().tables["plaintextSize"] == 0)
            third.close()
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
