import SystemPackage
import TestKit
import Testing

/// `.gpg-id` was changed here and on the remote: the user chooses whose list it is to be, and all else is merged.
@Suite(.serialized) struct SettledListsTests {
    /// Eve lets herself read the store, and changes two secrets; meanwhile Ann lets Bob.
    private func part(_ shared: SharedStore) throws {
        let script = """
            echo "$EVE" >> .gpg-id
            echo changed | gpg --batch --quiet --yes --trust-model always -e -r "$ANN" -r "$EVE" -o a.gpg
            echo new | gpg --batch --quiet --yes --trust-model always -e -r "$ANN" -r "$EVE" -o c.gpg
            git add -A; git commit -qm theirs; git push -q origin HEAD:main
            """
        try shared.home.succeed(["bash", "-ec", script], in: shared.home.path("theirs"), extra: keys(shared))
        try shared.succeed(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
    }

    private func keys(_ shared: SharedStore) -> [String: String] {
        ["ANN": shared.ann.fingerprint, "BOB": shared.bob.fingerprint, "EVE": shared.eve.fingerprint]
    }

    private func list(_ shared: SharedStore) throws -> [String] {
        try shared.home.text(of: "work/.gpg-id").split(separator: "\n").map(String.init)
    }

    @Test(.slow, arguments: ["--merged", "--ours", "--theirs"])
    func theChosenListStands(_ choice: String) throws {
        try SharedStore.with { shared in
            try shared.home.succeed(["git", "clone", "-q", shared.store.remote!.string, "theirs"])
            try part(shared)
            _ = try shared.home.mount()
            let synced = try shared.run(["sync", "work"])
            #expect(synced.errors.contains("passdir recipients settle work"), "\(synced)")
            let before = try list(shared)
            // Without a choice nothing happens, and what both sides did is shown.
            let shown = try shared.run(["recipients", "settle", "work"])
            #expect(shown.exitCode == 1 && shown.errors.contains("--merged, --ours or --theirs"))
            #expect(shown.output.contains("here:       + \(shared.bob.fingerprint)"), "\(shown.output)")
            #expect(shown.output.contains("the remote: + \(shared.eve.fingerprint)"))
            #expect(try list(shared) == before)
            let words = ["recipients", "settle", "work", choice]
            if choice != "--ours" {
                // Without a word of Ann's, nothing is encrypted to whom Eve has listed.
                for words in [words, words + ["--yes"]] {
                    let refused = try shared.run(words)
                    #expect(refused.exitCode == 1 && refused.errors.contains("not approved"), "\(refused)")
                }
                #expect(try list(shared) == before)
            }
            let done =
                choice == "--ours"
                ? try shared.run(words + ["--yes"]) : try shared.onTerminal(words, answers: "y\ny\n")
            #expect(done.exitCode == 0, "\(done)")
            #expect(done.output.contains("check --fix work") == (choice != "--theirs"), "\(done)")
            let (ann, bob, eve) = (shared.ann.fingerprint, shared.bob.fingerprint, shared.eve.fingerprint)
            let wanted = ["--merged": [ann, bob, eve], "--ours": [ann, bob], "--theirs": [ann, eve]][choice]
            #expect(try list(shared) == wanted)
            #expect(try shared.succeed(["sync", "work"]).contains("in sync"))
            let tips = try shared.store.git("rev-parse", "HEAD", "origin/main").split(separator: "\n")
            #expect(Set(tips).count == 1)
            // What both sides changed is there, and the list is told of what it does not hold for.
            let mount = shared.home.mountPoint.appending("work")
            for (name, text) in [("a", "changed\n"), ("c", "new\n"), ("sub/b", "two")] {
                #expect(
                    try shared.home.succeed(["cat", mount.pushing(FilePath(name)).string]) == Array(text.utf8)
                )
            }
            let check = try shared.run(["recipients", "check", "work"])
            #expect((check.exitCode == 0) == (choice == "--theirs"), "\(check)")
            #expect(try shared.store.git("status", "--porcelain").isEmpty)
            #expect(try shared.succeed(["recipients", "settle", "work"]).contains("no recipient list"))
            try shared.succeed(["unmount"])
        }
    }

    /// What the refusal advises, done word by word and without a terminal, ends with the choice that was made.
    @Test(.slow, arguments: ["--merged", "--theirs", "--merged --yes"])
    func theAdviceWithoutATerminalWorks(_ choice: String) throws {
        try SharedStore.with { shared in
            try shared.home.succeed(["git", "clone", "-q", shared.store.remote!.string, "theirs"])
            try part(shared)
            try shared.home.mount()
            _ = try shared.run(["sync", "work"])
            let words = ["recipients", "settle", "work"] + choice.split(separator: " ").map(String.init)
            let refused = try shared.run(words)
            #expect(refused.exitCode == 1 && refused.errors.contains("not approved"), "\(refused)")
            let command = /passdir recipients [a-z]+ work(?: [0-9A-F]{40})*(?: --[a-z]+)*/
            let advice = refused.errors.matches(of: command).map { String($0.output) }
            #expect(!advice.isEmpty, "\(refused)")
            for line in advice { try shared.home.succeed(["sh", "-c", line]) }
            let (ann, bob, eve) = (shared.ann.fingerprint, shared.bob.fingerprint, shared.eve.fingerprint)
            #expect(try list(shared) == (choice == "--theirs" ? [ann, eve] : [ann, bob, eve]))
            #expect(try shared.succeed(["recipients", "settle", "work"]).contains("no recipient list"))
            #expect(try shared.succeed(["sync", "work"]).contains("in sync"))
            try shared.succeed(["unmount"])
        }
    }

    /// A list of the remote's that nobody can read is called that, and ours can be put in its place.
    @Test(.slow, arguments: [#"printf '%s\n\0\n' "$ANN" >.gpg-id"#, #"printf '\377\n' >.gpg-id"#])
    func aDamagedListIsNobodys(_ deed: String) throws {
        try SharedStore.with { shared in
            try shared.home.succeed(["git", "clone", "-q", shared.store.remote!.string, "theirs"])
            let script = "\(deed); git commit -qam theirs; git push -q origin HEAD:main"
            try shared.home.succeed(
                ["bash", "-ec", script], in: shared.home.path("theirs"), extra: keys(shared))
            try shared.succeed(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
            try shared.home.mount()
            _ = try shared.run(["sync", "work"])
            let before = try list(shared)
            let shown = try shared.run(["recipients", "settle", "work"])
            #expect(shown.output.contains("the remote: damaged"), "\(shown)")
            #expect(!shown.output.contains("merged:"), "\(shown)")
            for choice in ["--merged", "--theirs"] {
                let refused = try shared.run([
                    "recipients", "settle", "work", choice, "--yes", "--lock-me-out",
                ])
                #expect(refused.exitCode == 1 && refused.errors.contains("settle work --ours"), "\(refused)")
                #expect(try list(shared) == before)
            }
            try shared.succeed(["recipients", "settle", "work", "--ours"])
            #expect(try list(shared) == before)
            #expect(try shared.succeed(["sync", "work"]).contains("in sync"))
            try shared.succeed(["unmount"])
        }
    }

    /// One that is too large is not taken in, whether ours was changed or not, and what is said about that works.
    @Test func aListThatIsTooLarge() throws {
        try SharedStore.with { shared in
            try shared.home.succeed(["git", "clone", "-q", shared.store.remote!.string, "theirs"])
            let script =
                "yes $EVE | head -c 1100000 >>.gpg-id; git commit -qam theirs; git push -q origin HEAD:main"
            try shared.home.succeed(
                ["bash", "-ec", script], in: shared.home.path("theirs"), extra: keys(shared))
            try shared.succeed(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
            try shared.home.mount()
            let before = try list(shared)
            let synced = try shared.run(["sync", "work"])
            #expect(synced.errors.contains(".gpg-id has 11000"), "\(synced)")
            #expect(synced.errors.contains("run passdir sync --ours work"), "\(synced)")
            let settled = try shared.run(["recipients", "settle", "work", "--ours"])
            #expect(settled.errors.contains("Fix what passdir sync reports first"), "\(settled)")
            #expect(try shared.run(["sync", "--ours", "work"]).exitCode == 0)
            #expect(try shared.succeed(["sync", "work"]).contains("in sync"))
            #expect(try list(shared) == before)

            // One that somebody has put there all the same is replaced, or taken back to.
            let large = String(repeating: shared.eve.fingerprint + "\n", count: 30_000)
            try shared.home.write(large, to: "work/.gpg-id")
            let keys = [shared.ann.fingerprint, shared.bob.fingerprint]
            try shared.succeed(["recipients", "set", "work", "--yes"] + keys)
            #expect(try list(shared) == keys)
            try shared.succeed(["unmount"])
        }
    }
}
