import Glibc
import SystemPackage
import TestKit
import Testing

/// The change of recipients that saving a `.gpg-id` in the mount makes: it is watched, and stopped half way.
///
/// A passphrase that nobody gives holds it there: six secrets are for a key without one, two for one that has it.
@Suite struct RunningChangeTests {
    private func withHeldStore(
        _ body: (Fixture, TestStore, TestPinentry) throws -> Void
    ) throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let locked = try home.makeKey("locked@example.org", passphrase: "sesame")
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try fixture.fill(store, folders: ["a"], count: 6, for: fixture.ann)
            try fixture.fill(store, folders: ["b"], count: 2, for: locked)
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("sesame"))
            try home.mount()
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.bob.fingerprint)\n", to: "list")
            try body(fixture, store, pinentry)
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    private func progress(_ count: String) -> String {
        "  now      re-encrypting \(count) secrets: passdir recipients abort work stops it\n"
    }

    private func waitUntilHeld(_ home: TestHome, at count: String) throws {
        try home.waitUntil("the change is half way", limit: .seconds(60)) {
            try home.passdir("status").output.contains(progress(count))
        }
    }

    private func expectAborted(_ fixture: Fixture, _ output: String = "") throws -> String {
        let result = try fixture.home.passdir("recipients", "abort", "work")
        #expect(result.exitCode == 0 && result.errors.isEmpty, "\(result)")
        let first = "the change is undone: everything is as it was before\n"
        #expect(result.output.hasPrefix(first), "\(result)")
        return String(result.output.dropFirst(first.count))
    }

    /// Holds:
    /// - While a save of a `.gpg-id` re-encrypts secrets, `passdir status` tells how many of how many are done.
    /// - Where `passdir recipients abort` stops that, the save is ECANCELED and not tried again: everything is as it was
    ///   before, and the new list is kept there likewise.
    @Test(.slow) func aSaveIsWatchedAndStopped() throws {
        try withHeldStore { fixture, store, pinentry in
            let home = fixture.home
            let head = try store.git("rev-parse", "HEAD")
            let packets = try fixture.packets(store)
            let text = try home.start(["sh", "-c", "exec passdir status --follow >follow.txt 2>&1"])
            let json = try home.start(["sh", "-c", "exec passdir status --follow --json >follow.json"])
            for file in ["follow.txt", "follow.json"] {
                try home.waitUntil("\(file) has begun") {
                    ((try? home.text(of: file)) ?? "").contains("work")
                }
            }

            let save = try home.start(["cp", "list", "mnt/work/.gpg-id"])
            try waitUntilHeld(home, at: "6 of 8")
            let object = #""reencryption":{"done":6,"step":"encrypting","total":8}"#
            let report = try home.passdir("status", "--json").output
            #expect(report.contains(object) && report.contains(#""lastError":null"#), "\(report)")
            try home.waitUntil("both have told it") {
                try home.text(of: "follow.txt").contains(progress("6 of 8"))
                    && home.text(of: "follow.json").contains(object)
            }
            #expect(!save.hasEnded)

            let kept = home.path("data/passdir/removed/work-gpg-id-")
            let told = try expectAborted(fixture)
            #expect(told.hasPrefix("the .gpg-id that was being saved is kept in \(kept)"), "\(told)")
            let failed = try save.wait()
            #expect(failed.exitCode == 1 && failed.errors.contains("Operation canceled"), "\(failed)")
            #expect(try home.run(["sh", "-c", "cmp list '\(kept)'*"]).exitCode == 0)

            // As it was before, and not tried again.
            #expect(try home.text(of: "mnt/work/.gpg-id") == fixture.ann.fingerprint + "\n")
            #expect(try home.text(of: "work/.gpg-id") == fixture.ann.fingerprint + "\n")
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(try fixture.packets(store) == packets)
            #expect(access(store.path.appending(".passdir-reencrypt").string, F_OK) != 0)
            #expect(home.changeJournal == nil)
            let status = try home.passdir("status")
            #expect(status.exitCode == 0 && status.output.contains("kept in \(kept)"), "\(status)")
            #expect(!status.output.contains("now  ") && !status.output.contains("interrupted"), "\(status)")
            let again = try home.passdir("recipients", "abort", "work")
            #expect(
                again.exitCode == 1 && again.errors.contains("no interrupted change of recipients"),
                "\(again)")
            try home.succeed(["sh", "-c", "echo new >mnt/work/a/new"])
            #expect(try store.recipientKeyIDs(of: "a/new").count == 1)

            // Once more, to its end.
            try pinentry.release()
            try home.succeed(["cp", "list", "mnt/work/.gpg-id"])
            #expect(try Set(fixture.packets(store).values.map(\.count)) == [2])
            try home.succeed(["sh", "-c", "rm '\(kept)'*"])
            let end = try home.passdir("status").output
            #expect(!end.contains("kept in") && !end.contains("now  "), "\(end)")

            try home.unmount()
            for program in [text, json] { #expect(try program.wait().exitCode == 1) }
            let paragraphs = try home.text(of: "follow.txt").split(separator: "\nmount    ")
            #expect(paragraphs.count > 1)
            let last = "passdir: nothing is mounted; 'passdir mount' mounts your stores\n"
            #expect(try home.text(of: "follow.txt").hasSuffix(last))
            let lines = try home.text(of: "follow.json").split(separator: "\n")
            #expect(lines.count > 2 && Set(lines).count > 2, "\(lines)")
            #expect(lines.last?.hasPrefix(#"{"mount":null,"#) == true)
        }
    }

    /// As editors save that write a new file and rename it, and as `rm` gives a folder's list up.
    @Test func aRenameAndARemovalAreStopped() throws {
        try withHeldStore { fixture, store, pinentry in
            let home = fixture.home
            try home.succeed(["cp", "list", "mnt/work/new"])
            let rename = try home.start(["mv", "-f", "mnt/work/new", "mnt/work/.gpg-id"])
            // The new file is a secret, too.
            try waitUntilHeld(home, at: "7 of 9")
            #expect(try expectAborted(fixture).contains("is kept in"))
            let renamed = try rename.wait()
            #expect(renamed.exitCode == 1 && renamed.errors.contains("Operation canceled"), "\(renamed)")
            #expect(try home.bytes(of: "mnt/work/new") == home.bytes(of: "list"))
            #expect(try home.text(of: "mnt/work/.gpg-id") == fixture.ann.fingerprint + "\n")
            try home.succeed(["rm", "mnt/work/new"])
            try home.succeed(["rm", "-r", "data/passdir/removed"])

            // What is for the locked key stays so where its list names that key.
            try fixture.recipients("set", "work/b", "locked@example.org", "--yes")
            let list = try home.bytes(of: "work/b/.gpg-id")
            let remove = try home.start(["rm", "mnt/work/b/.gpg-id"])
            try waitUntilHeld(home, at: "0 of 2")
            #expect(try expectAborted(fixture) == "")
            let removed = try remove.wait()
            #expect(removed.exitCode == 1 && removed.errors.contains("Operation canceled"), "\(removed)")
            #expect(try home.bytes(of: "mnt/work/b/.gpg-id") == list)
            #expect(access(home.path("data/passdir/removed").string, F_OK) != 0)
            #expect(try !home.passdir("status").output.contains("error"))
            // A question that nobody waits for any more ends, too.
            try pinentry.release()
            try home.unmount()
        }
    }
}
