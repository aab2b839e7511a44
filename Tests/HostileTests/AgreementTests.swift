import Glibc
import SystemPackage
import TestKit
import Testing

/// What agreeing and refusing do, and what is said while something waits for it.
@Suite struct AgreementTests {
    /// Holds:
    /// - `sync` says "in sync" of no store of which something is not saved, not committed, or left alone.
    @Test(
        .slow,
        arguments: ["a save", "a program that writes", "a list that is gone", "a change of recipients"])
    func whatIsNotInStepIsSaid(_ what: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            let expected: String
            try home.mount()
            var sync = "passdir sync work"
            switch what {
            case "a save":
                let errors = try home.save("two\n", to: [home.mountPoint.pushing("work/a")]) {
                    try shared.push("echo $EVE >>.gpg-id")
                }
                #expect(errors != [nil])
                expected = "a is not saved"
            case "a program that writes":
                // A program that forks would close a copy of the descriptor, which saves.
                sync = """
                    python3 -c 'import os, time
                    os.write(os.open("mnt/work/a", os.O_RDWR), b"two")
                    open("ready", "w")
                    time.sleep(60)' & writer=$!
                    while [ ! -e ready ]; do sleep 0.05; done
                    \(sync); code=$?; kill $writer; wait $writer; exit $code
                    """
                expected = "a is being written"
            case "a list that is gone":
                try home.succeed(["mv", "work/.gpg-id", "elsewhere"])
                expected = "left alone because it has no .gpg-id"
            default:
                let killed = try home.run(
                    ["passdir", "recipients", "add", "work", shared.bob.fingerprint, "--yes"],
                    extra: ["PASSDIR_FAULT": "recipients.placed-one"])
                #expect(killed.exitCode != 0)
                expected = "change of recipients"
            }
            let synced = try home.run(["sh", "-c", sync])
            #expect(synced.exitCode == 1 && !synced.output.contains("in sync"), "\(synced.output)")
            #expect(synced.errors.contains(expected), "\(synced.errors)")
            switch what {
            case "a save": try shared.succeed(["recipients", "remove", "work", "eve@example.org", "--yes"])
            case "a program that writes": break
            case "a list that is gone": try home.succeed(["mv", "elsewhere", "work/.gpg-id"])
            default: try shared.succeed(["recipients", "resume", "work", "--yes"])
            }
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            try home.unmount()
        }
    }

    /// The save is tried again by what makes it possible, and not a `save.retry` later.
    @Test(.slow, arguments: ["confirm", "remove", "set", "sync"])
    func aSaveThatWaitedIsMadeAtOnce(_ way: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.succeed(
                ["git", "config", "-f", home.path("config/passdir/config").string, "save.retry", "1h"])
            try home.mount()
            let errors = try home.save("two\n", to: [home.mountPoint.pushing("work/a")]) {
                try shared.push("echo $EVE >>.gpg-id")
            }
            #expect(errors != [nil])
            switch way {
            case "confirm": try shared.succeed(["recipients", "confirm", "work", "--yes"])
            case "remove":
                try shared.succeed(["recipients", "remove", "work", shared.eve.fingerprint, "--yes"])
            case "set": try shared.succeed(["recipients", "set", "work", shared.ann.fingerprint, "--yes"])
            default:
                // Eve has thought better of it.
                let theirs = home.path("theirs")
                try home.succeed(["git", "revert", "--no-edit", "HEAD"], in: theirs)
                try home.succeed(["git", "push", "--quiet"], in: theirs)
                let synced = try shared.run(["sync", "work"])
                #expect(synced.exitCode == 0, "\(synced.errors)")
            }
            #expect(try !home.passdir("status").output.contains("unsaved"))
            #expect(try shared.secrets(for: shared.eve) == (way == "confirm" ? ["./a.gpg"] : []))
            try home.unmount()
        }
    }

    /// `add` of a key that waits is the agreement to it.
    @Test(.slow) func whoeverAddsAKeyThatWaitsAgreesToIt() throws {
        try SharedStore.with { shared in
            // A new list for nothing yet: there is nothing to encrypt anew.
            try shared.push("mkdir team; printf '%s\\n' $ANN $EVE >team/.gpg-id")
            let words = ["recipients", "add", "work/team", shared.eve.fingerprint]
            let no = try shared.onTerminal(words, answers: "n\n")
            #expect(no.exitCode == 1 && no.output.contains("eve <eve@example.org>"), "\(no.output)")
            #expect(no.output.contains("someone else") && no.output.contains("nothing was changed"))
            #expect(try shared.run(["recipients", "confirm", "work"]).output.contains("+ eve"))
            let yes = try shared.succeed(words + ["--yes"])
            #expect(yes.contains("eve <eve@example.org>") && !yes.contains("nothing to change"), "\(yes)")
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            // Nobody waits any more, and others are not agreed to in passing.
            #expect(try shared.succeed(words).contains("nothing to change"))
            try shared.push("echo $BOB >>team/.gpg-id")
            let other = try shared.run(words + ["--yes"])
            #expect(other.exitCode == 1 && other.errors.contains("bob <bob@example.org>"), "\(other.errors)")
        }
    }

    /// Holds:
    /// - A question that is not answered with yes changes nothing, says so and fails.
    @Test(.slow) func whoSaysNoIsToldThatNothingWasChanged() throws {
        try SharedStore.with { shared in
            let home = shared.home
            let key = try home.succeed(["gpg", "--batch", "--armor", "--export", shared.bob.fingerprint])
            try home.write(String(decoding: key, as: UTF8.self), to: "bob.asc")
            try shared.push("echo $EVE >>.gpg-id")
            try home.succeed(["mkdir", "new"])
            let facts = "cat work/.gpg-id config/passdir/config data/passdir/recipients"
            let before = try home.succeed(["sh", "-c", facts])
            let bob = shared.bob.fingerprint
            let questions: [[String]] = [
                ["recipients", "confirm", "work"], ["recipients", "add", "work", bob],
                ["recipients", "set", "work", shared.ann.fingerprint, bob],
                ["recipients", "set", "work", bob],
                ["recipients", "remove", "work", shared.eve.fingerprint],
                ["recipients", "check", "work", "--fix"], ["keys", "import", home.path("bob.asc").string],
                ["store", "remove", "work"],
                ["store", "add", "new", "--path", home.path("new").string, "--init", "--recipient", bob],
            ]
            for words in questions {
                for answer in ["n\n", "\n"] {
                    let result = try shared.onTerminal(words, answers: answer)
                    #expect(
                        result.exitCode == 1 && result.output.contains("othing was changed"),
                        "\(words): \(result.exitCode) \(result.output)")
                }
            }
            #expect(try home.succeed(["sh", "-c", facts]) == before)
            #expect(try home.run(["ls", "new/.gpg-id"]).exitCode != 0)
        }
    }

    /// As `recipients set`.
    @Test(.slow) func aNewStoreLocksNobodyOutUnawares() throws {
        try SharedStore.with { shared in
            let home = shared.home
            func words(_ name: String) -> [String] {
                [
                    "store", "add", name, "--path", home.path(name).string, "--init", "--recipient",
                    shared.bob.fingerprint,
                ]
            }
            try home.succeed(["mkdir", "new", "both", "other"])
            for extra in [[], ["--yes"]] {
                let refused = try shared.run(words("new") + extra)
                #expect(
                    refused.exitCode == 1 && refused.errors.contains("--lock-me-out"), "\(refused.errors)")
                #expect(try home.run(["ls", "new/.gpg-id"]).exitCode != 0)
            }
            let asked = try shared.onTerminal(words("new"), answers: "y\n")
            #expect(
                asked.exitCode == 0 && asked.output.contains("None of these keys is yours"), "\(asked.output)"
            )
            #expect(try home.text(of: "new/.gpg-id") == shared.bob.fingerprint + "\n")
            try shared.succeed(words("other") + ["--yes", "--lock-me-out"])
            // One of them is enough.
            try shared.succeed(words("both") + ["--recipient", shared.ann.fingerprint])
        }
    }

    /// An older failure to read does not hide that a change of recipients was interrupted.
    @Test func statusTellsEveryTrouble() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.mount()
            _ = try home.run(
                ["passdir", "recipients", "add", "work", shared.bob.fingerprint, "--yes"],
                extra: ["PASSDIR_FAULT": "recipients.placed-one"])
            try home.write("no message", to: "work/broken.gpg")
            #expect(try home.run(["cat", "mnt/work/broken"]).exitCode != 0)
            let status = try home.passdir("status").output
            #expect(status.contains("broken") && status.contains("recipients resume work"), "\(status)")
            let json = try home.passdir("status", "--json").output
            #expect(json.contains("\"lastError\":\"a change of recipients"), "\(json)")
            try shared.succeed(["recipients", "abort", "work"])
            try home.unmount()
        }
    }
}
