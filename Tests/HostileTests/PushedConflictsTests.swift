import Glibc
import SystemPackage
import TestKit
import Testing

/// What others push under names of files that mean something to git or to passdir, to be put in their place by a command.
@Suite struct PushedConflictsTests {
    /// Holds:
    /// - A pushed file that is called a conflict of `.git` is none: nothing settles it into the place of the file that says
    ///   where the repository is.
    @Test(.slow) func aConflictOfGitsOwnFolderIsNone() throws {
        try SharedStore.with { shared in
            let elsewhere = shared.home.path("elsewhere").string
            try shared.store.git("init", "--quiet", "--separate-git-dir", elsewhere)
            try shared.push("echo 'gitdir: eg/g' > .git.conflict-a-1; cp .git.conflict-a-1 .GIT.conflict-a-1")
            let pointer = try shared.home.text(of: "work/.git")
            #expect(pointer.contains(elsewhere))

            #expect(try shared.succeed(["conflicts"]) == "")
            for name in [".git", ".GIT"] {
                let settled = try shared.run([
                    "conflicts", "settle", "work/\(name).conflict-a-1", "--keep", "conflict",
                ])
                #expect(settled.exitCode == 1, "\(settled.errors)")
            }
            #expect(try shared.home.text(of: "work/.git") == pointer)
        }
    }

    /// Holds:
    /// - Nor does a pushed version of a list of recipients, or of a file that steers git, take its place by a choice of
    ///   versions; the one that is there stays by one.
    @Test(.slow, arguments: [".gpg-id", "sub/.gpg-id", ".gitattributes", "sub/.gitignore"])
    func aConflictOfAListIsNotSettledAsAVersion(_ file: String) throws {
        try SharedStore.with { shared in
            let conflict = "\(file).conflict-host-20261124T210900Z"
            try shared.push(
                """
                echo "$ANN" > sub/.gpg-id; echo '*.tmp' > .gitattributes; echo x.tmp > sub/.gitignore
                printf '%s\\n' "$ANN" "$EVE" > \(conflict)
                """)
            let before = try shared.home.text(of: "work/\(file)")
            let settle = ["conflicts", "settle", "work/\(conflict)", "--keep"]

            let refused = try shared.run(settle + ["conflict"])
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("work/\(file) "), "\(refused.errors)")
            #expect(refused.errors.contains("--keep named"), "\(refused.errors)")
            #expect(try shared.home.text(of: "work/\(file)") == before)
            #expect(try shared.home.text(of: "work/\(conflict)").contains(shared.eve.fingerprint))

            try shared.succeed(settle + ["named"])
            #expect(try shared.home.text(of: "work/\(file)") == before)
            #expect(access(shared.home.path("work/\(conflict)").string, F_OK) != 0)
        }
    }

    /// Holds:
    /// - A restored folder gets no file of a name that none is taken in under.
    @Test(.slow) func whatIsNotTakenInIsNotRestored() throws {
        try SharedStore.with { shared in
            try shared.push(
                "mkdir -p dir/.passdir-z; for n in x .passdir-y .passdir-z/a; do cp a.gpg dir/$n.gpg; done")
            let then = try shared.store.git("rev-parse", "HEAD")
            try shared.push("rm -r dir")
            try shared.succeed(["restore", "work/dir", "--at", then.trimmingLines])
            #expect(
                String(decoding: try shared.home.succeed(["find", "work/dir", "-type", "f"]), as: UTF8.self)
                    == "work/dir/x.gpg\n")
            let one = try shared.run(["restore", "work/dir/.passdir-y", "--at", then.trimmingLines])
            #expect(one.exitCode == 1 && one.errors.contains("cannot be restored"), "\(one.errors)")
        }
    }

    /// Holds:
    /// - A secret that is damaged or larger than `limits.secret` keeps `unlock` neither from the others of its list nor from
    ///   other stores; where none can be read one is named.
    @Test(.slow) func damagedSecretsDoNotKeepUnlockFromTheRest() throws {
        try SharedStore.with { shared in
            let other = try shared.home.makeStore("zother", recipients: [shared.ann])
            try other.insert("c", "three")
            try shared.home.addStores([other])
            let damage = { (name: String) in "head -c -5 a.gpg > \(name).gpg; printf 'xxxxx' >> \(name).gpg" }
            // More than are tried of a list where each takes long.
            try shared.push("for n in $(seq 10 50); do \(damage("0$n")); done")
            #expect(try shared.succeed(["unlock"]) == "")

            try shared.push("mkdir new; cp .gpg-id new\n\(damage("new/1"))")
            let result = try shared.run(["unlock"])
            #expect(result.exitCode == 1 && result.errors.contains("work/new/1: "), "\(result.errors)")
            let named = try shared.run(["unlock", "work"])
            #expect(named.exitCode == 1 && named.errors.contains("work/new/1: "), "\(named.errors)")
            try shared.succeed(["unlock", "zother"])
        }
    }

    @Test(.slow) func secretsThatAreTooLargeDoNotKeepUnlockFromTheRest() throws {
        try SharedStore.with { shared in
            let file = shared.home.path("config/passdir/config").string
            try shared.home.succeed(["git", "config", "-f", file, "limits.secret", "64k"])
            let large = { (name: String, option: String) in
                "head -c 3000000 /dev/zero | gpg --batch --trust-model always --compress-algo none \(option) "
                    + "-r $ANN -o \(name).gpg -e"
            }
            // They come first of all.
            let names = (10..<40).map { "\($0)" }
            let copies = names.map { "cp 0.gpg \($0).gpg" }.joined(separator: "\n")
            try shared.push("\(large("0", ""))\n\(copies)\n\(large("00", "--armor"))")
            #expect(try shared.succeed(["unlock"]) == "")

            try shared.push("mkdir new; cp .gpg-id 00.gpg new")
            let result = try shared.run(["unlock"])
            #expect(result.exitCode == 1, "\(result.errors)")
            #expect(result.errors.contains("work/new/00: "), "\(result.errors)")
            #expect(result.errors.contains("limits.secret (65536 bytes)"), "\(result.errors)")
        }
    }

    /// gpg asks for the passphrase of a message before it tries a key, where that comes first in the message.
    @Test func aPassphraseOfAMessageIsNotAskedForToUnlock() throws {
        try SharedStore.with { shared in
            let pinentry = try shared.home.usePinentry(.cancel)
            try shared.push(
                #"""
                printf x | gpg --batch --trust-model always --pinentry-mode loopback --passphrase sesame -r $ANN -o m -c -e
                n=$(($(od -An -tu1 -j1 -N1 m) + 2))
                k=$(($(od -An -tu1 -j$((n + 1)) -N1 m) + 2))
                { tail -c +$((n + 1)) m | head -c $k; head -c $n m; tail -c +$((n + k + 1)) m; } >0.gpg
                rm m
                """#)
            #expect(try shared.succeed(["unlock"]) == "")
            #expect(pinentry.promptCount() == 0)
        }
    }
}

extension String {
    fileprivate var trimmingLines: String { filter { $0 != "\n" } }
}
