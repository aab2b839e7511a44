import Glibc
import SystemPackage
import TestKit
import Testing

/// `.gpg-id` saved in the mount: the same as `passdir recipients set`.
@Suite struct MountedRecipientsTests {
    /// Holds:
    /// - `.gpg-id` is shown as it is and can be written: saving it encrypts what is below to the keys that it names, and it
    ///   cannot be renamed to another name (EPERM), nor that of the store's top removed.
    @Test(.slow) func savingTheFileChangesTheRecipients() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let (ann, bob, cyd) = (fixture.ann.fingerprint, fixture.bob.fingerprint, fixture.cyd.fingerprint)
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            try store.insert("sub/b", "two")
            try home.mount()
            #expect(try home.text(of: "mnt/work/.gpg-id") == ann + "\n")

            // Written in place, with a comment that stays.
            try home.write("# ours\n\(ann)\n\(bob)\n", to: "mnt/work/.gpg-id")
            #expect(try home.text(of: "work/.gpg-id") == "# ours\n\(ann)\n\(bob)\n")
            #expect(try store.recipientKeyIDs(of: "a").count == 2)
            #expect(
                try store.git("log", "-1", "--format=%s")
                    == "Reencrypt password store using new GPG id \(ann), \(bob).")

            // As `sed -i` and others do: a new file that is renamed over it.
            try home.succeed(["sed", "-i", "/\(bob)/d", "mnt/work/.gpg-id"])
            #expect(try store.recipientKeyIDs(of: "a").count == 1)
            #expect(try home.text(of: "mnt/work/.gpg-id") == "# ours\n\(ann)\n")
            // As editors do: the old one becomes a backup, a new one is written.
            try home.succeed(["mv", "mnt/work/.gpg-id", "mnt/work/.gpg-id~"])
            try home.write("\(ann)\n\(cyd)\n", to: "mnt/work/.gpg-id")
            try home.succeed(["rm", "mnt/work/.gpg-id~"])
            #expect(try store.recipientKeyIDs(of: "sub/b").count == 2)

            // A folder of its own.
            try home.write("\(cyd)\n\(ann)\n\(bob)\n", to: "mnt/work/sub/.gpg-id")
            #expect(try store.recipientKeyIDs(of: "sub/b").count == 3)
            #expect(try store.recipientKeyIDs(of: "a").count == 2)
            #expect(try fixture.read(store.path.appending("sub/b.gpg"), as: fixture.bob) == "two")

            // It does not go away.
            #expect(try home.run(["rm", "-f", "mnt/work/.gpg-id"]).exitCode != 0)
            #expect(try home.run(["mv", "mnt/work/.gpg-id", "mnt/work/other"]).exitCode != 0)
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
            // Nothing of it is stored as a secret.
            let names = String(
                decoding: try home.succeed(["git", "ls-files"], in: store.path), as: UTF8.self)
            #expect(
                names.split(separator: "\n").sorted() == [
                    ".gitattributes", ".gpg-id", "a.gpg", "sub/.gpg-id", "sub/b.gpg",
                ])
        }
    }

    /// Holds:
    /// - Removing the `.gpg-id` of an inner folder encrypts what is below to the keys that the list above names; `rm -r` removes
    ///   a folder with its list.
    @Test(.slow) func aFoldersListIsRemoved() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann], remote: true)
            try home.addStores([store])
            for name in ["a", "gone/b", "gone/in/c", "kept/d", "kept/in/e", "other/f"] {
                try store.insert(name, "text")
            }
            for folder in ["gone", "kept", "other"] {
                try home.succeed([
                    "passdir", "recipients", "set", "work/\(folder)", fixture.ann.fingerprint,
                    fixture.bob.fingerprint, "--yes",
                ])
            }
            try home.mount()
            #expect(try store.recipientKeyIDs(of: "kept/in/e").count == 2)
            try home.succeed(["rm", "-r", "mnt/work/gone"])
            #expect(access(home.path("work/gone").string, F_OK) != 0)

            try home.succeed(["rm", "mnt/work/kept/.gpg-id"])
            #expect(try store.recipientKeyIDs(of: "kept/in/e").count == 1)
            #expect(access(home.path("work/kept/.gpg-id").string, F_OK) != 0)
            // What is saved there is for whom the list above names, and nobody has to agree to them.
            try home.write("new", to: "mnt/work/kept/in/e")
            #expect(try store.recipientKeyIDs(of: "kept/in/e").count == 1)

            // The same by the command, which shows what it does and asks.
            let unset = ["passdir", "recipients", "unset", "work/other"]
            let asked = try home.run(unset)
            #expect(asked.exitCode == 1 && asked.errors.contains("--yes"), "\(asked)")
            #expect(try store.recipientKeyIDs(of: "other/f").count == 2)
            let done = try home.run(unset + ["--yes"])
            #expect(done.exitCode == 0 && done.output.contains("- the folder's own .gpg-id"), "\(done)")
            #expect(try store.recipientKeyIDs(of: "other/f").count == 1)
            #expect(access(home.path("work/other/.gpg-id").string, F_OK) != 0)
            let again = try home.run(unset + ["--yes"])
            #expect(again.exitCode == 1 && again.errors.contains("has no .gpg-id of its own"), "\(again)")
            let top = try home.run(["passdir", "recipients", "unset", "work", "--yes"])
            #expect(top.exitCode == 1 && top.errors.contains("nothing is above"), "\(top)")
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
            #expect(try store.git("ls-files", "*.gpg-id") == ".gpg-id")
        }
    }

    /// Holds:
    /// - A `.gpg-id` that names a key which cannot be encrypted to fails at close(2), and nothing changes.
    @Test(.slow) func aWrongKeyIsAnErrorAtCloseAndChangesNothing() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            let head = try store.git("rev-parse", "HEAD")
            try home.mount()
            let file = try Editor(home, home.mountPoint.appending("work/.gpg-id"), .truncate)
            try file.write("\(fixture.ann.fingerprint)\nnobody@example.org\n")
            let error = #expect(throws: Errno.self) { try file.close() }
            #expect(error == Errno(rawValue: 126))
            #expect(try home.passdir("status").output.contains("nobody@example.org"))
            #expect(try home.text(of: "work/.gpg-id") == fixture.ann.fingerprint + "\n")
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(try home.run(["ls", "-A", "work/.passdir-reencrypt"]).exitCode != 0)
            // What is right is taken, and the trouble is over.
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.bob.fingerprint)\n", to: "mnt/work/.gpg-id")
            #expect(try store.recipientKeyIDs(of: "a").count == 2)
            #expect(try !home.passdir("status").output.contains("nobody@example.org"))
            try home.unmount()
        }
    }

    /// Holds:
    /// - The commands under `recipients` tell of a list that was edited in the mount and is not saved.
    @Test(.slow) func theCommandsTellOfAnUnsavedList() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("sub/a", "one")
            try home.mount()
            let commands = [
                ["show", "work"], ["check", "work/sub"], ["confirm", "work"], ["settle", "work"],
                ["add", "work", fixture.bob.fingerprint, "--dry-run"],
            ]
            func expect(_ part: String?) throws {
                for command in commands {
                    let told = try home.run(["passdir", "recipients"] + command).errors
                    let isTold = told.contains("passdir: work/.gpg-id") && told.contains(part ?? "")
                    #expect(isTold == (part != nil), "\(command): \(told)")
                }
            }
            try expect(nil)
            // Being written, by a program of its own: whatever else ends would save it.
            let writing = """
                import os, time
                file = os.open("mnt/work/.gpg-id", os.O_WRONLY)
                os.write(file, b"\(fixture.ann.fingerprint)\\n")
                open("written", "w").close()
                while not os.path.exists("enough"): time.sleep(0.02)
                """
            let writer = try home.start(["python3", "-c", writing])
            try home.waitUntil("it is written") { try home.run(["test", "-e", "written"]).exitCode == 0 }
            try expect("not saved yet")
            try home.write("", to: "enough")
            #expect(try writer.wait(limit: .seconds(20)).exitCode == 0)
            try expect(nil)
            // Saved in vain, which a shell does not tell.
            _ = try home.run(["sh", "-c", "echo nobody@example.org > mnt/work/.gpg-id"])
            try expect("nobody@example.org")
            try home.unmount(discardUnsaved: true)
        }
    }

    @Test func anEditorSavesIt() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            guard try home.run(["sh", "-c", "command -v vim && command -v nano"]).exitCode == 0 else {
                return
            }
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try store.insert("a", "one")
            try home.mount()
            let vim = try home.run(
                [
                    "vim", "-Nu", "NONE", "-es", "-c", "normal Go\(fixture.bob.fingerprint)", "-c", "wq",
                    "mnt/work/.gpg-id",
                ])
            #expect(vim.exitCode == 0, "\(vim.errors)\(vim.output)")
            #expect(try store.recipientKeyIDs(of: "a").count == 2)
            let ed = try home.run(
                ["ed", "-s", "mnt/work/.gpg-id"],
                input: Array("$a\n\(fixture.cyd.fingerprint)\n.\nw\nq\n".utf8))
            #expect(ed.exitCode == 0, "\(ed.errors)")
            #expect(try store.recipientKeyIDs(of: "a").count == 3)
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
        }
    }
}
