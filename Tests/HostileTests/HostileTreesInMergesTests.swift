import Git
import Glibc
import Logging
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Trees that somebody pushes to make a merge, a clone or a checkout write where it must not, or take all memory.
@Suite struct HostileTreesInMergesTests {
    /// One machine with a committer and a clone of `m0.git`, of which every attack makes a new commit.
    private func machine(
        _ home: TestHome, _ name: String = "m0"
    ) throws -> (Committer, Store, FilePath) {
        let key = try home.makeKey("a@example.org")
        let made = try home.makeStore("m0", recipients: [key], remote: true)
        try made.insert("mail", "secret\n")
        try made.git("push", "-q")
        let store = Store(
            name: name, identifier: "m0", root: try Root(path: made.path),
            engine: OpenPGPEngine(home: home.path("gnupg")),
            options: Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(20)),
            learned: try LearnedState(file: home.path("m0.sqlite")))
        var options = Committer.Options(
            delay: .seconds(3600), pushTimeout: .seconds(60), program: try TestHome.passdirBinary())
        options.transferLimit = 256 << 20
        let committer = Committer(
            store: store, options: options, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return (committer, store, made.path)
    }

    /// Everything below a folder but what git keeps.
    private func listing(_ home: TestHome, _ path: FilePath) throws -> String {
        String(
            decoding: try home.succeed(
                ["find", ".", "-path", "./.git", "-prune", "-o", "-printf", "%p %y %s %m %i\n"], in: path),
            as: UTF8.self)
    }

    /// What keeps a committer's thread busy for ever is given up, so that the tests here end.
    @Test func workWithoutAnEndIsNoticed() async throws {
        actor Busy {
            private let executor = StoreExecutor(store: "busy")
            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
            func work(until stop: Stop) { while !stop.flag.load(ordering: .relaxed) {} }
        }
        final class Stop: Sendable { let flag = Atomic(false) }
        let (busy, stop) = (Busy(), Stop())
        defer { stop.flag.store(true, ordering: .relaxed) }
        await #expect(throws: TestFailure.self) {
            try await EndlessWork.notice("busy", most: 0.2) { await busy.work(until: stop) }
        }
    }

    /// All in one home: what is refused leaves no trace, so that the next attack meets the same store.
    @Test(.slow) func mergesRefuseAndChangeNothing() async throws {
        try await TestHome.with { home in
            let (committer, store, path) = try machine(home, "attacked")
            let remote = home.path("m0.git")
            let builder = HostileTree(home: home, repository: remote)
            let good = try builder.resolve("main")
            let before = try listing(home, path)
            let outside = try listing(home, home.folder.appending("gnupg"))
            for attack in TreeAttack.all {
                let tip = try push(attack, builder, good)
                let said = try await EndlessWork.notice("attacked") { await committer.synchronizeNow() }
                let complaint = try #require(said, "\(attack)")
                // Some of it the git that sends it refuses already.
                if !complaint.contains("git-pack-objects died") {
                    let isOurs = complaint.hasPrefix("the branch \"main\" of \"origin\" was refused: ")
                    #expect(isOurs && complaint.contains(attack.says), "\(attack): \(complaint)")
                }
                #expect(committer.status.lastError == complaint)
                #expect(try listing(home, path) == before, "\(attack)")
                #expect(try self.git(home, path, "rev-parse", "HEAD") == good && tip != good, "\(attack)")
                #expect(try self.git(home, path, "status", "--porcelain") == "", "\(attack)")
            }
            #expect(try listing(home, home.folder.appending("gnupg")) == outside)
            #expect(try store.plaintext(of: "mail.gpg", cancellation: nil).bytes.count == 7)
            // What is put right there comes in again.
            let fixed = try builder.commit(
                try builder.tree([
                    .init("100644", ".gpg-id", try builder.resolve("\(good):.gpg-id")),
                    .init("100644", "README", try builder.blob("new\n")),
                ]), parents: [good])
            try builder.move("main", to: fixed)
            #expect(await committer.synchronizeNow() == nil)
            #expect(try home.bytes(at: path.appending("README")) == Array("new\n".utf8))
            await committer.finish(timeout: .seconds(20))
        }
    }

    /// The same, met by commits of ours: a merge, and a rebase.
    @Test(.slow, arguments: [false, true]) func mergesWithCommitsOfOursRefuse(rebases: Bool) async throws {
        try await TestHome.with { home in
            let name = rebases ? "rebased" : "merged"
            let (_, store, path) = try machine(home, name)
            var options = Committer.Options(
                delay: .seconds(3600), pushTimeout: .seconds(60), program: try TestHome.passdirBinary())
            options.rebases = rebases
            let committer = Committer(
                store: store, options: options, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let builder = HostileTree(home: home, repository: home.path("m0.git"))
            let good = try builder.resolve("main")
            try home.succeed(["cp", "mail.gpg", "ours.gpg"], in: path)
            committer.note(.saved("ours.gpg"))
            await committer.commitPending()
            let ours = try git(home, path, "rev-parse", "HEAD")
            #expect(ours != good)
            for attack in TreeAttack.all
            where [".git", "2^40 files", "a/b"].contains(where: attack.name.hasSuffix) {
                _ = try push(attack, builder, good)
                let said = try await EndlessWork.notice(name) { await committer.synchronizeNow() }
                let complaint = try #require(said, "\(attack)")
                #expect(complaint.contains(attack.says), "\(attack): \(complaint)")
                #expect(try git(home, path, "rev-parse", "HEAD") == ours)
                #expect(try git(home, path, "status", "--porcelain") == "")
            }
            await committer.finish(timeout: .seconds(20))
        }
    }

    /// What was there before is nobody's attack: only what the remote changes is looked at.
    @Test func whatIsHereAlreadyIsNotRefused() async throws {
        try await TestHome.with { home in
            let (committer, _, path) = try machine(home)
            let builder = HostileTree(home: home, repository: home.path("m0.git"))
            let good = try builder.resolve("main")
            let blob = try builder.blob("x\n")
            let readers = HostileTree.Entry("100644", ".gpg-id", try builder.resolve("main:.gpg-id"))
            let odd = HostileTree.Entry("100644", ".passdir-notes", blob)
            let first = try builder.commit(try builder.tree([readers, odd]), parents: [good])
            let second = try builder.commit(
                try builder.tree([readers, odd, .init("100644", "README", blob)]), parents: [first])
            try builder.move("main", to: first)
            try home.succeed(["git", "fetch", "-q"], in: path)
            try home.succeed(
                ["git", "reset", "-q", "--hard", "origin/main"], in: path)
            try builder.move("main", to: second)
            let complaint = await committer.synchronizeNow()
            await committer.finish(timeout: .seconds(20))
            #expect(complaint == nil, "\(complaint ?? "")")
            #expect(try home.bytes(at: path.appending("README")) == Array("x\n".utf8))
        }
    }

    /// `passdir store add --url` of each: an error that says why, and nothing is left of the clone.
    ///
    /// Holds:
    /// - What others push is checked before a merge or a clone places anything: one name, mode or size that
    ///   does not belong there refuses the whole of it, and changes nothing.
    @Test(.slow) func clonesAreRefused() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            try home.makeStore("m0", recipients: [key], remote: true).insert("mail", "x\n")
            let builder = HostileTree(home: home, repository: home.path("m0.git"))
            let good = try builder.resolve("main")
            try home.succeed(["mkdir", "-p", home.path("config/passdir").string])
            try home.write("[limits]\nsecret = 1m\n", to: "config/passdir/config")
            for attack in TreeAttack.all where attack.says != "limits.transfer" {
                _ = try push(attack, builder, good)
                let result = try home.run(
                    ["passdir", "store", "add", "evil", "--url", home.path("m0.git").string])
                #expect(result.exitCode == 1 && result.errors.contains(attack.says), "\(attack): \(result)")
                let left = try home.run(["find", home.path("data").string, "-name", "mail.gpg"]).output
                #expect(left.isEmpty, "\(attack): \(left)")
            }
        }
    }

    /// A store's own `.gitattributes` must not change ciphertexts in a checkout.
    @Test func clonesKeepEveryByte() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            _ = try home.makeStore("m0", recipients: [key], remote: true)
            let builder = HostileTree(home: home, repository: home.path("m0.git"))
            let good = try builder.resolve("main")
            let bytes = Array("1\n2\n$Id$\n".utf8)
            let tree = try builder.tree(files: [
                ".gitattributes": Array("* text eol=crlf ident\n".utf8), "a.gpg": bytes,
                ".gpg-id": Array("a@example.org\n".utf8),
            ])
            try builder.move("main", to: builder.commit(tree, parents: [good]))
            let result = try home.run(["passdir", "store", "add", "s", "--url", home.path("m0.git").string])
            #expect(result.exitCode == 0, "\(result)")
            let found = try home.succeed(["find", home.path("data").string, "-name", "a.gpg"])
            let place = String(decoding: found, as: UTF8.self).split(separator: "\n").map(String.init)
            #expect(try home.bytes(at: FilePath(place.first ?? "")) == bytes)
        }
    }

    /// Submodules fetch nothing, and links are placed and not written through.
    ///
    /// Holds:
    /// - A merge or clone never writes through a symbolic link, and fetches no submodule.
    @Test(.slow) func linksAndSubmodulesAreHarmless() async throws {
        try await TestHome.with { home in
            let (committer, _, path) = try machine(home)
            let builder = HostileTree(home: home, repository: home.path("m0.git"))
            let good = try builder.resolve("main")
            let mine = try git(home, home.path("m0.git"), "rev-parse", "main^{tree}")
            #expect(!mine.isEmpty)
            try home.succeed(["mkdir", home.path("outside").string])
            let link = try builder.blob(Array(home.path("outside").string.utf8))
            let readers = HostileTree.Entry("100644", ".gpg-id", try builder.resolve("main:.gpg-id"))
            let one = try builder.tree([
                readers,
                .init("120000", "d", link), .init("160000", "sub", good),
                .init("100644", "x", try builder.blob("1\n")),
            ])
            let first = try builder.commit(one, parents: [good])
            try builder.move("main", to: first)
            #expect(await committer.synchronizeNow() == nil)
            #expect(try home.bytes(at: path.appending("x")) == Array("1\n".utf8))
            // The link becomes a folder with a file in it.
            let two = try builder.tree([
                readers,
                .init("40000", "d", try builder.tree(files: ["evil": [1]])),
                .init("100644", "x", try builder.blob("1\n")),
            ])
            try builder.move("main", to: builder.commit(two, parents: [first]))
            #expect(await committer.synchronizeNow() == nil)
            #expect(try home.bytes(at: path.appending("d/evil")) == [1])
            // And somebody puts a link in the place of the folder before the next one comes.
            try home.succeed(["rm", "-r", path.appending("d").string])
            try home.succeed(["ln", "-s", home.path("outside").string, path.appending("d").string])
            let three = try builder.tree([
                readers,
                .init("40000", "d", try builder.tree(files: ["evil": [1], "more": [2]])),
                .init("100644", "x", try builder.blob("1\n")),
            ])
            try builder.move("main", to: builder.commit(three, parents: [builder.resolve("main")]))
            _ = await committer.synchronizeNow()
            await committer.finish(timeout: .seconds(20))
            #expect(try home.succeed(["ls", "-A", home.path("outside").string]).isEmpty)
        }
    }

    private func push(_ attack: TreeAttack, _ builder: HostileTree, _ parent: String) throws -> String {
        var entries = try attack.entries(builder)
        // In its place, so that nothing but the attack is to be refused.
        let readers = HostileTree.Entry("100644", ".gpg-id", try builder.resolve("\(parent):.gpg-id"))
        let place = entries.firstIndex { readers.name.lexicographicallyPrecedes($0.name) }
        entries.insert(readers, at: place ?? entries.count)
        let tree = try builder.tree(entries)
        let commit = try builder.commit(tree, parents: [parent], message: attack.name)
        try builder.move("main", to: commit)
        return commit
    }

    private func git(_ home: TestHome, _ path: FilePath, _ words: String...) throws -> String {
        let text = String(decoding: try home.succeed(["git"] + words, in: path), as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
