import Git
import Glibc
import OpenPGP
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What a merge encrypts itself goes by the rules of a save, and what it brings is told.
@Suite struct RecipientMergeTests {
    private static let text = "one\n2\n3\n4\nfive\n"

    /// Both sides change different lines of one secret, so that the merge has to encrypt.
    private func collide(_ home: TestHome, _ mine: Machine, _ other: Machine) async throws {
        try mine.save("a", Self.text.replacing("one", with: "ours"))
        try other.save("a", Self.text.replacing("five", with: "theirs"))
        try await other.commit()
        try other.git("push", "--quiet")
        try await mine.commit()
    }

    private func machines(
        _ home: TestHome, trust: TrustModel, _ change: (inout Committer.Options) -> Void = { _ in }
    ) async throws -> (mine: Machine, other: Machine) {
        let other = try home.machines(1)[0]
        try other.save("a", Self.text)
        try await other.commit()
        try other.git("push", "--quiet")
        try home.succeed(["git", "clone", "-q", home.path("m0.git").string, home.path("m1").string])
        let mine = try Machine(
            home, home.path("m1"),
            storeOptions: {
                $0.trust = trust
                $0.record = RecipientRecord(file: home.path("recipients"), markers: home.path("marks"))
            }, change)
        return (mine, other)
    }

    /// As `machines`, and Bob reads all, which the user of `mine` has agreed to.
    private func machinesWithBob(
        _ home: TestHome, _ change: (inout Committer.Options) -> Void = { _ in }
    ) async throws -> (mine: Machine, other: Machine, bob: TestKey) {
        let (mine, other) = try await machines(home, trust: .always, change)
        let bob = try home.makeKey("bob@example.org")
        try home.append(bob.fingerprint + "\n", to: "m0/.gpg-id")
        try other.save("a", Self.text)
        try await other.commit()
        try other.git("commit", "--quiet", "-am", "Bob reads.")
        try other.git("push", "--quiet")
        #expect(await mine.committer.synchronizeNow() == nil)
        try mine.store.agree(to: mine.store.snapshot())
        return (mine, other, bob)
    }

    @Test(.slow) func aMergeEncryptsToNobodyWhomGpgDoesNotTrust() async throws {
        try await TestHome.with { home in
            let (mine, other) = try await machines(home, trust: .gpg)
            let fingerprint = try home.text(of: "m0/.gpg-id").split(separator: "\n").joined()
            try await collide(home, mine, other)
            // Nobody's word for the key any more.
            try home.succeed(["gpg", "--import-ownertrust"], input: Array("\(fingerprint):2:\n".utf8))
            let complaint = await mine.committer.synchronizeNow()
            #expect(complaint?.contains("is not trusted") == true, "\(complaint ?? "")")
            #expect(complaint?.hasPrefix("the remote's changes are pending") == true, "\(complaint ?? "")")
            #expect(try mine.names == ["a"])
            // The word is given: it goes on.
            try home.succeed(["gpg", "--import-ownertrust"], input: Array("\(fingerprint):6:\n".utf8))
            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(
                try mine.read("a")
                    == Self.text.replacing("one", with: "ours").replacing("five", with: "theirs"))
        }
    }

    /// Holds:
    /// - A merge encrypts by the same rules as a save, and tells you whom it added to a list.
    @Test(.slow) func aMergeEncryptsToNobodyWhomTheUserHasNotAgreedTo() async throws {
        try await TestHome.with { home in
            let notes = Mutex<[String]>([])
            let (mine, other) = try await machines(home, trust: .always) {
                $0.notify = { _, sentence in notes.withLock { $0.append(sentence) } }
            }
            let eve = try home.makeKey("eve@example.org")
            #expect(await mine.committer.synchronizeNow() == nil)
            // Eve pushes herself into the list; a merge that encrypts nothing brings it, and says so.
            try home.append(eve.fingerprint + "\n", to: "m0/.gpg-id")
            try other.git("commit", "--quiet", "-am", "Readers.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            let told = notes.withLock { $0 }
            #expect(
                told.contains {
                    $0.contains("eve <eve@example.org> (\(eve.fingerprint))") && $0.contains(".gpg-id")
                        && $0.contains("recipients confirm")
                }, "\(told)")
            // The next one would encrypt to her.
            try mine.store.agree(to: mine.store.snapshot())
            try mine.save("a", Self.text.replacing("one", with: "ours"))
            try await mine.commit()
            let agreed = try home.bytes(of: "recipients")
            try home.succeed(["cp", "m1/.gpg-id", "list"])
            try home.write(
                try home.text(of: "m0/.gpg-id").replacing(eve.fingerprint + "\n", with: ""), to: "only")
            try home.succeed(["cp", "only", "m1/.gpg-id"])
            try mine.store.agree(to: mine.store.snapshot())
            #expect(try home.bytes(of: "recipients") != agreed)
            try home.succeed(["cp", "list", "m1/.gpg-id"])
            try other.save("a", Self.text.replacing("five", with: "theirs"))
            try await other.commit()
            try other.git("push", "--quiet")
            let complaint = await mine.committer.synchronizeNow()
            #expect(complaint?.contains("recipients confirm") == true, "\(complaint ?? "")")
            #expect(complaint?.hasPrefix("the remote's changes are pending") == true, "\(complaint ?? "")")
            #expect(try mine.names == ["a"])
            try mine.store.agree(to: mine.store.snapshot())
            #expect(await mine.committer.synchronizeNow() == nil)
        }
    }

    /// A name that means no key here, and a list that nobody can read, are told, too.
    @Test(.slow, arguments: ["mallory@example.org\n", "mallory\0\n"])
    func aMergeTellsOfNamesThatNobodyHereBears(_ line: String) async throws {
        try await TestHome.with { home in
            let notes = Mutex<[String]>([])
            let (mine, other) = try await machines(home, trust: .always) {
                $0.notify = { _, sentence in notes.withLock { $0.append(sentence) } }
            }
            #expect(await mine.committer.synchronizeNow() == nil)
            try home.append(line, to: "m0/.gpg-id")
            try other.git("commit", "--quiet", "-am", "Readers.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            let told = notes.withLock { $0 }
            let expected = line.contains("@") ? "mallory@example.org" : "not UTF-8 text"
            #expect(told.contains { $0.contains(expected) && $0.contains(".gpg-id") }, "\(told)")
        }
    }

    /// What was saved before its machine heard of a change of recipients is told, whichever side merges.
    enum Late: CaseIterable {
        /// It comes from the remote; the change was made here.
        case there
        /// It was saved here; the change comes from the remote.
        case here
    }

    /// Holds:
    /// - A secret that one machine saves before it has heard of a change of recipients on another is named by `status`, `sync` and a
    ///   notification until it is encrypted anew.
    @Test(.slow, arguments: Late.allCases) func whatIsEncryptedToFormerReadersIsTold(_ late: Late)
        async throws
    {
        try await TestHome.with { home in
            let notes = Mutex<[String]>([])
            let (mine, other, bob) = try await machinesWithBob(home) {
                $0.notify = { _, sentence in notes.withLock { $0.append(sentence) } }
            }
            #expect(mine.driftSentence == nil)

            let (changing, saving) = late == .there ? (mine, other) : (other, mine)
            try saving.save("late", "new\n")
            try await saving.commit()
            let list = changing.path.appending(".gpg-id")
            try home.succeed(["sed", "-i", "/\(bob.fingerprint)/d", list.string])
            try changing.save("a", Self.text)
            try await changing.commit()
            try changing.git("commit", "--quiet", "-am", "Bob does not.")
            try other.git("push", "--quiet")

            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(try mine.names == ["a", "late"])
            let sentence = "not encrypted to exactly its recipients since a merge: late; "
            #expect(mine.driftSentence?.hasPrefix(sentence) == true)
            #expect(mine.committer.wholeStatus.notes.contains { $0.hasPrefix(sentence) })
            let told = notes.withLock { $0 }.filter { $0.contains(sentence) }
            #expect(told.count == 1, "\(told)")
            // A list that is gone for a moment makes nothing forgotten.
            let named = try home.text(of: "m1/.gpg-id")
            try home.succeed(["rm", "m1/.gpg-id"])
            #expect(mine.driftSentence == nil)
            try home.write(named, to: "m1/.gpg-id")
            // As another process sees it, and until it is encrypted anew.
            #expect(DriftList(mine.store).review() == ["late.gpg"])
            try mine.save("late", "newer\n")
            #expect(mine.driftSentence == nil)
            #expect(DriftList(mine.store).review() == [])
        }
    }

    /// A list that others have added somebody to counts from when its user has agreed to it, and so does what it leaves behind.
    @Test func whatIsNotForWhomWasAgreedToLaterIsTold() async throws {
        try await TestHome.with { home in
            let (mine, other) = try await machines(home, trust: .always)
            #expect(await mine.committer.synchronizeNow() == nil)
            let bob = try home.makeKey("bob@example.org")
            try mine.save("late", "new\n")
            try await mine.commit()
            try home.append(bob.fingerprint + "\n", to: "m0/.gpg-id")
            try other.save("a", Self.text)
            try await other.commit()
            try other.git("commit", "--quiet", "-am", "Bob reads.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(mine.driftSentence == nil, "nobody has agreed yet")
            try mine.store.agree(to: mine.store.snapshot())
            let sentence = "not encrypted to exactly its recipients since a merge: late; "
            #expect(mine.driftSentence?.hasPrefix(sentence) == true)
            try mine.save("late", "newer\n")
            #expect(mine.driftSentence == nil && DriftList(mine.store).review().isEmpty)
        }
    }

    /// Whoever pushes what nobody here can read, or what is no message at all, is no reason to encrypt anything anew.
    @Test func whatNobodyHereReadsIsNoDrift() async throws {
        try await TestHome.with { home in
            let (mine, other) = try await machines(home, trust: .always)
            #expect(await mine.committer.synchronizeNow() == nil)
            let eve = try home.makeKey("eve@example.org")
            try home.write("junk", to: "m0/junk.gpg")
            try home.succeed([
                "gpg", "--batch", "--trust-model", "always", "-r", eve.fingerprint, "-o", "m0/eves.gpg", "-e",
                "m0/junk.gpg",
            ])
            try home.deleteKey(eve)
            try other.git("add", ".")
            try other.git("commit", "--quiet", "-m", "More.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(try mine.names == ["a", "eves", "junk"])
            #expect(mine.driftSentence == nil)
        }
    }

    /// Who has made a change of recipients, and what the other side has done to the secret meanwhile.
    enum Collision: CaseIterable {
        /// Ours knows the new list, and the change is only that; the other edits.
        case changedHere
        case changedThere
        /// So, and whoever made the change edits other lines, too.
        case changedHereWithEdit
        case changedThereWithEdit
    }

    /// Holds:
    /// - What a merge encrypts, or takes from a side that had not heard of a change of recipients, is for whom the merged list names.
    @Test(.slow, arguments: sampled(tableCases(Collision.allCases, [false, true])))
    func aMergeEncryptsToWhomTheMergedListNames(_ collision: Collision, rebases: Bool) async throws {
        try await TestHome.with { home in
            let (mine, other, bob) = try await machinesWithBob(home) { $0.rebases = rebases }
            let both = try mine.store.recipientKeyIDs(of: "a.gpg")
            #expect(both.count == 2)

            let isHere = collision == .changedHere || collision == .changedHereWithEdit
            let (changing, editing) = isHere ? (mine, other) : (other, mine)
            let edits = collision == .changedHereWithEdit || collision == .changedThereWithEdit
            try editing.save("a", Self.text.replacing("five", with: "5"))
            try await editing.commit()
            try home.succeed([
                "sed", "-i", "/\(bob.fingerprint)/d", changing.path.appending(".gpg-id").string,
            ])
            try changing.save("a", edits ? Self.text.replacing("one", with: "1") : Self.text)
            try await changing.commit()
            try changing.git("commit", "--quiet", "-am", "Bob does not.")
            try other.git("push", "--quiet")

            #expect(await mine.committer.synchronizeNow() == nil)
            let expected = Self.text.replacing("five", with: "5")
            #expect(try mine.read("a") == (edits ? expected.replacing("one", with: "1") : expected))
            let left = try mine.store.recipientKeyIDs(of: "a.gpg")
            #expect(left.count == 1 && both.contains(left[0]), "\(left) of \(both)")
            #expect(mine.driftSentence == nil)
            // So it is committed, too.
            #expect(try mine.git("status", "--porcelain") == "")
            #expect(try mine.names == ["a"])
        }
    }

    /// A name that means no key here hides nobody who reads what the list gives to others.
    @Test(.slow) func aNameThatNobodyBearsHidesNoDrift() async throws {
        try await TestHome.with { home in
            let (mine, other) = try await machines(home, trust: .always)
            let bob = try home.makeKey("bob@example.org")
            #expect(await mine.committer.synchronizeNow() == nil)
            let list = try home.text(of: "m0/.gpg-id")
            try home.write(list + bob.fingerprint + "\n", to: "m0/.gpg-id")
            try other.save("late", "new\n")
            try other.save("late2", "new\n")
            try await other.commit()
            try home.write(list + "nobody@example.org\n", to: "m0/.gpg-id")
            try other.git("commit", "--quiet", "-am", "More.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(
                mine.driftSentence?.hasPrefix(
                    "not encrypted to exactly their recipients since a merge: late, late2; ") == true)
        }
    }

    /// What others do to a list beside keeps no merge up: it is for whom both lists name.
    @Test(.slow, arguments: ["eve", "nobody@example.org"])
    func aListThatWaitsForTheUserKeepsNoMergeUp(_ added: String) async throws {
        try await TestHome.with { home in
            let (mine, other, bob) = try await machinesWithBob(home)
            let eve = try home.makeKey("eve@example.org")
            let list = try home.text(of: "m0/.gpg-id").replacing(bob.fingerprint + "\n", with: "")
            let both = try mine.store.recipientKeyIDs(of: "a.gpg")

            try mine.save("a", Self.text.replacing("five", with: "5"))
            try await mine.commit()
            try other.save("a", Self.text.replacing("one", with: "1"))
            try await other.commit()
            try home.write(list + (added == "eve" ? eve.fingerprint : added) + "\n", to: "m0/.gpg-id")
            try other.git("commit", "--quiet", "-am", "Not Bob, somebody else.")
            try other.git("push", "--quiet")
            #expect(await mine.committer.synchronizeNow() == nil)
            #expect(try mine.names == ["a"])
            #expect(
                try mine.read("a")
                    == Self.text.replacing("one", with: "1").replacing("five", with: "5"))
            let left = try mine.store.recipientKeyIDs(of: "a.gpg")
            #expect(left.count == 1 && both.contains(left[0]), "\(left) of \(both)")
        }
    }
}
