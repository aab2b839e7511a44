import FoundationEssentials
import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir health` over stores with planted passwords.
@Suite struct HealthTests {
    private static let day: Int64 = 86_400
    /// Passwords that are strong, each with a mark that no output may have.
    private static func strong(_ name: String) -> String { "MARK-vX9#\(name)-q2!mZ7$kTw" }

    private func withStores(
        passphrase: String = "", _ body: (TestHome, [TestStore], TestKey) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: passphrase)
            let stores = try ["work", "private"].map { try home.makeStore($0, recipients: [key]) }
            try home.addStores(stores)
            try body(home, stores, key)
        }
    }

    /// Saves a secret with pass, as if that were days ago.
    private func insert(_ store: TestStore, _ name: String, _ text: String, daysAgo: Int64 = 1) throws {
        let date = "@\(Int64(time(nil)) - daysAgo * Self.day) +0000"
        try store.home.succeed(
            ["pass", "insert", "--multiline", "--force", name], input: Array(text.utf8),
            extra: [
                "PASSWORD_STORE_DIR": store.path.string, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
            ])
    }

    private struct Report: Decodable {
        struct Secret: Decodable {
            let name: String
            let findings: [String]
            let sameAs: [String]
            let score: Int?
        }
        struct Unread: Decodable {
            let name: String
            let reason: String
        }
        let secrets: [Secret]
        let unread: [Unread]

        /// What was found, by the names of secrets.
        var found: [String: [String]] {
            Dictionary(
                uniqueKeysWithValues: secrets.filter { !$0.findings.isEmpty }.map { ($0.name, $0.findings) })
        }
    }

    private func report(_ home: TestHome, _ words: String...) throws -> Report {
        let done = try home.run(["passdir", "health", "--json"] + words)
        #expect(!done.output.contains("MARK") && !done.errors.contains("MARK"), "\(done)")
        let report = try JSONDecoder().decode(Report.self, from: Data(done.output.utf8))
        #expect(done.exitCode == (report.found.isEmpty && report.unread.isEmpty ? 0 : 1), "\(done)")
        return report
    }

    /// Makes a list of breaches with a password in it.
    private func breachList(_ home: TestHome, with password: String) throws -> String {
        let numbers = (0..<2_000).map { "\($0)\n" }.joined()
        let script =
            "while read -r line; do printf %s \"$line\" | sha1sum; done | cut -c -40 | tr a-f A-F"
            + " | LC_ALL=C sort | sed 's/$/:3/'"
        let lines = try home.succeed(["sh", "-c", script], input: Array((numbers + password + "\n").utf8))
        try home.write(String(decoding: lines, as: UTF8.self), to: "breaches.txt")
        return home.path("breaches.txt").string
    }

    /// Holds:
    /// - Exactly the planted passwords are found, across stores, and no value is in any output.
    @Test(.slow) func exactlyWhatIsPlantedIsFound() throws {
        try withStores { home, stores, key in
            let work = stores[0]
            try insert(work, "fine", Self.strong("fine"))
            try insert(
                work, "fine/dated", Self.strong("dated") + "\nexpires: 2999-12-31\nrotate: 1y\n", daysAgo: 300
            )
            try insert(work, "weak", "dragon12\n")
            try insert(work, "a&<b>", Self.strong("same") + "\n")
            try insert(stores[1], "same", Self.strong("same") + "\nuser: other\n")
            try insert(work, "expired", Self.strong("expired") + "\nexpires: 2020-01-31\n")
            try insert(work, "due", Self.strong("due") + "\nrotate: 90d\n", daysAgo: 91)
            try insert(work, "old", Self.strong("old") + "\n", daysAgo: 800)
            try insert(work, "breached", Self.strong("breached") + "\n")
            try insert(work, "unclear", Self.strong("unclear") + "\nrotate: MARKoften\n")
            // No passwords, and the same.
            for name in ["key", "key2"] { try insert(work, name, "-----BEGIN MARK-----\nx\n", daysAgo: 900) }
            try insert(work, "note", "\nMARK\n", daysAgo: 900)
            // Encrypted again today, as old as before.
            try insert(work, "sub/again", Self.strong("again") + "\n", daysAgo: 900)
            let other = try home.makeKey("b@example.org")
            try work.pass(["init", "-p", "sub", key.fingerprint, other.fingerprint])
            let expected = [
                "work/weak": ["weak"], "work/a&<b>": ["reused"], "private/same": ["reused"],
                "work/expired": ["expired"], "work/due": ["due"], "work/old": ["old"],
                "work/breached": ["breached"], "work/unclear": ["unclear"], "work/sub/again": ["old"],
            ]
            let list = try breachList(home, with: Self.strong("breached"))
            let report = try report(home, "--breaches", list)
            #expect(report.found == expected)
            #expect(report.secrets.count == 14 && report.unread.isEmpty)
            #expect(report.secrets.first { $0.name == "private/same" }?.sameAs == ["work/a&<b>"])
            #expect(try self.report(home, "--breaches", list, "--deep").found == expected)
            // Of one store only, nothing is used twice.
            #expect(try self.report(home, "private").found.isEmpty)

            let page = home.path("page.html").string
            let done = try home.passdir("health", "--breaches", list, "--html", page)
            #expect(done.exitCode == 1 && done.errors.isEmpty, "\(done)")
            #expect(done.output.contains("reused (private/same)"), "\(done)")
            let html = try #require(SystemFile.text(page))
            for text in [done.output, html] { #expect(!text.contains("MARK") && !text.contains("dragon")) }
            let said = "<li><bdi>work/a&amp;&lt;b&gt;</bdi> – the same as <bdi>private/same</bdi></li>"
            #expect(html.contains(said), "\(html)")
            #expect(!html.contains("<b>") && !html.contains("<script"))
            let again = try home.passdir("health", "--html", page)
            #expect(again.exitCode == 1 && again.output.isEmpty && again.errors.contains("replaces no file"))
            try home.write("password\n", to: "wrong.txt")
            for name in ["wrong.txt", "none.txt", "work"] {
                let wrong = try home.passdir("health", "--breaches", home.path(name).string)
                #expect(
                    wrong.exitCode == 1 && wrong.output.isEmpty && wrong.errors.contains(name), "\(wrong)")
                #expect(wrong.errors.filter(\.isNewline).count == 1, "\(wrong)")
            }
        }
    }

    /// What `health` is named for by a notice, it names: a day that is near. That is no failure.
    @Test func aNearDeadlineIsNamed() throws {
        try withStores { home, stores, _ in
            let day = try home.succeed(["date", "-u", "-d", "4 days", "+%F"])
            let soon = String(decoding: day, as: UTF8.self).filter { !$0.isNewline }
            try insert(stores[0], "soon", Self.strong("soon") + "\nexpires: \(soon)\n")
            try insert(stores[0], "turning", Self.strong("turning") + "\nrotate: 90d\n", daysAgo: 85)
            try insert(stores[0], "later", Self.strong("later") + "\nexpires: 2999-01-01\n")
            let told = try home.passdir("health")
            let lines = told.output.split(separator: "\n")
            #expect(told.exitCode == 0 && lines.count == 2, "\(told)")
            #expect(lines.first == "work/soon expires on \(soon)", "\(told)")
            #expect(lines.last?.hasPrefix("work/turning is to be changed by 20") == true, "\(told)")
        }
    }

    /// Holds:
    /// - A secret that was removed and restored with the same text has the age that it had, also where another program put it back.
    @Test(.slow) func whatIsRestoredKeepsItsAge() throws {
        try withStores { home, stores, _ in
            let store = stores[0]
            for name in ["same", "git", "older", "fresh", "fresh2"] {
                try insert(store, name, Self.strong(name) + "\n", daysAgo: 900)
            }
            try insert(store, "older", Self.strong("other") + "\n", daysAgo: 800)
            let then = try store.git("rev-parse", "HEAD").filter { !$0.isNewline }
            try home.succeed(["passdir", "mv", "work/same", "work/moved"])
            for name in ["moved", "git", "older", "fresh", "fresh2"] {
                try home.succeed(["passdir", "rm", "-f", "work/\(name)"])
            }
            try home.succeed(["passdir", "restore", "work/moved", "--at", "HEAD~5"])
            try home.succeed(["passdir", "mv", "work/moved", "work/same"])
            try store.git("checkout", then, "--", "git.gpg")
            try store.git("commit", "-qm", "Bring it back")
            try home.succeed(["passdir", "restore", "work/older", "--at", "\(then)~1"])
            try insert(store, "fresh", Self.strong("new") + "\n")
            // A new secret with an old name and text is as old as its password is.
            try insert(store, "fresh2", Self.strong("fresh2") + "\n")
            let kept = ["work/same": ["old"], "work/git": ["old"]]
            #expect(try report(home).found == kept)
            #expect(try report(home, "--names-only").found == kept)
            #expect(
                try report(home, "--deep").found == kept.merging(["work/fresh2": ["old"]]) { one, _ in one })
            let ages = try home.passdir("log", "--ages", "work").output.split(separator: "\n").map {
                $0.split(separator: " ").last ?? ""
            }
            #expect(Set(ages.prefix(2)) == ["same", "git"], "\(ages)")
        }
    }

    /// Holds:
    /// - The password's age is that of the secret's last change, and with `--deep` that of the first line's.
    @Test(.slow) func deepFindsTheLastChangeOfThePassword() throws {
        try withStores { home, stores, _ in
            let store = stores[0]
            try insert(store, "edited", Self.strong("one") + "\n", daysAgo: 900)
            try insert(store, "edited", Self.strong("one") + "\nuser: me\n", daysAgo: 2)
            try insert(store, "changed", Self.strong("two") + "\n", daysAgo: 900)
            try insert(store, "changed", Self.strong("three") + "\n", daysAgo: 100)
            try insert(store, "changed", Self.strong("three") + "\nuser: me\n", daysAgo: 2)
            try store.pass(["mv", "edited", "renamed"])
            #expect(try report(home).found.isEmpty)
            #expect(try report(home, "--deep").found == ["work/renamed": ["old"]])
            #expect(
                try report(home, "--deep", "--older-than", "12w").found
                    == ["work/renamed": ["old"], "work/changed": ["old"]])
        }
    }

    /// What lies in a git store has the age that git tells, and not that of whatever put the file there.
    @Test(.slow) func aFileOfAGitStoreIsAsOldAsGitSays() throws {
        try withStores { home, stores, _ in
            let store = stores[0]
            try insert(store, "db", Self.strong("base") + "\n", daysAgo: 900)
            try insert(store, "unsaved", Self.strong("unsaved") + "\n", daysAgo: 20)
            try store.git("checkout", "-qb", "bob")
            try insert(store, "db", Self.strong("bob") + "\n", daysAgo: 8)
            try store.git("checkout", "-q", "main")
            try insert(store, "db", Self.strong("ann") + "\n", daysAgo: 20)
            try store.git("merge", "-q", "-s", "ours", "-m", "Merge bob.", "bob")
            // A text that is not committed.
            try insert(store, "new", Self.strong("new") + "\n")
            try home.succeed(["cp", "work/new.gpg", "work/unsaved.gpg"])
            try store.pass(["rm", "-f", "new"])
            try home.succeed(["touch", "-d", "2020-01-01", "work/db.gpg", "work/unsaved.gpg"])
            #expect(try report(home, "--deep", "--older-than", "3w").found == [:])
            #expect(try report(home, "--deep", "--older-than", "2w").found == ["work/db": ["old"]])
        }
    }

    /// Holds:
    /// - The rule of the longest place says how long a password may serve that has no `rotate:` field.
    @Test(.slow) func foldersHaveRules() throws {
        try withStores { home, stores, _ in
            for name in ["bank/a", "bank/slow/x", "other"] {
                try insert(stores[0], name, Self.strong(name) + "\n", daysAgo: 100)
            }
            try insert(stores[0], "bank/own", Self.strong("own") + "\nrotate: 1y\n", daysAgo: 100)
            try insert(stores[0], "bank/note", "\nMARK\n", daysAgo: 900)
            try insert(stores[0], "bank/slow/old", Self.strong("slow") + "\n", daysAgo: 900)
            #expect(try report(home).found == ["work/bank/slow/old": ["old"]])
            try home.configure(["health.work/bank.rotate": "90d", "health.work/bank/slow.rotate": "5y"])
            #expect(try report(home).found == ["work/bank/a": ["due"]])
            let names = try report(home, "--names-only").found
            #expect(names["work/bank/a"] == ["due"] && names["work/bank/slow/old"] == nil, "\(names)")
            try home.configure(["health.rotate": "1w"])
            #expect(try report(home).found == ["work/bank/a": ["due"], "work/other": ["due"]])
            try home.configure(["health.work/bank.rotate": "MARK"])
            let wrong = try home.passdir("health")
            #expect(
                wrong.exitCode == 1 && wrong.output.isEmpty && wrong.errors.contains("90d, 12w"), "\(wrong)")
        }
    }

    /// Holds:
    /// - `--names-only` decrypts nothing, asks nobody and logs no read.
    @Test func namesOnlyDecryptsNothing() throws {
        try withStores { home, stores, _ in
            try insert(stores[0], "old", "password\n", daysAgo: 900)
            try insert(stores[0], "new", "password\n")
            try home.configure(["access.log": "true"])
            let socket = home.path("gnupg/S.gpg-agent")
            try home.succeed(["gpgconf", "--homedir", home.path("gnupg").string, "--kill", "gpg-agent"])
            unlink(socket.string)
            #expect(try report(home, "--names-only").found == ["work/old": ["old"]])
            #expect(access(socket.string, F_OK) != 0)
            #expect(try home.passdir("access", "log").output == "nothing has been logged\n")
            #expect(try report(home).found.count == 2)
            let log = try home.passdir("access", "log")
            #expect(log.output.contains("work/new"), "\(log)")
        }
    }

    /// Holds:
    /// - What the rules refuse is not looked at, and said.
    @Test func rulesHold() throws {
        try withStores { home, stores, _ in
            try insert(stores[0], "mail/imap", "password\n")
            try insert(stores[0], "other", Self.strong("other") + "\n")
            try home.succeed(["passdir", "access", "set", "work/mail", "--deny"])
            let report = try report(home)
            #expect(report.found.isEmpty && report.secrets.map(\.name) == ["work/other"])
            #expect(report.unread.map(\.name) == ["work/mail/imap"])
            #expect(report.unread.first?.reason.contains("access rules") == true)
            let done = try home.passdir("health")
            #expect(done.exitCode == 1 && done.errors.contains("not looked at: work/mail/imap"), "\(done)")
        }
    }

    /// Holds:
    /// - A person is asked as often as `--limit` says at most, and once where the answer serves for all.
    @Test(.slow) func theLimitHolds() throws {
        try withStores(passphrase: "open") { home, stores, _ in
            for number in 0..<5 { try insert(stores[0], "s\(number)", Self.strong("\(number)") + "\n") }
            var pinentry = try home.usePinentry(.cancel)
            let report = try report(home, "--limit", "2")
            #expect(report.secrets.isEmpty && report.unread.count == 5)
            #expect(report.unread.count { $0.reason.contains("--limit") } == 3, "\(report.unread)")
            #expect(pinentry.promptCount() == 2)
            pinentry = try home.usePinentry(.answer("open"))
            #expect(try self.report(home, "--limit", "0").unread.count == 5)
            #expect(pinentry.promptCount() == 2)
            #expect(try self.report(home, "--limit", "1").secrets.count == 5)
            #expect(pinentry.promptCount() == 3)
        }
    }

    /// Holds:
    /// - Ctrl-C closes the prompt and ends the command.
    @Test func aSignalEndsIt() throws {
        try withStores(passphrase: "open") { home, stores, _ in
            for number in 0..<5 { try insert(stores[0], "s\(number)", Self.strong("\(number)") + "\n") }
            let pinentry = try home.usePinentry(.block("open"))
            let program = try home.start(["passdir", "health"])
            for _ in 0..<200 where pinentry.promptCount() == 0 { usleep(50_000) }
            program.signal(SIGINT)
            let done = try program.wait(limit: .seconds(20))
            #expect(done.exitCode == 128 + SIGINT && done.output.isEmpty, "\(done)")
            #expect(pinentry.promptCount() == 1)
            try pinentry.release()
        }
    }
}
