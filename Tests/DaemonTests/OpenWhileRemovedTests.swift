import Glibc
import SystemPackage
import TestKit
import Testing

/// What is open, unsaved or new in a store while the store itself comes or goes.
@Suite struct OpenWhileRemovedTests {
    /// What a program writes into a store whose folder is gone could be saved nowhere.
    @Test(.slow) func aFolderInUseStays() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            try one.insert("a", "old\n")
            try one.git("push", "-q")
            try home.addStores([one])
            try home.mount()
            let secret = home.mountPoint.pushing("one/a")
            let reader = try FileDescriptor.open(secret, .readOnly)
            let writer = try FileDescriptor.open(secret, .writeOnly, options: .append)
            let url = try #require(one.remote).string
            for command in [
                ["remove", "one", "--purge", "--yes"], ["reclone", "one", "--url", url, "--yes"],
            ] {
                let result = try home.run(["passdir", "store"] + command)
                #expect(result.exitCode == 1)
                #expect(
                    result.errors
                        == "passdir: one/a is open in a program that may still write there: close it first, or pass --force\n"
                )
            }
            #expect(try writer.writeAll(Array("new\n".utf8)) == 4)
            try writer.close()
            #expect(try one.show("a") == Array("old\nnew\n".utf8))
            // Whoever only reads has what was read.
            try home.succeed(["passdir", "store", "remove", "one", "--purge", "--yes"])
            #expect(access(one.path.string, F_OK) != 0)
            try reader.close()
            try home.unmount()
        }
    }

    @Test func eraseSparesAStoreInItsFolders() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key])
            try one.insert("a", "old\n")
            try home.addStores([one])
            try home.succeed(["passdir", "store", "remove", "one", "--purge", "--yes"])
            let removed = home.path("data/passdir/removed")
            let name = String(decoding: try home.succeed(["ls", removed.string]), as: UTF8.self).dropLast()
            let place = removed.appending(String(name))
            try home.succeed(["passdir", "store", "add", "back", "--path", place.string])
            let result = try home.passdir("erase", "--force", "--yes")
            #expect(result.exitCode == 1)
            #expect(
                result.errors.contains(
                    "the store \"back\" is in \(removed), which erase removes: move it first"))
            #expect(access(place.appending("a.gpg").string, F_OK) == 0)
            try home.succeed(["passdir", "erase", "--yes"])
            #expect(access(place.appending("a.gpg").string, F_OK) == 0)
        }
    }

    /// Nobody has to enter it first.
    @Test(.slow) func aStoreThatIsAddedIsLookedInto() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let (one, two) = (
                try home.makeStore("one", recipients: [key]), try home.makeStore("two", recipients: [key])
            )
            for store in [one, two] { try store.insert("a", "old\n") }
            try home.addStores([one])
            try home.succeed(["cp", one.path.appending("a.gpg").string, one.path.appending("b.gpg").string])
            try home.mount()
            // The look at all stores at the start is over.
            try home.waitUntil("what lay there is committed") { try one.git("status", "--short").isEmpty }
            try home.succeed(["cp", two.path.appending("a.gpg").string, two.path.appending("b.gpg").string])
            try home.addStores([two])
            try home.waitUntil("what lies there is committed") { try two.git("status", "--short").isEmpty }
            try home.unmount()
        }
    }

    /// A list that the mount shows and that could not be saved: nothing goes to the readers of the one before it.
    @Test(.slow, arguments: ["team/.gpg-id", ".gpg-id"]) func nothingIsSavedBelowAnUnsavedList(_ list: String)
        throws
    {
        try TestHome.with { home in
            let keys = try ["a@example.org", "b@example.org"].map { try home.makeKey($0) }
            let one = try home.makeStore("one", recipients: keys)
            for name in ["team/x", "own/x"] { try one.insert(name, "old\n") }
            try home.addStores([one])
            try home.succeed(["passdir", "recipients", "set", "one/own", "a@example.org", "--yes"])
            try home.mount()
            func save(_ text: String, _ name: String) throws -> Bool {
                let script = "open(my $f, '>', $ARGV[0]) or die; print $f $ARGV[1]; exit(close($f) ? 0 : 3)"
                let file = home.mountPoint.pushing(FilePath("one/\(name)")).string
                return try home.run(["perl", "-e", script, file, text]).exitCode == 0
            }
            let errors = try home.save("for a only\n", to: [home.mountPoint.pushing("one/team/y")]) {
                () throws in
                #expect(try !save("a@example.org\nnobody@example.org\n", list))
                // Nobody else can begin to write there.
                #expect(try !save("for a only\n", "team/z"))
            }
            #expect(errors == [Errno(rawValue: 129)])
            #expect(try home.passdir("status").output.contains("team/y: "))
            #expect(access(one.path.appending("team").appending("y.gpg").string, F_OK) != 0)
            // A list between the two is what counts.
            #expect(try save("own\n", "own/y"))
            #expect(try save("a@example.org\n", list))
            try home.waitUntil("it is saved") {
                _ = try home.passdir("sync")
                return access(one.path.appending("team").appending("y.gpg").string, F_OK) == 0
            }
            #expect(try one.recipientKeyIDs(of: "team/y").count == 1)
            try home.unmount()
        }
    }
}
