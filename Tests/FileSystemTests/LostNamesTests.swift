import Glibc
import SystemPackage
import TestKit
import Testing

/// What a program has open for writing while others replace or remove it on disk, and somebody looks there: its text is saved
/// where it was, beside it, or told of.
@Suite struct LostNamesTests {
    /// Opens `d/e/x` for writing in a store that also has `d/e/other`.
    private func withWriter(_ body: (Mounted, FileDescriptor) throws -> Void) throws {
        try Mounted.with { mounted in
            for name in ["x", "other"] { try mounted.store.insert("d/e/" + name, name) }
            let writer = try FileDescriptor.open(mounted.folder.pushing("d/e/x"), .readWrite)
            try body(mounted, writer)
        }
    }

    /// Behind the 50 ms for which the kernel goes on with names.
    private func look(_ mounted: Mounted) throws {
        _ = try mounted.run("sleep 0.1; ls -lR .; cat d/e/x; stat d/e")
    }

    private func saveFails(_ writer: FileDescriptor, in mounted: Mounted) throws {
        #expect(throws: Errno.noSuchFileOrDirectory) { try writer.close() }
        #expect(try mounted.run("passdir status").output.contains("d/e/x is not saved"))
    }

    /// Its folder is there again.
    private func isSavedNow(_ text: String, in mounted: Mounted) throws {
        try mounted.bash("mkdir -p \"$S/d/e\"; touch -r \"$S\" d/e/x")
        #expect(try mounted.read("d/e/x") == text && mounted.show("d/e/x") == text)
        #expect(try !mounted.run("passdir status").output.contains("not saved"))
    }

    @Test(.slow, arguments: [false, true])
    func nothingTakesThePlaceOfItsFolder(wasReplaced: Bool) throws {
        try withWriter { mounted, writer in
            if wasReplaced {
                try mounted.bash("mv \"$S/d/e/other.gpg\" \"$S/d/e/x.gpg\"")
                try look(mounted)
            }
            try mounted.bash("rm -r \"$S/d/e\"")
            try look(mounted)
            _ = try writer.writeAll("text".utf8)
            try saveFails(writer, in: mounted)
            for (deed, errno) in [
                ("echo F >d/e", "busy"), ("ln -s y d/e", "busy"), ("rmdir d", "not empty"),
            ] {
                let done = try mounted.run(deed)
                #expect(done.exitCode != 0 && done.errors.contains(errno), "\(deed): \(done)")
            }
            try isSavedNow("text", in: mounted)
        }
    }

    @Test(.slow, arguments: ["mkdir d/e/x", "ln -s other d/e/x", "mv d/e/other d/e/x", "echo new >d/e/x"])
    func whatTakesItsNameLiesBesideIt(_ deed: String) throws {
        try withWriter { mounted, writer in
            try mounted.bash("rm \"$S/d/e/x.gpg\"")
            try look(mounted)
            try mounted.bash(deed)
            _ = try writer.writeAll("text".utf8)
            try writer.close()
            let names = try mounted.names(in: "d/e").filter { $0.hasPrefix("x") }
            let texts = names.compactMap { try? mounted.read("d/e/" + $0) }
            #expect(names.count == 2 && texts.contains("text"), "\(names) \(texts)")
            #expect(!deed.hasPrefix("mv") || texts.contains("other"))
            #expect(!deed.hasPrefix("echo") || texts.contains("new\n"))
            try mounted.waitUntilCommitted()
        }
    }

    /// Otherwise who has it open could read there what others save.
    @Test func itsFolderIsNotMovedToWhereOtherRulesApply() throws {
        try withWriter { mounted, writer in
            let store = try #require(mounted.folder.lastComponent).string
            try mounted.bash("mkdir priv; passdir access set \(store)/priv /usr/bin/perl --deny")
            func move() -> CInt {
                rename(
                    mounted.folder.pushing("d/e").string, mounted.folder.pushing("priv/e").string) == 0
                    ? 0 : errno
            }
            #expect(move() == EXDEV)
            try mounted.bash("mv \"$S/d/e/other.gpg\" \"$S/d/e/x.gpg\"")
            try look(mounted)
            #expect(move() == EXDEV)
            try writer.close()
        }
    }
}
