import OpenPGP
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Git

/// Lists and texts that others make as long as they like.
@Suite struct LongListsTests {
    @Test func aRecipientFileNamesSoManyAtMost() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let path = try home.makeStore("s", recipients: [key], git: false).path
            let store = Store(
                name: "s", identifier: "s", root: try Root(path: path),
                engine: OpenPGPEngine(home: home.path("gnupg")),
                options: Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(60)), learned: nil)
            #expect(try store.recipients(for: "x.gpg").recipients.count == 1)
            let lines = String(repeating: key.fingerprint + "\n", count: 20_000)
            try home.write(lines, to: "s/.gpg-id")
            let error = #expect(throws: StoreError.self) { _ = try store.recipients(for: "x.gpg") }
            #expect(
                error?.message.contains("20000 recipients, more than 1024") == true, "\(error?.message ?? "")"
            )
            try home.write(String(repeating: lines, count: 3), to: "s/.gpg-id")
            #expect(throws: StoreError.self) { _ = try store.recipients(for: "x.gpg") }
        }
    }

    /// Holds:
    /// - Lists that name many keys which are not here are looked at up to a bound, and what lies behind it is told.
    @Test func manyUnknownNamesEndALook() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let path = try home.makeStore("s", recipients: [key], git: false).path
            var options = Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(60))
            options.record = RecipientRecord(file: home.path("record"))
            let store = Store(
                name: "s", identifier: "s", root: try Root(path: path),
                engine: OpenPGPEngine(home: home.path("gnupg")), options: options, learned: nil)
            try store.recordRecipientsAtFirstSight()
            for folder in ["s/a", "s/b", "s/c"] {
                try home.succeed(["mkdir", folder])
                try home.write("\(key.fingerprint)\nnobody-1\nnobody-2\n", to: "\(folder)/.gpg-id")
            }
            let changes = try store.snapshot(unknownNames: 4).changes
            #expect(changes.map(\.unknown.count).sorted() == [0, 2, 2])
            let last = try #require(changes.first { $0.unknown.isEmpty })
            #expect(last.problem?.contains("the lists before it name 4 keys that are not here") == true)
            #expect(try store.snapshot().changes.allSatisfy { $0.unknown.count == 2 && $0.problem == nil })
        }
    }

    @Test func ofALongCommitMessageTheBeginningIsRead() throws {
        try TestHome.with { home in
            try home.succeed(["git", "init", "-q", "--bare", "r.git"])
            let builder = HostileTree(home: home, repository: home.path("r.git"))
            let tree = try builder.tree(files: ["a": [1]])
            let message = "Subject\n\n" + String(repeating: "0123456789\n", count: 1 << 20)
            var tip = try builder.commit(tree, message: message)
            for _ in 0..<3 { tip = try builder.commit(tree, parents: [tip], message: message) }
            try builder.move("main", to: tip)
            let repository = try Repository.open(home.path("r.git"))
            let log = try repository.log(from: try #require(ObjectID(hex: tip)))
            #expect(log.count == 4)
            #expect(log.allSatisfy { $0.message.utf8.count == CommitInfo.longestMessage })
            #expect(log.allSatisfy { $0.message.hasPrefix("Subject\n") })
        }
    }

    /// A commit beyond the bound is refused by its header.
    @Test func aTipThatIsTooLongIsRefused() throws {
        try TestHome.with { home in
            try home.succeed(["git", "init", "-q", "--bare", "r.git"])
            let builder = HostileTree(home: home, repository: home.path("r.git"))
            let tip = try builder.commit(
                try builder.tree(files: ["a": [1]]), message: String(repeating: "x", count: 5 << 20))
            let repository = try Repository.open(home.path("r.git"))
            let error = #expect(throws: GitError.self) {
                try repository.checkIncoming(
                    try #require(ObjectID(hex: tip)), known: [],
                    bounds: TreeBounds(file: 1 << 20, total: 1 << 20))
            }
            #expect(error?.code == .invalid && error?.message.contains("its tip") == true)
        }
    }
}
