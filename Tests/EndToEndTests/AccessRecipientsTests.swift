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
    @Test func whoMayNotReadChangesNoRecipients() throws {
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
