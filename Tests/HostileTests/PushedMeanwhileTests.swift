import Glibc
import SystemPackage
import TestKit
import Testing

/// What others push while a change of recipients is being decided on, or made.
@Suite struct PushedMeanwhileTests {
    /// A store with `prod`, which is Ann's alone, and `team`.
    private func with(_ team: String = "", _ body: (SharedStore) throws -> Void) throws {
        try SharedStore.with { shared in
            try shared.push(
                """
                mkdir prod team; cp a.gpg prod/p1.gpg; cp sub/b.gpg prod/p2.gpg
                for name in t1 t2 t3; do cp a.gpg team/$name.gpg; done
                \(team)
                """)
            try body(shared)
        }
    }

    /// What Eve does at once in her clone, and how Ann's machine gets it.
    private func pushed(
        _ script: String, _ shared: SharedStore, pull: String = "git pull -q --ff-only"
    ) -> String {
        """
        export ANN=\(shared.ann.fingerprint) BOB=\(shared.bob.fingerprint) EVE=\(shared.eve.fingerprint)
        cd \(shared.home.path("theirs")); git pull -q --rebase
        \(script)
        git add -A -f; git commit -qm Change.; git push -q
        cd \(shared.store.path); \(pull)
        """
    }

    private struct Attack: Sendable, CustomTestStringConvertible {
        var team = ""
        var words: String
        var script: String
        var refusal = "have just changed"
        var pull = "git pull -q --ff-only"
        var testDescription: String { "\(words): \(script)" }
    }

    /// Holds:
    /// - A change of recipients is made only of what was shown: if the list or the secrets of the folder change by a
    ///   push before you answer, it is refused and nothing is changed.
    @Test(
        .slow,
        arguments: [
            Attack(
                words: "set work/team ANN EVE",
                script: "git mv prod/p1.gpg team/zz1.gpg; git mv prod/p2.gpg team/zz2.gpg",
                refusal: "team/zz1.gpg and 1 more was just added to work/team"),
            Attack(
                words: "set work/team ANN EVE", script: "git mv prod/p1.gpg team/zz1.gpg",
                refusal: "was just added to work/team",
                pull: "passdir sync work"),
            Attack(
                words: "set work/team ANN EVE", script: "git mv -f prod/p2.gpg team/t2.gpg",
                refusal: "team/t2.gpg was just added to"),
            // By a URL that is no remote here.
            Attack(
                words: "add work/team EVE", script: "git mv prod/p1.gpg team/zz1.gpg",
                refusal: "team/zz1.gpg", pull: "git pull -q --ff-only \"$(git remote get-url origin)\" HEAD"),
            // Somebody pushes again, so that the last tip no longer has it, and that is not taken in.
            Attack(
                words: "add work/team EVE", script: "git mv prod/p1.gpg team/zz1.gpg",
                refusal: "team/zz1.gpg",
                pull: """
                    git pull -q --ff-only
                    cd ../theirs; git rm -q team/zz1.gpg; git commit -qm Gone.; git push -q
                    cd ../work; git fetch -q
                    """
            ),
            Attack(
                team: "printf '%s\\n' $ANN $EVE >.gpg-id", words: "add work BOB", script: "echo $ANN >.gpg-id"
            ),
            Attack(
                team: "printf '%s\\n' $ANN $EVE >.gpg-id", words: "add work/team BOB",
                script: "echo $ANN >.gpg-id"),
            Attack(
                team: "printf '%s\\n' $ANN $EVE >.gpg-id", words: "add work/team BOB",
                script: "echo $ANN >team/.gpg-id"),
        ])
    private func beforeTheAnswer(_ attack: Attack) throws {
        try with(attack.team) { shared in
            if !attack.team.isEmpty { try shared.succeed(["recipients", "confirm", "work", "--yes"]) }
            let home = shared.home
            let isSynced = attack.pull.contains("passdir")
            if isSynced { try home.mount() }
            let keys = ["ANN": shared.ann, "BOB": shared.bob, "EVE": shared.eve]
            let words = attack.words.split(separator: " ").map { keys[String($0)]?.fingerprint ?? String($0) }
            let result = try home.onTerminal(
                ["passdir", "recipients"] + words,
                [
                    TerminalStep(
                        at: "Continue? [y/N] ", run: pushed(attack.script, shared, pull: attack.pull),
                        type: "y\n")
                ])
            if isSynced { try home.unmount() }
            #expect(result.exitCode == 1, "\(result.output) \(result.errors)")
            #expect(result.output.contains(attack.refusal), "\(result.output)")
            #expect(result.output.contains("othing was changed"), "\(result.output)")
            #expect(try shared.secrets(for: shared.eve) == [])
            #expect(try shared.secrets(for: shared.bob) == [])
            #expect(try shared.store.git("status", "--porcelain") == "")
            #expect(access(shared.store.path.appending(".passdir-reencrypt").string, F_OK) != 0)
        }
    }

    /// Holds:
    /// - A secret that others bring into a folder while its recipients change gets none of the new readers: the command
    ///   names it, and `recipients check --fix` shows it and asks.
    @Test(.slow, arguments: ["recipients.placed-one", "recipients.planned"]) func whileItIsInterrupted(
        _ fault: String
    ) throws {
        try with { shared in
            let home = shared.home
            let killed = try home.run(
                [
                    "passdir", "recipients", "set", "work/team", shared.ann.fingerprint,
                    shared.eve.fingerprint, "--yes",
                ],
                extra: ["PASSDIR_FAULT": fault])
            #expect(killed.exitCode == 128 + SIGKILL, "\(killed.errors)")
            let script = pushed(
                "git mv prod/p1.gpg team/zz1.gpg; git mv -f prod/p2.gpg team/t3.gpg", shared)
            try home.succeed(["sh", "-ec", script])
            // Ann's own save, beside it.
            try shared.store.insert("team/mine", "three")
            let resumed = try shared.run(["recipients", "resume", "work", "--yes"])
            #expect(resumed.exitCode == 0, "\(resumed.errors)")
            for name in ["team/zz1.gpg", "team/t3.gpg"] {
                #expect(resumed.errors.contains("someone else added it after you were asked: \(name)"))
            }
            #expect(resumed.errors.contains("passdir recipients check --fix work/team"), "\(resumed.errors)")
            let readable = ["./team/mine.gpg", "./team/t1.gpg", "./team/t2.gpg"]
            #expect(try shared.secrets(for: shared.eve) == readable)
            #expect(try shared.store.git("status", "--porcelain") == "")

            // What is mended is shown before, and is what was shown.
            let later = pushed("git mv sub/b.gpg team/later.gpg; git mv -f a.gpg team/t3.gpg", shared)
            let no = try shared.onTerminal(["recipients", "check", "--fix", "work"], answers: "n\n")
            #expect(no.exitCode == 1 && no.output.contains("othing was changed"), "\(no.output)")
            #expect(no.output.contains("to be re-encrypted for ann <ann@example.org> ("))
            #expect(no.output.contains(", eve <eve@example.org> (") && no.output.contains("\n  team/zz1\n"))
            #expect(try shared.secrets(for: shared.eve) == readable)
            try shared.store.git("push", "--quiet")
            let yes = try home.onTerminal(
                ["passdir", "recipients", "check", "--fix", "work"],
                [TerminalStep(at: "Continue? [y/N] ", run: later, type: "y\n")])
            #expect(yes.exitCode == 1 && yes.output.contains("1 secret re-encrypted"), "\(yes.output)")
            #expect(yes.output.contains("after you were asked: team/t3.gpg"), "\(yes.output)")
            #expect(try shared.secrets(for: shared.eve) == readable + ["./team/zz1.gpg"])
        }
    }

    /// A reader whom somebody took out of the list meanwhile gets nothing again.
    @Test func aListThatChangesWhileItIsInterrupted() throws {
        try with("printf '%s\\n' $ANN $EVE >.gpg-id") { shared in
            try shared.succeed(["recipients", "confirm", "work", "--yes"])
            let killed = try shared.home.run(
                ["passdir", "recipients", "add", "work/team", shared.bob.fingerprint, "--yes"],
                extra: ["PASSDIR_FAULT": "recipients.planned"])
            #expect(killed.exitCode == 128 + SIGKILL, "\(killed.errors)")
            try shared.home.succeed(["sh", "-ec", pushed("echo $ANN >.gpg-id", shared)])
            let resumed = try shared.run(["recipients", "resume", "work", "--yes"])
            #expect(
                resumed.exitCode == 1 && resumed.errors.contains("changed by someone else"),
                "\(resumed.errors)")
            try shared.succeed(["recipients", "abort", "work"])
            #expect(try shared.secrets(for: shared.eve) == [])
            #expect(try shared.secrets(for: shared.bob) == [])
        }
    }
}
