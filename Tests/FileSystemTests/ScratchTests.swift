import Glibc
import SystemPackage
import TestKit
import Testing

/// Files of the names that editors give to files of their own live in memory only.
@Suite struct ScratchTests {
    /// A name for each pattern of `ScratchNames`.
    private static let names = [
        ".f.swp", ".f.swo", ".f.swpx", "f~", ".f.un~", ".#f", "#f#", ".goutputstream-AbC123", ".f.kate-swp",
        "fAbC123.bck", "f.vsctmp", "f___jb_tmp___", "f___jb_old___", ".~lock.f#", "lu12ab.tmp",
        ".syncthing.f.tmp", "~syncthing~f.tmp", ".unison.f.temp", ".fuse_hidden0001",
    ]

    /// Holds:
    /// - A file of a name that an editor gives to files of its own (the table in `ScratchNames`, and the patterns
    ///   of `mount.scratch`) lives in memory only: it is shown and can be used like any other, is never encrypted,
    ///   written to a disk or committed, and is gone when the mount is.
    @Test(.slow) func scratchFilesAreInMemoryOnly() throws {
        try Mounted.with(["mount.scratch": "*.part tmp-*"]) { mounted in
            let start = try mounted.head()
            let names = Self.names + ["f.part", "tmp-1"]
            try mounted.bash("mkdir e")
            for name in names { try mounted.save("\(mounted.marker) in \(name)\n", to: "e/\(name)") }
            for name in names { #expect(try mounted.read("e/\(name)") == "\(mounted.marker) in \(name)\n") }
            #expect(try mounted.names(in: "e") == names.sorted())
            #expect(
                try mounted.bash("sync e/* e/.[!.]*; getfattr -n user.passdir.state --only-values e/f~")
                    == "scratch")
            #expect(try mounted.backingFiles() == [])
            // A daemon that commits whatever changes needs a moment to.
            try mounted.save("real", to: "e/real")
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == ["Add given password for e/real to store."])
            #expect(try mounted.plaintext() == [])
            try mounted.home.unmount()
            #expect(try mounted.backingFiles() == ["e/real.gpg"])
            try mounted.home.mount()
            #expect(try mounted.names(in: "e") == ["real"])
            try mounted.checkNothingElse(names: ["e/real.gpg"])
        }
    }

    /// Holds:
    /// - Scratch files together take up to `limits.scratch` of memory, beyond that it is ENOSPC; a secret that
    ///   would become one where there is no room stays what it is.
    @Test(.slow) func scratchFilesHaveALimit() throws {
        try Mounted.with(["limits.scratch": "100k"]) { mounted in
            let result = try mounted.run("head -c 200k /dev/zero >.f.swp")
            #expect(result.errors.contains("No space left on device"), "\(result.errors)")
            // What is removed makes room, and secrets are not limited so.
            let script = """
                rm .f.swp; head -c 90k /dev/zero >.g.swp; head -c 200k /dev/zero >secret
                head -c 20k /dev/zero >.h.swp
                """
            #expect(try mounted.run(script).errors.contains("No space left on device"))
            #expect(
                try mounted.bash("rm .g.swp .h.swp; head -c 90k /dev/zero >.h.swp; stat -c %s secret .h.swp")
                    == "204800\n92160\n")
            // A secret that becomes a backup counts, too; where there is no room it stays what it is.
            #expect(try mounted.run("mv secret secret~").errors.contains("No space left on device"))
            #expect(try mounted.bash("stat -c %s secret") == "204800\n")
        }
    }

    /// vim makes and removes a file `4913` to see whether it can; somebody may call a secret so.
    /// Holds:
    /// - A file `4913` that is made and stays empty, as vim makes it to see whether it can, is not saved; one that
    ///   is written to is a secret.
    @Test(.slow) func aProbeIsNoSecretButASecretOfItsNameIs() throws {
        try Mounted.with { mounted in
            let start = try mounted.head()
            try mounted.bash("mkdir e; : >e/4913; ls e | grep -q 4913; rm e/4913")
            try mounted.bash("touch e/4913; rm e/4913")
            #expect(try mounted.backingFiles() == [])
            try mounted.save("\(mounted.marker) pin", to: "e/4913")
            #expect(try mounted.show("e/4913") == "\(mounted.marker) pin")
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == ["Add given password for e/4913 to store."])
            try mounted.save("", to: "e/4913")
            try mounted.home.waitUntil("the empty secret is saved") { try mounted.show("e/4913") == "" }
        }
    }

    /// A probe that its maker left is not waited for.
    @Test(.slow) func aProbeThatIsLeftHoldsNothingUp() throws {
        try Mounted.with { mounted in
            try mounted.bash("mkdir e; touch e/4913")
            let synced = try mounted.home.passdir("sync")
            #expect(synced.exitCode == 0 && synced.errors.isEmpty, "\(synced)")
            #expect(try !mounted.home.passdir("status", "--json").output.contains("4913"))
            #expect(try mounted.backingFiles() == [])
        }
    }

    /// The lock of emacs: a link that leads nowhere.
    /// Holds:
    /// - A symbolic link of a scratch name, such as the lock of emacs, may name anything without `/`, and lives in
    ///   memory only.
    @Test(.slow) func locksAreLinksInMemory() throws {
        try Mounted.with { mounted in
            try mounted.bash("ln -s me@host.123:456 .#f; [ $(readlink .#f) = me@host.123:456 ]")
            #expect(try mounted.names() == [".#f", ".gitattributes", ".gpg-id"].sorted())
            #expect(try mounted.run("ln -s me@host.1 .#f").exitCode != 0)
            #expect(try mounted.backingFiles() == [])
            #expect(try mounted.run("ln -s /etc/passwd .#g").errors.contains("not permitted"))
            try mounted.bash("rm .#f")
            #expect(try mounted.run("readlink .#f").exitCode != 0)
        }
    }
}
