import Glibc
import SystemPackage
import TestKit
import Testing

/// What could not be saved is given up, by its name or with its store.
@Suite struct DiscardTests {
    private func withStore(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.with { home in
            let one = try home.makeStore("one", recipients: [try home.makeKey("a@example.org")])
            try one.insert("mail/imap", "old\n")
            try home.addStores([one])
            try home.mount()
            try body(home, one)
            try home.unmount()
        }
    }

    private func failToSave(
        _ home: TestHome, _ names: [String], after spoil: () throws -> Void = {}
    ) throws {
        let errors = try home.save(
            to: names.map { home.mountPoint.pushing(FilePath("one/\($0)")) }, after: spoil)
        #expect(errors.allSatisfy { $0 != nil })
    }

    private func spoil(_ home: TestHome) throws { try home.write("nobody@example.org\n", to: "one/.gpg-id") }

    private func unsaved(_ home: TestHome) throws -> [String] {
        try home.status().store("one").unsaved.map(\.path)
    }

    /// Holds:
    /// - `passdir discard` gives up what is unsaved of a secret or `.gpg-id`: the mount shows what lies on disk, or nothing where
    ///   nothing does.
    @Test func theMountShowsWhatLiesOnDisk() throws {
        try withStore { home, one in
            try failToSave(home, ["mail/imap", "mail/new"]) { try spoil(home) }
            #expect(try unsaved(home) == ["mail/imap", "mail/new"])
            // By a path in the mount, and by the name of the file.
            let folder = home.mountPoint.pushing("one/mail")
            try home.succeed(["passdir", "discard", "./imap", "one/mail/new.gpg"], in: folder)
            #expect(try home.bytes(at: folder.appending("imap")) == Array("old\n".utf8))
            #expect(try home.succeed(["ls", folder.string]) == Array("imap\n".utf8))
            #expect(access(folder.appending("new").string, F_OK) != 0)
            #expect(try unsaved(home) == [])
            try home.write("a@example.org\n", to: "one/.gpg-id")
            try home.succeed(["sh", "-c", "echo again > imap; echo again > new"], in: folder)
            for name in ["mail/imap", "mail/new"] { #expect(try one.show(name) == Array("again\n".utf8)) }
        }
    }

    /// Holds:
    /// - What could not be saved before a signal ended the daemon is lost; a notification on the desktop says so, and so do
    ///   the next `passdir mount` and `passdir status`, until `passdir discard` is given its name.
    @Test(.slow, arguments: ["mail/imap", ".gpg-id"]) func whatIsLostIsTold(_ name: String) throws {
        try withStore { home, one in
            try failToSave(home, [name]) { if name != ".gpg-id" { try spoil(home) } }
            #expect(try unsaved(home) == [name])
            let daemon = try home.status().mount.pid
            kill(daemon, SIGTERM)
            try home.waitUntil("the daemon has ended") { home.daemons().isEmpty }
            let mounted = try home.passdir("mount", home.mountPoint.string)
            #expect(mounted.exitCode == 0)
            #expect(
                mounted.errors.hasPrefix("passdir: warning: one/\(name) could not be saved"),
                "\(mounted.errors)")
            #expect(try home.passdir("status").output.contains("  lost     \(name): "))
            let json = try home.passdir("status", "--json").output
            #expect(json.contains("\"lost\":[{\"error\":\""), "\(json)")
            #expect(json.contains("\"path\":\"\(name)\""), "\(json)")
            #expect(!json.contains("text\\n"))
            try home.succeed(["passdir", "discard", "one/\(name)"])
            #expect(try !home.passdir("status").output.contains("lost"))
            #expect(try home.passdir("discard", "one/\(name)").exitCode == 1)
        }
    }

    /// A list that names nobody: `rm` is refused, as what is below would be for others.
    @Test(.slow, arguments: [".gpg-id", "mail/.gpg-id"]) func aListIsGivenUp(_ list: String) throws {
        try withStore { home, one in
            if list != ".gpg-id" {
                try home.write("a@example.org\n", to: "one/mail/.gpg-id")
            }
            let file = home.mountPoint.pushing(FilePath("one/\(list)"))
            let before = try home.bytes(at: file)
            try failToSave(home, [list])
            if list == ".gpg-id" { #expect(try home.run(["rm", file.string]).exitCode == 1) }
            #expect(try home.bytes(at: file) == Array("text\n".utf8))
            try home.succeed(["passdir", "discard", "one/\(list)"])
            #expect(try home.bytes(at: file) == before)
            #expect(try unsaved(home) == [])
            try home.succeed([
                "sh", "-c", "echo new > \"$0\"", home.mountPoint.pushing("one/mail/imap").string,
            ])
            #expect(try one.show("mail/imap") == Array("new\n".utf8))
        }
    }

    @Test(.slow) func whatIsRefusedIsSaid() throws {
        try withStore { home, _ in
            try failToSave(home, ["mail/imap"]) { try spoil(home) }
            func refusal(_ words: String...) throws -> String {
                let result = try home.run(["passdir", "discard"] + words)
                #expect(result.exitCode == 1)
                #expect(try unsaved(home) == ["mail/imap"])
                return result.errors
            }
            let saved = "passdir: one/mail/x has no unsaved text; 'passdir status' lists what is unsaved\n"
            #expect(try refusal("one/mail/imap", "one/mail/x") == saved)
            #expect(try refusal("one") == "passdir: one is a store; name a secret in it\n")
            let reader = try FileDescriptor.open(home.mountPoint.pushing("one/mail/imap"), .readOnly)
            #expect(
                try refusal("one/mail/imap")
                    == "passdir: one/mail/imap is open in a program that may still save it: close it there first\n"
            )
            try reader.close()
            try home.succeed(["passdir", "discard", "one/mail/imap"])
            try home.write("a@example.org\n", to: "one/.gpg-id")
        }
        try TestHome.with { home in
            let result = try home.passdir("discard", "one/a")
            #expect(result.exitCode == 1 && result.errors.contains("nothing is mounted"))
        }
    }

    /// `store remove --force` loses what is unsaved, as it says: nothing of it is left in the daemon.
    @Test(.slow) func aStoreThatIsRemovedByForceLeavesNothing() throws {
        try withStore { home, one in
            try failToSave(home, ["mail/new"]) { try failToSave(home, [".gpg-id"]) }
            let result = try home.passdir("store", "remove", "one", "--yes")
            #expect(
                result.exitCode == 1 && result.errors.contains("--force discards what was written"),
                "\(result)")
            try home.succeed(["passdir", "store", "remove", "one", "--yes", "--force"])
            #expect(try home.status().stores.isEmpty)
            try home.addStores([one])
            let mail = home.mountPoint.pushing("one/mail")
            #expect(try home.succeed(["ls", mail.string]) == Array("imap\n".utf8))
            #expect(try home.bytes(at: mail.appending("imap")) == Array("old\n".utf8))
            #expect(try unsaved(home) == [])
        }
    }
}
