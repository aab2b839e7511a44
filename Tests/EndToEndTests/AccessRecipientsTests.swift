import Glibc
import SystemPackage
import TestKit
import Testing

/// Who may not read a folder may not say either who can.
@Suite struct AccessRecipientsTests {
    private struct Fixture {
        let home: TestHome
        let store: TestStore
        /// A copy of bash, which a rule of `work/aws` denies.
        let agent: String
        let (ann, eve): (TestKey, TestKey)

        /// What the agent is told; nothing of the store is encrypted to others by that.
        func refuse(_ command: String, _ comment: String = "") throws {
            let before = try readers()
            let result = try home.run(
                [agent, "-ec", "\(command); :"], extra: ["ANN": ann.fingerprint, "EVE": eve.fingerprint])
            #expect(result.exitCode != 0, "\(command): \(result)")
            #expect(
                result.errors.contains("Permission denied") || result.errors.contains("access rules refuse"),
                "\(command): \(result)")
            #expect(try readers() == before, "\(command)")
        }

        /// The lists on disk, and how many keys each secret of the folder is for.
        private func readers() throws -> String {
            let lists = try home.succeed(
                ["sh", "-c", "find . -name '.gpg-id*' -not -path './.git/*' | sort | xargs grep . "],
                in: store.path)
            return String(decoding: lists, as: UTF8.self)
                + "\(try store.recipientKeyIDs(of: "aws/key").count) \(try store.recipientKeyIDs(of: "aws/sub/deep").count)"
        }
    }

    private func withAgent(_ body: (Fixture) throws -> Void) throws {
        try TestHome.guarded { home in
            let (ann, eve) = (try home.makeKey("ann@example.org"), try home.makeKey("eve@example.org"))
            let store = try home.makeStore("work", recipients: [ann])
            for name in ["aws/key", "aws/sub/deep", "open/x"] { try store.insert(name, "MARK\n") }
            try home.addStores([store])
            try home.mount()
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "work/aws", "--deny-under", "agent"])
            try body(Fixture(home: home, store: store, agent: agent, ann: ann, eve: eve))
            try home.unmount()
        }
    }

    /// Holds:
    /// - Who may not read all that lies below a folder changes no list of recipients for it: neither by a write, a new file, a
    ///   rename or a removal in the mount, nor by a command; the log says who tried.
    @Test(.slow) func whoMayNotReadChangesNoRecipients() throws {
        try withAgent { fixture in
            let home = fixture.home
            let (work, aws, open) = ("mnt/work", "mnt/work/aws", "mnt/work/open")
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.eve.fingerprint)\n", to: "list")
            try home.succeed([
                "sh", "-c", "mkdir copied \(open)/made; cp list copied/.gpg-id; cp list \(open)/list",
            ])
            try home.succeed([fixture.agent, "-c", "cp list \(open)/made/.gpg-id; :"])
            for folder in [work, aws, "\(aws)/sub"] {
                try fixture.refuse("cat list > \(folder)/.gpg-id")
                try fixture.refuse("cat list >> \(folder)/.gpg-id")
                try fixture.refuse("cp list \(folder)/list~; mv \(folder)/list~ \(folder)/.gpg-id")
                try fixture.refuse("rm -f \(folder)/list~; mv \(open)/list \(folder)/.gpg-id")
                guard folder != work else { continue }
                try fixture.refuse("python3 -c 'import os; os.mknod(\"\(folder)/.gpg-id\")'")
            }
            try fixture.refuse("truncate -s 10 \(work)/.gpg-id")
            try fixture.refuse("ln -s ../open/.gpg-id \(aws)/.gpg-id")
            try fixture.refuse("cp -r copied \(aws)/new")
            try fixture.refuse("mv -T \(open)/made \(aws)/made")
            // A folder that has one of its own.
            try home.succeed(["passdir", "recipients", "set", "work/aws", fixture.ann.fingerprint, "--yes"])
            try fixture.refuse("rm \(aws)/.gpg-id")
            try fixture.refuse("mv \(aws)/.gpg-id \(aws)/.gpg-id~")
            try fixture.refuse("cat list > \(aws)/.gpg-id")
            let log = try home.passdir("access", "log", "work/aws").output
            #expect(log.contains("denied") && log.contains("work/aws/.gpg-id"), "\(log)")

            for place in ["work", "work/aws", "work/aws/sub"] {
                for words in ["add \(place) $EVE", "set \(place) $EVE $ANN"] {
                    try fixture.refuse("passdir recipients \(words) --yes")
                }
            }
            try fixture.refuse("passdir recipients unset work/aws --yes")
            try fixture.refuse("passdir rm -rf work/aws")
            try fixture.refuse("PASSWORD_STORE_KEY=$EVE passdir recipients check work --fix --yes")
            // Others may, and so may the agent where there are no rules.
            try home.succeed([fixture.agent, "-c", "cat list > \(open)/.gpg-id; :"])
            #expect(try fixture.store.recipientKeyIDs(of: "open/x").count == 2)
            try home.succeed(["cp", "list", "\(aws)/.gpg-id"])
            #expect(try fixture.store.recipientKeyIDs(of: "aws/key").count == 2)
            let whole = try home.passdir("access", "log").output
            #expect(whole.contains("allowed  work/aws/.gpg-id") && !whole.contains("  work/open"), "\(whole)")
        }
    }

    /// Holds:
    /// - A rule that is set while a change of recipients waits for a passphrase counts for whoever makes it: nothing changes, and
    ///   nothing is left to be resumed. So does a lock.
    @Test(
        .slow,
        arguments: [
            "passdir recipients add work $EVE --yes", "passdir recipients check work --fix --yes",
            "cat list > mnt/work/.gpg-id", "cp list mnt/work/list~; mv mnt/work/list~ mnt/work/.gpg-id",
            "rm mnt/work/aws/.gpg-id",
        ], ["access set work --deny-under agent", "lock"])
    func aRuleThatIsSetAtThePromptOfAChangeCounts(_ command: String, meanwhile: String) throws {
        try TestHome.guarded { home in
            let ann = try home.makeKey("ann@example.org", passphrase: "sesame")
            let eve = try home.makeKey("eve@example.org")
            let store = try home.makeStore("work", recipients: [ann])
            for name in ["aws/key", "x"] { try store.insert(name, "MARK\n") }
            try home.write("\(ann.fingerprint)\n", to: "work/aws/.gpg-id")
            try home.write("\(ann.fingerprint)\n\(eve.fingerprint)\n", to: "list")
            if command.hasPrefix("rm") {
                try home.write("\(ann.fingerprint)\n\(eve.fingerprint)\n", to: "work/.gpg-id")
            }
            if command.contains("--fix") { try home.succeed(["cp", "list", "work/.gpg-id"]) }
            try home.addStores([store])
            let pinentry = try home.usePinentry(.block("sesame"))
            defer { try? pinentry.release() }
            try home.configure(["lock.agent": "false"])
            try home.mount()
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            func state() throws -> [UInt8] {
                try home.succeed([
                    "sh", "-c", "cd work; find . -name '.gpg-id*' -o -name '*.gpg' | sort | xargs sha256sum",
                ])
            }
            let before = try state()
            let change = try home.start(
                [agent, "-c", command + "; exit $?"], extra: ["EVE": eve.fingerprint])
            try home.waitUntil("the passphrase is asked for") {
                pinentry.promptCount() == 1 || change.hasEnded
            }
            try home.succeed(["passdir"] + meanwhile.split(separator: " ").map(String.init))
            try pinentry.release()
            let ended = try change.wait(limit: .seconds(20))
            #expect(ended.exitCode != 0 && pinentry.promptCount() == 1, "\(ended)")
            #expect(
                ended.errors.contains("Permission denied") || ended.errors.contains("access rules refuse")
                    || ended.errors.contains("work is locked"), "\(ended)")
            #expect(try state() == before)
            if meanwhile == "lock" { try home.succeed(["passdir", "unlock"]) }
            #expect(try home.passdir("recipients", "resume", "work").errors.contains("no interrupted change"))
            try home.unmount(discardUnsaved: true)
        }
    }

    /// What others made of a list is approved by one who may read.
    @Test func whoMayNotReadApprovesNobody() throws {
        try withAgent { fixture in
            let home = fixture.home
            try home.configure(["recipients.confirm": "true"])
            try home.succeed(["passdir", "recipients", "show", "work"])
            try home.write("\(fixture.ann.fingerprint)\n\(fixture.eve.fingerprint)\n", to: "work/.gpg-id")
            let confirm = "passdir recipients confirm work --yes"
            try fixture.refuse(confirm)
            #expect(try home.passdir("recipients", "confirm", "work").output.contains("eve@example.org"))
            try home.succeed(["sh", "-c", confirm])
            #expect(try home.passdir("recipients", "confirm", "work").output.contains("nothing to confirm"))
        }
    }
}
