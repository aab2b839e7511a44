import Glibc
import SystemPackage
import TestKit
import Testing

/// Saves by rename, in every shape that editors have: one commit each, and a crash in between loses nothing.
@Suite struct RenameShapeTests {
    private static let new = #"printf '%s uno\ntwo\n' $MARK"#

    private static let shapes = [
        SaveCase("scratch to real", "\(new) >f~; mv f~ f"),
        SaveCase("unknown temporary name to real", "\(new) >f.tmp123; mv f.tmp123 f"),
        SaveCase("real to backup, new real", "mv f f~; \(new) >f"),
        SaveCase("real to backup, new real, backup removed", "mv f f~; \(new) >f; rm f~"),
        SaveCase(
            "JetBrains", "\(new) >f___jb_tmp___; mv f f___jb_old___; mv f___jb_tmp___ f; rm f___jb_old___"),
        SaveCase("helix", "mv f fAbC123.bck; \(new) >f; sync f; rm fAbC123.bck"),
        SaveCase("GNOME", "\(new) >.goutputstream-AbC123; mv .goutputstream-AbC123 f"),
        SaveCase("backup of the last save replaced", "echo old >f~; mv f f~; \(new) >f; grep -q one f~"),
        SaveCase(
            "exchange",
            """
            \(new) >g; /usr/bin/python3 -B -c "import sys; sys.path.insert(0, '\(Programs.path(""))'); import calls
            calls.renameat2('f', 'g', calls.RENAME_EXCHANGE)"; rm g
            """),
        SaveCase("real to backup and back", "mv f f~; mv f~ f", after: "one\ntwo\n", subjects: []),
        SaveCase("real to backup, changed and back", "mv f f~; \(new) >f~; mv f~ f"),
        SaveCase("backup taken back over a new one", "mv f f~; echo x >f; mv f~ f", after: "one\ntwo\n"),
    ]

    /// Holds:
    /// - A save by rename is one commit of the secret, in every shape: a temporary file renamed to it, the secret
    ///   renamed to a backup and written anew, both, or the two exchanged.
    @Test(.slow) func everyShapeIsOneEdit() throws {
        try Mounted.with { mounted in
            for shape in Self.shapes { try mounted.check(shape) }
            try mounted.checkNothingElse()
        }
    }

    /// Holds:
    /// - A secret that is renamed to a scratch name is removed when no new one has come within `mount.grace`; until
    ///   then its ciphertext stays on disk.
    @Test(.slow) func aSecretThatStaysABackupIsRemovedWhenTheGraceIsOver() throws {
        try Mounted.with(["mount.grace": "1500ms"]) { mounted in
            let start = try mounted.prepare()
            try mounted.bash("cd e; mv f f~; ls -A | grep -qx f~; ! [ -e f ]; cat f~")
            #expect(try mounted.backingFiles() == ["e/f.gpg"], "the ciphertext waits")
            #expect(try mounted.names(in: "e") == ["f~"])
            try mounted.home.waitUntil("the ciphertext is removed") { try mounted.backingFiles() == [] }
            try mounted.home.waitUntil("the removal is committed") {
                try mounted.subjects(since: start) == ["Remove e/f from store."]
            }
            #expect(try mounted.read("e/f~") == "\(mounted.marker) one\ntwo\n")
            // From then on it is a file as any other that is made.
            try mounted.bash("cd e; mv f~ f")
            #expect(try mounted.show("e/f") == "\(mounted.marker) one\ntwo\n")
        }
    }

    /// Holds:
    /// - A crash, or an unmount, within `mount.grace` of that loses nothing: the secret is there again.
    @Test(.slow) func aCrashWithinTheGraceLosesNothing() throws {
        try Mounted.with { mounted in
            _ = try mounted.prepare()
            try mounted.bash("cd e; mv f f~")
            try mounted.home.killDaemon()
            try mounted.home.freeMount()
            try mounted.home.mount()
            #expect(try mounted.read("e/f") == "\(mounted.marker) one\ntwo\n")
            #expect(try mounted.names(in: "e") == ["f"])
            #expect(try mounted.store.git("status", "--porcelain") == "")
        }
    }

    /// The backup's name is gone with the mount: the secret must not go with it.
    @Test func unmountingWithinTheGraceLosesNothing() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            try mounted.bash("cd e; mv f f~")
            try mounted.home.unmount()
            #expect(try mounted.show("e/f") == "\(mounted.marker) one\ntwo\n")
            try mounted.home.mount()
            #expect(try mounted.read("e/f") == "\(mounted.marker) one\ntwo\n")
            #expect(try mounted.subjects(since: start) == [])
            #expect(try mounted.store.git("status", "--porcelain") == "")
        }
    }

    /// A program that writes the backup's name does not write the ciphertext that waits.
    /// Holds:
    /// - A directory from which secrets were renamed to scratch names can be removed and renamed at once.
    @Test(.slow) func directoriesWithWaitingCiphertextsCanBeRemovedAndRenamed() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            try mounted.bash("cd e; mv f f~; rm f~; cd ..; rmdir e; ! [ -e e ]")
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == ["Remove e/f from store."])
            _ = try mounted.prepare()
            try mounted.bash("cd e; mv f f~; cd ..; mv e d; ls -A d | grep -qx f~")
            try mounted.waitUntilCommitted()
            #expect(try mounted.backingFiles() == [])
        }
    }

    /// Holds:
    /// - A rename that meets the save of its own file leaves the new name only.
    @Test(.slow) func aRenameInTheMiddleOfTheSaveLeavesTheNewNameOnly() throws {
        let count = Soak.count(inSuite: 60)
        try Mounted.with(limit: .seconds(120 + count)) { mounted in
            try mounted.bash("mkdir r")
            try mounted.home.succeed(
                [
                    "/usr/bin/python3", "-B", Programs.path("renames.py"),
                    mounted.folder.appending("r").string, "\(count)",
                ], limit: .seconds(100 + count))
            #expect(try mounted.backingFiles() == [])
        }
    }
}
