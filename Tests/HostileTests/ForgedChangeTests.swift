import Glibc
import SystemPackage
import TestKit
import Testing

/// What is pushed under the name of the staging folder steers nothing.
@Suite struct ForgedChangeTests {
    /// The journal as passdir once read it from the working tree.
    private static let journal =
        "{ printf 'passdir change of recipients 1\\0%s\\0f\\0\\0%s\\0-\\0a.gpg\\0sub/b.gpg\\0end\\0' \"$PHASE\" 'Change.\n'; }"

    /// What Eve pushes.
    ///
    /// Holds:
    /// - What is pushed under the name of the staging folder is never used.
    @Test(
        .slow,
        arguments: ["staging", "placing", "committing", "finished"].map { phase in
            """
            PHASE=\(phase); mkdir .passdir-reencrypt; \(journal) >.passdir-reencrypt/journal
            printf '%s\\n' $ANN $EVE >.passdir-reencrypt/recipients-new; cp .gpg-id .passdir-reencrypt/recipients-old
            """
        } + [
            "PHASE=placing; mkdir r; \(journal) >r/journal; echo $EVE >r/recipients-new; cp .gpg-id r/recipients-old; ln -s r .passdir-reencrypt",
            "ln -s / .passdir-reencrypt", "ln -s nothing .passdir-reencrypt", "echo >.passdir-reencrypt",
            "mkdir .passdir-reencrypt; ln -s ../a.gpg .passdir-reencrypt/part-0; ln -s ../a.gpg .passdir-reencrypt/.gitignore",
            "mkdir -p .passdir-reencrypt/journal; echo >.passdir-reencrypt/journal/x",
        ],
        [true, false])
    func whatIsPushedIsNoChange(_ script: String, _ isConfirmed: Bool) throws {
        try SharedStore.with { shared in
            let home = shared.home
            if !isConfirmed {
                try home.succeed([
                    "git", "config", "-f", home.path("config/passdir/config").string, "recipients.confirm",
                    "false",
                ])
            }
            try shared.push(script)
            let before = try state(shared)
            for words in [["resume", "work", "--yes"], ["resume", "work"], ["abort", "work"]] {
                let result = try shared.run(["recipients"] + words)
                #expect(result.exitCode == 1, "\(words) \(result.output)")
                #expect(
                    result.errors.contains("not created by a change of recipients on this machine"),
                    "\(result.errors)")
            }
            let begun = try shared.run(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
            #expect(begun.exitCode == 1 && begun.errors.contains(".passdir-reencrypt"), "\(begun.errors)")
            #expect(try state(shared) == before)
            try home.mount()
            #expect(try home.text(of: "mnt/work/a") == "one")
            #expect(try home.passdir("status").output.contains(".passdir-reencrypt"))
            try home.unmount()
            #expect(try shared.secrets(for: shared.eve) == [])
            // Without it everything goes on.
            try home.succeed(["rm", "-rf", shared.store.path.appending(".passdir-reencrypt").string])
            #expect(
                try shared.run(["recipients", "add", "work", shared.bob.fingerprint, "--yes"]).exitCode == 0)
        }
    }

    /// Files that a push puts beside those of a change that this machine is making.
    @Test(.slow, arguments: ["resume", "abort"]) func whatIsPutIntoTheFolderMeanwhileIsNotUsed(_ end: String)
        throws
    {
        try SharedStore.with { shared in
            let home = shared.home
            let killed = try home.run(
                ["passdir", "recipients", "add", "work", shared.bob.fingerprint, "--yes"],
                extra: ["PASSDIR_FAULT": "recipients.placed-one"])
            #expect(killed.exitCode == 128 + SIGKILL)
            // As good as a forger can: names of the right form, a list, a journal, links.
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    cd .passdir-reencrypt
                    for name in *_*_*; do
                      stat=$(stat -c '%i.%s.%Y' ../sub/b.gpg)
                      cp ../a.gpg "7_${stat}.0_${stat}.0"
                    done
                    echo $EVE >recipients-new; echo $EVE >recipients-old; echo x >journal
                    ln -s ../sub/b.gpg part-1; ln ../sub/b.gpg part-0
                    """,
                ], in: shared.store.path, extra: ["EVE": shared.eve.fingerprint])
            let words = end == "resume" ? [end, "work", "--yes"] : [end, "work"]
            let result = try shared.run(["recipients"] + words)
            #expect(result.exitCode == 0, "\(result.errors)")
            let (ann, bob) = (shared.ann.fingerprint, shared.bob.fingerprint)
            #expect(try home.text(of: "work/.gpg-id") == (end == "resume" ? "\(ann)\n\(bob)\n" : "\(ann)\n"))
            #expect(try shared.secrets(for: shared.bob).count == (end == "resume" ? 2 : 0))
            #expect(try shared.secrets(for: shared.eve) == [])
            #expect(String(decoding: try shared.store.show("sub/b"), as: UTF8.self) == "two")
        }
    }

    /// Resuming says what it does, and asks.
    ///
    /// Holds:
    /// - An interrupted change of recipients uses only files that this machine noted, and goes on only after
    ///   it has shown whom it adds and removes.
    @Test func resumingShowsWhoComesAndAsks() throws {
        try SharedStore.with { shared in
            let killed = try shared.home.run(
                ["passdir", "recipients", "add", "work", shared.bob.fingerprint, "--yes"],
                extra: ["PASSDIR_FAULT": "recipients.placed-one"])
            #expect(killed.exitCode == 128 + SIGKILL)
            let refused = try shared.run(["recipients", "resume", "work"])
            #expect(refused.exitCode == 1 && refused.errors.contains("--yes"), "\(refused.errors)")
            #expect(refused.output.contains("+ bob <bob@example.org> (\(shared.bob.fingerprint))"))
            let no = try shared.onTerminal(["recipients", "resume", "work"], answers: "n\n")
            #expect(no.output.contains("+ bob"))
            #expect(try shared.home.text(of: "work/.gpg-id") == shared.ann.fingerprint + "\n")
            // Somebody else has changed the list meanwhile.
            try shared.home.write("\(shared.eve.fingerprint)\n", to: "work/.gpg-id")
            let foreign = try shared.run(["recipients", "resume", "work", "--yes"])
            #expect(
                foreign.exitCode == 1 && foreign.errors.contains("changed by someone else"),
                "\(foreign.errors)")
            #expect(try shared.run(["recipients", "abort", "work"]).exitCode == 0)
            #expect(try shared.home.text(of: "work/.gpg-id") == shared.eve.fingerprint + "\n")
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    private func state(_ shared: SharedStore) throws -> String {
        let script =
            "find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; git rev-parse HEAD; git status --porcelain"
        return String(
            decoding: try shared.home.succeed(["sh", "-c", script], in: shared.store.path), as: UTF8.self)
    }
}
