import Glibc
import SystemPackage
import TestKit
import Testing

/// Names that others push into a list and that mean no key here: nothing can be encrypted to them yet, and the user hears of
/// them all the same.
@Suite struct UnknownReaderTests {
    /// A script that pushes the name, the name as it is shown, and the words that refuse it.
    struct Row: Sendable, CustomTestStringConvertible {
        var script: String
        var shown: String
        var refusal: String
        var isReadable = true
        var testDescription: String { shown }
    }

    /// Holds:
    /// - A key that goes from the keyring is no change of the lists that name it by its address: nobody is asked to agree to
    ///   its removal.
    @Test func aKeyThatIsGoneIsNoChangeOfItsList() throws {
        try SharedStore.with { shared in
            try shared.home.write("\(shared.ann.fingerprint)\nbob@example.org\n", to: "work/.gpg-id")
            try shared.store.git("commit", "--quiet", "--all", "--message", "For Bob.")
            try shared.store.git("push", "--quiet")
            try shared.succeed(["recipients", "confirm", "work", "--yes"])
            try shared.home.succeed(["gpg", "--batch", "--yes", "--delete-keys", shared.bob.fingerprint])
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            #expect(!(try shared.run(["status"]).output.contains("not approved")))
            // Whoever takes the name out makes a change of it.
            try shared.push("sed -i /bob/d .gpg-id")
            let asked = try shared.run(["recipients", "confirm", "work"])
            #expect(asked.output.contains("- ") && asked.exitCode == 1, "\(asked.output)\(asked.errors)")
        }
    }

    /// Holds:
    /// - A name that others add to a list is told as such, and how to refuse it, also where no key here bears it.
    @Test(
        .slow,
        arguments: [
            Row(
                script: "echo mallory@example.org >>.gpg-id", shown: "mallory@example.org",
                refusal: "recipients remove work mallory@example.org"),
            Row(
                script: "echo 0x1234567890ABCDEF >>.gpg-id; echo '$(touch x)' >>.gpg-id", shown: "$(touch x)",
                refusal: "recipients remove work 0x1234567890ABCDEF '$(touch x)'"),
            Row(
                script: "printf 'mal\\033[31mlory\\n' >>.gpg-id", shown: "mal\\u{1B}[31mlory",
                refusal: "recipients remove work 'mal\\u{1B}[31mlory'"),
            Row(
                script: "echo -- --yes >>.gpg-id", shown: "-- --yes",
                refusal: "recipients remove work -- '-- --yes'"),
            Row(
                script: "echo mallory@example.org >.gpg-id", shown: "mallory@example.org",
                refusal: "recipients set work $ANN"),
            Row(
                script: "mkdir -p sub; echo mallory@example.org >sub/.gpg-id", shown: "mallory@example.org",
                refusal: "recipients set work/sub $ANN"),
            // A key of Bob's name that somebody made is here, too.
            Row(
                script: "echo bob@example.org >>.gpg-id", shown: "matches several keys",
                refusal: "recipients remove work bob@example.org"),
            Row(
                script: "echo 1111111111111111111111111111111111111111 >>.gpg-id",
                shown: "1111111111111111111111111111111111111111 (this key is not here)",
                refusal: "recipients remove work 1111111111111111111111111111111111111111"),
            Row(
                script: "printf 'mallory\\0\\n' >>.gpg-id", shown: "not UTF-8 text",
                refusal: "recipients set work $ANN", isReadable: false),
            Row(
                script: "seq -f 'z%g@example.org' 2000 >>.gpg-id", shown: "2001 recipients",
                refusal: "recipients set work $ANN", isReadable: false),
        ])
    func aNameThatNobodyHereBearsIsTold(_ row: Row) throws {
        try SharedStore.with { shared in
            let home = shared.home
            if row.script.contains("bob@") { _ = try home.makeTwin(of: "bob@example.org") }
            try home.mount()
            try shared.push(row.script)
            try home.succeed(["ls", "mnt/work"])
            let refusal = row.refusal.replacing("$ANN", with: shared.ann.fingerprint)
            try home.waitUntil("status tells it") {
                let status = try home.passdir("status").output
                return status.contains(row.shown) && status.contains(refusal) && status.contains("by commit")
                    && status.contains("you have not approved it")
                    && (status.contains("recipients confirm work") || !row.isReadable)
            }
            let asked = try shared.run(["recipients", "confirm", "work", "--yes"])
            #expect(asked.output.contains(row.shown), "\(asked.output)")
            #expect(asked.output.contains(refusal), "\(asked.output)")
            if row.isReadable, !row.script.contains("bob@") {
                #expect(asked.output.contains("keys import"), "\(asked.output)")
            }
            // What the sentence says, as a shell reads it.
            let words =
                refusal.hasPrefix("recipients remove work --")
                ? refusal.replacing(" -- ", with: " --yes -- ")
                : refusal + " --yes"
            let refused = try home.run(["sh", "-c", "passdir " + words])
            #expect(refused.exitCode == 0, "\(words): \(refused.errors)")
            if refusal.contains("remove") { #expect(!refused.output.contains("+ "), "\(refused.output)") }
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            #expect(try home.text(of: "work/.gpg-id") == "\(shared.ann.fingerprint)\n")
            #expect(try home.run(["sh", "-c", "echo new | tee mnt/work/sub/new"]).exitCode == 0)
            try home.waitUntil("status is clean") {
                !(try home.passdir("status").output.contains("readers"))
            }
            try home.unmount()
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    /// The key comes, and is agreed to: only then are secrets for it.
    @Test(.slow) func aNameIsAgreedToWithItsKey() throws {
        try SharedStore.with { shared in
            let home = shared.home
            let key = try home.succeed(["gpg", "--batch", "--armor", "--export", shared.eve.fingerprint])
            try home.succeed(["gpg", "--batch", "--yes", "--delete-keys", shared.eve.fingerprint])
            try home.mount()
            let names = ["new", "newer"].map { home.mountPoint.pushing(FilePath("work/\($0)")) }
            let errors = try home.save("new\n", to: names) {
                try shared.push("echo eve@example.org >>.gpg-id")
            }
            #expect(!errors.contains(nil))
            let early = try shared.run(["recipients", "confirm", "work", "--yes"])
            #expect(early.exitCode == 1 && early.errors.contains("eve@example.org"), "\(early.errors)")
            let imported = try shared.run(
                ["keys", "import", "-", "--yes"], input: String(decoding: key, as: UTF8.self))
            #expect(imported.exitCode == 0)
            // What cannot be saved is not taken.
            let late = try home.run(["sh", "-c", "echo new >mnt/work/late"])
            #expect(late.exitCode != 0 && late.errors.contains("Key was rejected"), "\(late)")
            let shown = try shared.succeed(["recipients", "confirm", "work", "--yes"])
            #expect(shown.contains("+ eve <eve@example.org> (\(shared.eve.fingerprint))"), "\(shown)")
            // What failed is saved by that, not a save.retry later.
            #expect(!(try home.passdir("status").output.contains("unsaved")))
            try home.unmount()
            let saved = try shared.secrets(for: shared.eve).sorted()
            #expect(saved == ["./new.gpg", "./newer.gpg"])
        }
    }

    /// A colleague's key that was never here, from before passdir: nobody added it.
    @Test(.slow) func aNameThatWasThereFirstIsNoNews() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try home.write(
                "\(shared.ann.fingerprint)\nbob@example.org\nnobody@example.org\n", to: "work/.gpg-id")
            try home.succeed(["sh", "-c", "rm -r data/passdir/recipients state/passdir/agreed"])
            try home.mount()
            try home.succeed(["ls", "mnt/work"])
            #expect(try shared.succeed(["recipients", "confirm", "work"]).contains("nothing to confirm"))
            // Nor is one whose key went away.
            try home.succeed(["gpg", "--batch", "--yes", "--delete-keys", shared.bob.fingerprint])
            let shown = try shared.run(["recipients", "confirm", "work"])
            #expect(!shown.output.contains("bob@example.org"), "\(shown.output)")
            try home.unmount()
        }
    }
}
