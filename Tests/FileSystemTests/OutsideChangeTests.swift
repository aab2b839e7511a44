import Glibc
import SystemPackage
import TestKit
import Testing

/// `pass`, `git` and others change the store while it is mounted: the mount shows it at once, and nothing is lost.
@Suite struct OutsideChangeTests {
    @Test func whatPassChangesIsSeenAtOnce() throws {
        try Mounted.with { mounted in
            let store = mounted.store
            try store.insert("d/a", "one")
            #expect(try mounted.names(in: "d") == ["a"])
            #expect(try mounted.read("d/a") == "one")
            try store.insert("d/a", "another, longer")
            #expect(try mounted.read("d/a") == "another, longer")
            #expect(try mounted.bash("stat -c %s d/a") == "15\n")
            try store.insert("d/e/f/b", "new folders")
            #expect(try mounted.read("d/e/f/b") == "new folders")
            try store.pass(["mv", "d/a", "d/c"])
            #expect(try mounted.names(in: "d") == ["c", "e"])
            #expect(try mounted.run("cat d/a").errors.contains("No such file"))
            #expect(try mounted.read("d/c") == "another, longer")
            try store.pass(["rm", "--recursive", "--force", "d"])
            #expect(try mounted.run("ls d").errors.contains("No such file"))
        }
    }

    /// A program that has the directory open sees what came and went when it looks again.
    @Test func anOpenDirectoryIsUpToDate() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("d/a", "one")
            let directory = try #require(opendir(mounted.folder.appending("d").string))
            defer { closedir(directory) }
            #expect(names(in: directory) == ["a"])
            try mounted.store.insert("d/b", "two")
            try mounted.store.pass(["rm", "--force", "d/a"])
            rewinddir(directory)
            #expect(names(in: directory) == ["b"])
            // A shell that stands in it.
            let script =
                "cd d; pass insert -m c <<<three >/dev/null 2>&1; cat c; git -C $S mv d/b.gpg d/e.gpg; ls"
            let output = try mounted.home.succeed(
                ["bash", "-c", script.replacing("insert -m c", with: "insert -m d/c")], in: mounted.folder,
                extra: ["PASSWORD_STORE_DIR": mounted.store.path.string, "S": mounted.store.path.string])
            #expect(String(decoding: output, as: UTF8.self) == "three\nc\ne\n")
        }
    }

    private func names(in directory: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }

    /// `git checkout` of another branch: thousands of files come, go and change while they are looked at.
    /// Holds:
    /// - What `pass`, `git` or anybody else changes in the store, be it thousands of files by a checkout, is seen by
    ///   the next look that comes 50 ms after the one before, also by a program that has the directory open and looks
    ///   again; an open never gets an older content.
    @Test(.slow) func anotherBranchIsCheckedOut() throws {
        let count = Soak.count(inSuite: 2000)
        try Mounted.with { mounted in
            let store = mounted.store
            try store.insert("here/stays", "on main")
            try store.insert("only-main", "main")
            try store.git("checkout", "-q", "-b", "other")
            try store.insert("here/stays", "on the other branch")
            try store.git("rm", "-q", "only-main.gpg")
            try mounted.bash(
                """
                cd $S; mkdir many; seq -f 'many/s%g.gpg' \(count) | xargs sh -c 'tee "$@" <here/stays.gpg >/dev/null' tee
                git add many; git commit -qm many; git checkout -q main
                """)
            #expect(try mounted.names() == [".gitattributes", ".gpg-id", "here", "only-main"])
            let reader = try FileDescriptor.open(mounted.folder.appending("here/stays"), .readOnly)
            defer { try? reader.close() }
            try store.git("checkout", "-q", "other")
            #expect(try mounted.names() == [".gitattributes", ".gpg-id", "here", "many"])
            #expect(try mounted.names(in: "many").count == count)
            #expect(try mounted.read("here/stays") == "on the other branch")
            #expect(try mounted.read("many/s\(count)") == "on the other branch")
            var bytes = [UInt8](repeating: 0, count: 100)
            let length = try bytes.withUnsafeMutableBytes { try reader.read(fromAbsoluteOffset: 0, into: $0) }
            #expect(String(decoding: bytes.prefix(length), as: UTF8.self) == "on main")
            try store.git("checkout", "-q", "main")
            let gone = try mounted.run("ls many")
            #expect(gone.errors.contains("No such file"), "\(gone)")
            #expect(try mounted.read("here/stays") == "on main")
        }
    }

    /// The kernel goes on with a name that it has just looked up, and the open notices.
    @Test(.slow) func anOpenRightBehindAReplacementGetsTheNewOne() throws {
        try Mounted.with { mounted in
            let store = mounted.store
            for number in 0..<8 { try store.insert("n\(number)", "text \(number)") }
            let (file, path) = (mounted.folder.appending("n0"), store.path.appending("n0.gpg"))
            // One that holds the file open makes the next opens meet a text that is in use.
            for isHeld in [false, true] {
                for round in 0..<40 {
                    let number = 1 + round % 7
                    let held = isHeld ? try FileDescriptor.open(file, .readOnly) : nil
                    defer { try? held?.close() }
                    _ = try mounted.home.bytes(at: file)
                    let copy = store.path.appending("copy")
                    _ = unlink(copy.string)
                    #expect(link(store.path.appending("n\(number).gpg").string, copy.string) == 0)
                    #expect(rename(copy.string, path.string) == 0)
                    #expect(
                        try mounted.home.bytes(at: file) == Array("text \(number)".utf8), "\(isHeld) \(round)"
                    )
                }
            }
        }
    }

    /// A reader below a folder keeps nobody from what takes the folder's place.
    @Test func aFolderBecomesASecretWhileItIsRead() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("d/x", "one")
            try mounted.store.insert("e", "another")
            let reader = try FileDescriptor.open(mounted.folder.pushing("d/x"), .readOnly)
            defer { try? reader.close() }
            try mounted.bash("rm -r $S/d; mv $S/e.gpg $S/d.gpg")
            // The kernel goes on with the folder for 50 ms.
            try mounted.home.waitUntil("it is a secret") { (try? mounted.read("d")) == "another" }
            var bytes = [UInt8](repeating: 0, count: 100)
            let length = try bytes.withUnsafeMutableBytes { try reader.read(fromAbsoluteOffset: 0, into: $0) }
            #expect(String(decoding: bytes.prefix(length), as: UTF8.self) == "one")
        }
    }

    /// Holds:
    /// - A file that is open for reading keeps what it opened when the secret is changed outside; who opens it then
    ///   gets the new one.
    @Test func aReaderKeepsWhatItOpened() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("a", "the first one")
            let reader = try FileDescriptor.open(mounted.folder.appending("a"), .readOnly)
            defer { try? reader.close() }
            try mounted.store.insert("a", "the second, which is longer")
            var bytes = [UInt8](repeating: 0, count: 100)
            #expect(try mounted.read("a") == "the second, which is longer")
            let length = try bytes.withUnsafeMutableBytes { try reader.read(fromAbsoluteOffset: 0, into: $0) }
            #expect(String(decoding: bytes.prefix(length), as: UTF8.self) == "the first one")
            try mounted.store.pass(["rm", "--force", "a"])
            let again = try bytes.withUnsafeMutableBytes { try reader.read(fromAbsoluteOffset: 4, into: $0) }
            #expect(String(decoding: bytes.prefix(again), as: UTF8.self) == "first one")
        }
    }

    /// Writes another content into a ciphertext itself, and gives it its modification time back: `rsync --inplace -t`,
    /// `cp -p`, tools that restore the times of a checkout.
    private func rewriteInPlace(_ name: String, _ content: String, in mounted: Mounted) throws {
        try mounted.bash(
            """
            set -e; cd "$S"; gpg -q --batch --yes -z 0 -o new.tmp -e -r "$(cat .gpg-id)" <<<'\(content)'
            [[ $(stat -c %s new.tmp) == $(stat -c %s \(name).gpg) ]]
            touch -r \(name).gpg time.tmp; cat new.tmp >\(name).gpg; touch -r time.tmp \(name).gpg; rm new.tmp time.tmp
            """)
    }

    /// Only the change time tells of what was written in place with its times put back: the latest content is read all the same,
    /// and nothing of it is lost.
    @Test func whatIsWrittenInPlaceWithItsTimesIsSeen() throws {
        try Mounted.with { mounted in
            let key = try mounted.bash("cat \"$S/.gpg-id\"").filter { !$0.isNewline }
            for name in ["read", "added", "edited"] {
                try mounted.bash("gpg -q --batch -z 0 -o \"$S/\(name).gpg\" -e -r \(key) <<<first")
                #expect(try mounted.read(name) == "first\n")
                #expect(try mounted.read(name) == "first\n")
            }
            let reader = try FileDescriptor.open(mounted.folder.appending("read"), .readOnly)
            defer { try? reader.close() }
            for name in ["read", "added"] { try rewriteInPlace(name, "other", in: mounted) }
            #expect(try mounted.read("read") == "other\n")
            #expect(try mounted.bash("cat read; passdir show $(basename $PWD)/read") == "other\nother\n")
            try mounted.bash("echo more >>added")
            #expect(try mounted.show("added") == "other\nmore\n")

            let writer = try FileDescriptor.open(mounted.folder.appending("edited"), .readWrite)
            try rewriteInPlace("edited", "other", in: mounted)
            _ = try writer.writeAll("mine!".utf8)
            try writer.close()
            #expect(try mounted.show("edited") == "mine!\n")
            let kept = try #require(try mounted.names().first { $0.hasPrefix("edited.conflict-") })
            #expect(try mounted.show(kept) == "other\n")
        }
    }

    /// Somebody looks at it between the change and the save.
    /// Holds:
    /// - What is written to a secret that others replaced or removed on disk since it was opened is saved under its name.
    @Test(.slow, arguments: ["cat", "mv", "rm", "mkdir", "rm -r"])
    func whatIsWrittenBehindALookIsSaved(_ change: String) throws {
        try Mounted.with { mounted in
            let store = mounted.store
            for (name, text) in [("d/a", "old"), ("d/other", "other")] { try store.insert(name, text) }
            let file = mounted.folder.appending("d/a")
            let writer = try FileDescriptor.open(file, .readWrite)
            #expect(try mounted.bash("cat d/a") == "old")
            switch change {
            case "cat": try mounted.bash("cat \"$S/d/other.gpg\" >\"$S/d/a.gpg\"")
            case "mv": try mounted.bash("mv \"$S/d/other.gpg\" \"$S/d/a.gpg\"")
            case "rm": try mounted.bash("rm \"$S/d/a.gpg\"")
            case "rm -r": try mounted.bash("rm -r \"$S/d\"")
            default: try mounted.bash("mkdir \"$S/d/a\"; mv \"$S/d/other.gpg\" \"$S/d/a\"")
            }
            // Both behind the 50 ms for which the kernel goes on with names.
            let looked = try mounted.run("sleep 0.1; ls -l . d; cat d/a; sleep 0.1; ls -l . d; cat d/a")
            #expect(looked.output.hasSuffix("other") == ["cat", "mv"].contains(change), "\(looked)")
            _ = try writer.writeAll("new".utf8)
            if change == "rm -r" {
                // There is no folder for it. It is kept until there is.
                #expect(throws: Errno.noSuchFileOrDirectory) { try writer.close() }
                #expect(try mounted.run("passdir status").output.contains("d/a is not saved"))
                try mounted.bash("mkdir \"$S/d\"; touch -r \"$S\" d/a")
            } else {
                try writer.close()
            }
            let names = try mounted.names(in: "d").filter { $0.hasPrefix("a") }
            let texts = try names.filter { $0 != "a" || change != "mkdir" }.map {
                try mounted.read("d/" + $0)
            }
            switch change {
            case "cat", "mv": #expect(texts.sorted() == ["new", "other"] && names.contains("a"), "\(names)")
            case "rm", "rm -r": #expect(names == ["a"] && texts == ["new"])
            default:
                #expect(texts.contains("new") && names.contains("a"), "\(names) \(texts)")
                #expect(try mounted.read("d/a/other") == "other")
            }
            try mounted.waitUntilCommitted()
        }
    }

    /// A ciphertext that only got another link or mode is the same: what is being edited is no conflict with it.
    @Test func whatOnlyGotALinkIsReadOn() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("a", "one")
            #expect(try mounted.read("a") == "one")
            try mounted.bash("ln \"$S/a.gpg\" \"$S/../link\"; chmod 640 \"$S/a.gpg\"")
            #expect(try mounted.read("a") == "one")
            try mounted.save("two", to: "a")
            #expect(try mounted.show("a") == "two")
            #expect(try mounted.names() == [".gitattributes", ".gpg-id", "a"])
        }
    }

    /// Holds:
    /// - A secret that was changed outside since it was opened is not lost when the older one is saved: it is kept
    ///   beside it as `NAME.conflict-HOST-TIME`.
    @Test(.slow) func savingOverAnotherVersionKeepsBoth() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("d/a", "old")
            let start = try mounted.head()
            let writer = try FileDescriptor.open(mounted.folder.appending("d/a"), .readWrite)
            // Before the write: a program that is started closes copies of our descriptors, and a close saves.
            try mounted.store.insert("d/a", "theirs")
            _ = try writer.writeAll("our".utf8)
            try writer.close()
            #expect(try mounted.show("d/a") == "our")
            let names = try mounted.names(in: "d")
            try #require(names.count == 2)
            #expect(names[1].wholeMatch(of: #/a\.conflict-[A-Za-z0-9-]+-\d{8}T\d{6}Z/#) != nil, "\(names)")
            #expect(try mounted.show("d/\(names[1])") == "theirs")
            #expect(try mounted.read("d/\(names[1])") == "theirs")
            try mounted.waitUntilCommitted()
            #expect(try mounted.store.git("status", "--porcelain") == "")
            #expect(try mounted.subjects(since: start).last == "Change 2 secrets.")
        }
    }

    /// Holds:
    /// - A secret that is truncated when it is opened is saved over whatever lies there then, as by a shell's `>`.
    @Test func aNewContentReplacesTheLatest() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("a", "old")
            #expect(try mounted.read("a") == "old")
            try mounted.store.insert("a", "newer")
            try mounted.save("newest", to: "a")
            #expect(try mounted.show("a") == "newest")
            #expect(try mounted.names() == [".gitattributes", ".gpg-id", "a"])
        }
    }
}
