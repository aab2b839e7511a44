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
                engine: try OpenPGPEngine(home: home.path("gnupg")),
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
