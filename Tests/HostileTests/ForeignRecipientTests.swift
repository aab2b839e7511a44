import Glibc
import SystemPackage
import TestKit
import Testing

/// Somebody who can push to a store cannot make its users encrypt anything to a key that they have not agreed to.
@Suite struct ForeignRecipientTests {
    /// What Ann does after Eve has pushed herself into the `.gpg-id`.
    enum Action: String, CaseIterable {
        case add, addWithYes, set, remove, fix, saveList, renameList, save, saveNew, confirmWithoutAWord
    }

    /// Holds:
    /// - No change of recipients encrypts to a key that nobody here approved, whatever `recipients.confirm`
    ///   says.
    @Test(arguments: sampled(tableCases(Action.allCases, [true, false])))
    func whoPushedHimselfIntoTheListGetsNothing(_ action: Action, _ isConfirmOff: Bool) throws {
        // Without recipients.confirm a save is for whom the list names, as pass does it; the rest is asked all the same.
        if isConfirmOff, [.save, .saveNew, .confirmWithoutAWord].contains(action) { return }
        try SharedStore.with { shared in
            let home = shared.home
            if isConfirmOff {
                try home.succeed([
                    "git", "config", "-f", home.path("config/passdir/config").string, "recipients.confirm",
                    "false",
                ])
            }
            try shared.push("echo $EVE >>.gpg-id")
            let (ann, bob, eve) = (shared.ann.fingerprint, shared.bob.fingerprint, shared.eve.fingerprint)
            var result: ProgramResult?
            switch action {
            case .add: result = try shared.run(["recipients", "add", "work", bob])
            case .addWithYes: result = try shared.run(["recipients", "add", "work", bob, "--yes"])
            case .set:
                // Whom one names oneself, one agrees to: only to those.
                #expect(try shared.run(["recipients", "set", "work", ann, bob, "--yes"]).exitCode == 0)
                #expect(try home.text(of: "work/.gpg-id") == "\(ann)\n\(bob)\n")
            case .remove:
                result = try shared.run(["recipients", "remove", "work", ann, "--yes", "--lock-me-out"])
            case .fix: result = try shared.run(["recipients", "check", "work", "--fix"])
            case .confirmWithoutAWord: result = try shared.run(["recipients", "confirm", "work"])
            case .saveList, .renameList, .save, .saveNew:
                try home.mount()
                let script =
                    switch action {
                    case .saveList: "printf '%s\\n' \(ann) \(eve) \(bob) | tee mnt/work/.gpg-id"
                    case .renameList:
                        "printf '%s\\n' \(ann) \(eve) \(bob) > mnt/work/.new && mv mnt/work/.new mnt/work/.gpg-id"
                    case .save: "echo two | tee mnt/work/a"
                    default: "echo three | tee mnt/work/c"
                    }
                #expect(try home.run(["sh", "-c", script]).exitCode != 0)
                let status = try home.passdir("status").output
                #expect(status.contains(eve) && status.contains("recipients confirm work"), "\(status)")
                try home.unmount(discardUnsaved: true)
            }
            if let result {
                #expect(result.exitCode == 1, "\(result.output)")
                let words = action == .confirmWithoutAWord ? "--yes" : "recipients confirm work"
                #expect(result.errors.contains(words), "\(result.errors)")
            }
            // A name that the list was saved under first is a secret, and with recipients.confirm off it is Eve's.
            #expect(try shared.secrets(for: shared.eve).filter { $0 != "./.new.gpg" } == [])
            // The question stays open.
            if action != .set {
                let listed = try shared.run(["recipients", "show", "work"])
                let marked = listed.output.split(separator: "\n").filter { $0.hasSuffix("(not approved)") }
                #expect(marked.count == 1 && marked[0].contains(eve), "\(listed.output)")
                #expect(listed.errors.contains("recipients confirm work"), "\(listed.errors)")
                let shown = try shared.succeed(["recipients", "confirm", "work", "--yes"])
                #expect(shown.contains("+ eve") && shown.contains(eve), "\(shown)")
            }
        }
    }

    /// What Eve pushes so that a secret that is saved or moved somewhere else is for her.
    ///
    /// Holds:
    /// - In a store with a remote, nothing is encrypted to a key that you have not approved.
    @Test(
        .slow,
        arguments: [
            // A new folder with a list of its own.
            "mkdir team; printf '%s\\n' $ANN $EVE >team/.gpg-id",
            "mkdir -p team/x; echo $EVE >team/.gpg-id; printf '%s\\n' $ANN $EVE >team/x/.gpg-id",
            "mkdir team; echo eve@example.org >team/.gpg-id; echo $ANN >>team/.gpg-id",
            "mkdir team; printf '%s!\\n%s\\n' $EVE $ANN >team/.gpg-id",
            "mkdir team; printf '%s\\n%s\\n' $(echo $EVE | tail -c 9) $ANN >team/.gpg-id",
            "mkdir team; printf '# %s\\r%s\\n%s\\n' hidden $EVE $ANN >team/.gpg-id; echo $EVE >>team/.gpg-id",
            // A list outside of it, by a link.
            "mkdir team; echo $EVE >team/list; ln -s list team/.gpg-id",
            "mkdir evil team; printf '%s\\n' $ANN $EVE >evil/.gpg-id; ln -s ../evil/.gpg-id team/.gpg-id",
            // The signature of no matter what, the list of another folder.
            "mkdir team; printf '%s\\n' $ANN $EVE >team/.gpg-id; cp .gpg-id team/.gpg-id.sig",
            // Names that forged a line of the record before.
            "n=$(printf 'x\\npath:work\\tteam'); mkdir -p \"$n\" team; printf '%s\\n' $ANN $EVE >\"$n/.gpg-id\"; cp \"$n/.gpg-id\" team/",
            "n=$(printf 'x\\377y'); mkdir \"$n\" team; printf '%s\\n' $ANN $EVE >\"$n/.gpg-id\"; cp \"$n/.gpg-id\" team/",
        ])
    func aPushedFolderIsNoWayToAReader(_ script: String) throws {
        try SharedStore.with { shared in
            try shared.push(script)
            let home = shared.home
            try home.mount()
            let program = """
                mkdir -p mnt/work/team 2>/dev/null
                echo new | tee mnt/work/team/new && exit 1
                mv mnt/work/a mnt/work/team/a && exit 1
                cp mnt/work/a mnt/work/team/c && exit 1
                echo new | tee mnt/work/team/x/new && exit 1
                exit 0
                """
            let result = try home.run(["sh", "-c", program])
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.text(of: "mnt/work/a") == "one")
            try home.unmount(discardUnsaved: true)
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    /// A list that is nearer to a secret than the one that Eve is on goes away, so that hers applies.
    ///
    /// Holds:
    /// - A list that others take away makes nobody a reader of what it was for, until you approve that.
    @Test(
        .slow,
        arguments: [
            "git rm -q team/.gpg-id",
            "mkdir x; git mv team/.gpg-id x/",
            "git rm -q team/.gpg-id; mkdir team/.gpg-id; echo x >team/.gpg-id/y",
            "git rm -q team/.gpg-id team/deep/.gpg-id",
            "git mv team old; mkdir team; git mv old/p.gpg team/; git rm -rqf old",
        ])
    func aListThatIsGoneIsNoWayToAReader(_ script: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            // Ann's own decision: the top is for Eve, too, the team's folder is not.
            try home.write("\(shared.ann.fingerprint)\n\(shared.eve.fingerprint)\n", to: "work/.gpg-id")
            try home.succeed(["mkdir", "-p", "work/team/deep"])
            for folder in ["team", "team/deep"] {
                try home.write("\(shared.ann.fingerprint)\n", to: "work/\(folder)/.gpg-id")
            }
            for name in ["team/p", "team/deep/q"] { try shared.store.insert(name, "private") }
            try shared.store.git("add", ".")
            try shared.store.git("commit", "--quiet", "-m", "Lists.")
            try shared.store.git("push", "--quiet")
            try shared.succeed(["recipients", "confirm", "work", "--yes"])
            let before = try shared.secrets(for: shared.eve)
            try shared.push(script)
            try home.mount()
            let save = try home.run(["sh", "-c", "echo new | tee mnt/work/team/p"])
            #expect(save.exitCode != 0)
            let new = try home.run(["sh", "-c", "echo new | tee mnt/work/team/new"])
            #expect(new.exitCode != 0)
            #expect(
                try home.passdir("status").output.contains("team/.gpg-id of the store \"work\" is gone"))
            for words in [
                ["recipients", "check", "work", "--fix"],
                ["recipients", "add", "work", shared.bob.fingerprint, "--yes"],
            ] {
                let result = try shared.run(words)
                #expect(result.exitCode != 0, "\(words): \(result.output)")
            }
            #expect(try shared.secrets(for: shared.eve) == before)
            #expect(try shared.secrets(for: shared.bob) == [])
            // Told, and Ann's to decide.
            let shown = try shared.succeed(["recipients", "confirm", "work", "--yes"])
            #expect(shown.contains("team/.gpg-id") && shown.contains("+ eve"), "\(shown)")
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            #expect(try home.run(["sh", "-c", "echo new | tee mnt/work/team/p"]).exitCode == 0)
            try home.unmount(discardUnsaved: true)
            #expect(try shared.secrets(for: shared.eve).contains("./team/p.gpg"))
        }
    }

    /// More keys than a secret can have recipients are not looked up one by one.
    @Test(.slow) func aListOfManyThousandsIsToldAtOnce() throws {
        try SharedStore.with { shared in
            try shared.push("mkdir team; seq -f 'z%g@example.org' 40000 >team/.gpg-id")
            let home = shared.home
            try home.mount()
            for words in [["recipients", "confirm", "work"], ["sync", "work"], ["status"]] {
                let result = try home.run(["passdir"] + words, limit: .seconds(40))
                #expect(!result.timedOut, "\(words)")
            }
            let keys = try home.run(["passdir", "keys", "work"], limit: .seconds(40))
            #expect(!keys.timedOut && (keys.output + keys.errors).contains("40000 recipients"), "\(keys)")
            let save = try home.run(["sh", "-c", "echo new | tee mnt/work/team/new"])
            #expect(save.exitCode != 0)
            #expect(try home.text(of: "mnt/work/a") == "one")
            try home.unmount(discardUnsaved: true)
        }
    }

    /// The list was taken back when Ann saves what her editor had read of it before.
    @Test(.slow) func whatAMergeBroughtAndTookBackIsNotAgreedToInPassing() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.mount()
            try shared.push("echo $EVE >>.gpg-id")
            try home.waitUntil("status has seen it") {
                try home.passdir("status").output.contains("+ eve")
            }
            let list = try home.text(of: "mnt/work/.gpg-id")
            try shared.push("echo $ANN >.gpg-id")
            let script = "printf '%s' '\(list)\(shared.bob.fingerprint)\n' | tee mnt/work/.gpg-id"
            #expect(try home.run(["sh", "-c", script]).exitCode != 0)
            try home.unmount(discardUnsaved: true)
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    @Test(.slow) func onATerminalItIsAskedWithTheFingerprint() throws {
        try SharedStore.with { shared in
            try shared.push("echo $EVE >>.gpg-id")
            let words = ["recipients", "add", "work", shared.bob.fingerprint]
            let no = try shared.onTerminal(words, answers: "n\n")
            #expect(
                no.output.contains(
                    "! eve <eve@example.org> (\(shared.eve.fingerprint)) was added by someone else"))
            #expect(try shared.secrets(for: shared.eve) == [])
            #expect(try shared.secrets(for: shared.bob) == [])
            let yes = try shared.onTerminal(words, answers: "y\ny\n")
            #expect(yes.exitCode == 0, "\(yes.output)")
            #expect(try shared.secrets(for: shared.eve).count == 2)
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
        }
    }

    /// Only what a change is about is agreed to with it.
    @Test(.slow) func othersStillWait() throws {
        try SharedStore.with { shared in
            try shared.push("echo $EVE >>.gpg-id; mkdir team; echo $EVE >team/.gpg-id")
            try shared.succeed([
                "recipients", "set", "work", shared.ann.fingerprint, shared.bob.fingerprint, "--yes",
            ])
            let shown = try shared.succeed(["recipients", "confirm", "work", "--yes"])
            #expect(shown.contains("team/.gpg-id") && !shown.contains("\n.gpg-id"), "\(shown)")
        }
    }

    /// A record that cannot be used is no agreement: nothing is encrypted before the user has looked.
    ///
    /// Holds:
    /// - A lost or damaged record of approvals approves nobody.
    @Test(
        .slow,
        arguments: [
            "rm recipients", "rm recipients; mkdir recipients", ": >recipients", "echo x >recipients",
        ])
    func aRecordThatIsLostFailsClosed(_ script: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.succeed(["sh", "-c", script], in: home.path("data/passdir"))
            try shared.push("echo $EVE >>.gpg-id")
            try home.mount()
            #expect(try home.run(["sh", "-c", "echo two | tee mnt/work/a"]).exitCode != 0)
            let status = try home.passdir("status").output
            #expect(status.contains("recipients confirm work"), "\(status)")
            try home.unmount(discardUnsaved: true)
            let added = try shared.run(["recipients", "add", "work", shared.bob.fingerprint])
            #expect(
                added.exitCode == 1 && added.errors.contains("recipients confirm work"), "\(added.errors)")
            #expect(try shared.secrets(for: shared.eve) == [])
            if script.contains("mkdir") {
                try home.succeed(["rmdir", home.path("data/passdir/recipients").string])
            }
            let shown = try shared.succeed(["recipients", "confirm", "work", "--yes"])
            #expect(
                shown.contains(shared.ann.fingerprint) && shown.contains(shared.eve.fingerprint), "\(shown)")
        }
    }

    /// Eve takes Ann out of the list and out of each secret: nothing is left to be changed, but Ann has not agreed.
    @Test func whatIsDoneAlreadyIsAgreedTo() throws {
        try SharedStore.with { shared in
            let bob = shared.bob.fingerprint
            try shared.succeed(["recipients", "add", "work", bob, "--yes"])
            try shared.store.git("push", "--quiet")
            try shared.push(
                """
                echo $BOB >.gpg-id
                for file in a sub/b; do
                    echo new | gpg --batch --yes --trust-model always -e -r $BOB -o $file.gpg
                done
                """)
            let words = ["recipients", "set", "work", bob, "--yes"]
            let refused = try shared.run(words)
            #expect(refused.exitCode == 1 && refused.errors.contains("--lock-me-out"), "\(refused)")
            #expect(try shared.run(["insert", "work/new"], input: "new\n").exitCode == 1)
            let planned = try shared.succeed(words + ["--dry-run"])
            #expect(planned.contains("taken out of the list by someone else"), "\(planned)")
            try shared.succeed(words + ["--lock-me-out"])
            #expect(try shared.run(["insert", "work/new"], input: "new\n").exitCode == 0)
            #expect(try shared.succeed(words + ["--lock-me-out", "--dry-run"]).contains("nothing to change"))
        }
    }

    /// Eve takes Ann out, so that what Ann saves next is for others only.
    ///
    /// Holds:
    /// - Nobody else locks you out of what you save next without your approval.
    @Test(.slow, arguments: ["echo $BOB >.gpg-id", "echo $BOB >sub/.gpg-id"])
    func nobodyIsLockedOutByOthersUnawares(_ script: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.succeed(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
            try shared.store.git("push", "--quiet")
            try shared.push(script)
            let fixed = try shared.run(["recipients", "check", "work", "--fix", "--yes"])
            #expect(
                fixed.exitCode == 1 && fixed.errors.contains("no longer names a key of yours"),
                "\(fixed.errors)")
            try home.mount()
            #expect(try home.run(["sh", "-c", "echo two | tee mnt/work/sub/b"]).exitCode != 0)
            #expect(try home.passdir("status").output.contains("no longer names a key of yours"))
            try home.unmount(discardUnsaved: true)
            #expect(try shared.secrets(for: shared.ann).count == 2)
            // Ann agrees to it: the store may be one that she only fills.
            try shared.succeed(["recipients", "confirm", "work", "--yes"])
            try home.mount()
            try home.succeed(["sh", "-c", "echo two | tee mnt/work/sub/b"])
            try home.unmount()
            #expect(try shared.secrets(for: shared.ann) == ["./a.gpg"])
        }
    }

    /// To keys none of which is one's own.
    @Test(.slow) func nobodyLocksHimselfOutUnawares() throws {
        try SharedStore.with { shared in
            let home = shared.home
            let words = ["recipients", "set", "work", shared.bob.fingerprint]
            for extra in [[], ["--yes"]] {
                let refused = try shared.run(words + extra)
                #expect(
                    refused.exitCode == 1 && refused.errors.contains("--lock-me-out"), "\(refused.errors)")
            }
            let asked = try shared.onTerminal(words, answers: "n\n")
            #expect(asked.output.contains("you will no longer be able to read"), "\(asked.output)")
            let removed = try shared.run(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
            #expect(removed.exitCode == 0)
            #expect(
                try shared.run(["recipients", "remove", "work", "ann@example.org", "--yes"]).exitCode == 1)
            try home.mount()
            #expect(
                try home.run(["sh", "-c", "echo \(shared.bob.fingerprint) | tee mnt/work/.gpg-id"]).exitCode
                    != 0)
            #expect(try home.passdir("status").output.contains("--lock-me-out"))
            try home.unmount(discardUnsaved: true)
            #expect(try shared.secrets(for: shared.ann).count == 2)
            let done = try shared.run(words + ["--yes", "--lock-me-out"])
            #expect(done.exitCode == 0, "\(done.errors)")
            #expect(try shared.secrets(for: shared.ann) == [])
        }
    }
}
