import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir template`, and `.passdir/rendered` as the kernel and real programs see it.
@Suite struct RenderedFileTests {
    /// Runs a test with the stores `work` and `home` mounted.
    private static func with(
        passphrase: String? = nil, _ body: (TestHome, _ rendered: FilePath) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let other = try passphrase.map { try home.makeKey("b@example.org", passphrase: $0) }
            let work = try home.makeStore("work", recipients: [key])
            try work.insert("db", "hunter2\nuser: ann\n")
            let house = try home.makeStore("home", recipients: [other ?? key])
            try house.insert("token", "t0ken\n")
            try home.addStores([work, house])
            try home.configure(["access.log": "true"])
            try home.mount()
            try body(home, home.mountPoint.appending(".passdir").appending("rendered"))
            try home.unmount()
        }
    }

    private static func output(_ home: TestHome, _ words: [String]) throws -> String {
        String(decoding: try home.succeed(words), as: UTF8.self)
    }

    /// Holds:
    /// - `rendered/NAME` is the template of that name with a value for each of its references: `passdir template add` registers it.
    @Test(.slow) func aTemplateIsAFile() throws {
        try Self.with { home, rendered in
            try home.write("P=\"passdir://work/db#first\"\nT=passdir://home/token#first\n", to: "app.env.tpl")
            try home.succeed(["passdir", "template", "add", "env", "app.env.tpl"])
            let file = rendered.appending("env").string
            let text = "P=\"hunter2\"\nT='t0ken'\n"
            #expect(try Self.output(home, ["ls", rendered.string]) == "env\n")
            let log = ["passdir", "access", "log", "--json"]
            #expect(try !Self.output(home, log).contains("work/db"), "a listing decrypts nothing")
            #expect(try Self.output(home, ["cat", file]) == text)
            #expect(try Self.output(home, ["stat", "-c", "%s %a", file]) == "\(text.utf8.count) 400\n")
            #expect(try Self.output(home, ["tail", "-c", "7", file]) == text.suffix(7))
            let mapped = """
                import mmap, sys
                with open(sys.argv[1], "rb") as file:
                    with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages: sys.stdout.write(pages[:].decode())
                """
            #expect(try Self.output(home, ["python3", "-c", mapped, file]) == text)
            let readers =
                "for n in 1 2 3 4 5 6 7 8; do cat \(file) > read$n & done; wait; cat read? | sort -u"
            #expect(try Self.output(home, ["sh", "-c", "cd; " + readers]) == text)
            // The log has each secret, with the program that opened the file.
            try home.waitUntil("the reads are noted") {
                let noted = try Self.output(home, log).split(separator: "\n").filter { $0.contains("/cat\"") }
                return ["work/db", "home/token"].allSatisfy { place in noted.contains { $0.contains(place) } }
            }
            let list = try home.passdir("template", "list", "--json").output
            #expect(list.contains("\"kind\":\"dotenv\"") && list.contains("\"path\":\"\(file)\""), "\(list)")
            try home.succeed(["passdir", "template", "remove", "env"])
            #expect(try Self.output(home, ["ls", rendered.string]) == "")
            #expect(try home.passdir("template", "remove", "env").errors.contains("no template \"env\""))
        }
    }

    /// Programs take a rendered file, and a secret, by a link for their own: `scripts/real-programs` has more of them.
    @Test(.slow) func programsReadThemByLinks() throws {
        try Self.with { home, _ in
            try home.write("P=passdir://work/db#first\n", to: "app.env.tpl")
            try home.succeed(["passdir", "template", "add", "env", "app.env.tpl"])
            try home.succeed(["passdir", "link", "env", home.path(".env").string])
            let read = "import dotenv, sys; print(dotenv.dotenv_values(sys.argv[1])['P'])"
            let python = ["/usr/bin/python3", "-c", read, home.path(".env").string]
            #expect(try Self.output(home, python) == "hunter2\n")
            let (key, link) = (home.path("key").string, home.path("id").string)
            try home.succeed(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", key])
            try home.succeed(["sh", "-c", "cp \(key) \(home.visible("work/key").string)"])
            try home.succeed(["passdir", "link", "work/key", link])
            // It reads no key whose file others may read.
            let made = try Self.output(home, ["ssh-keygen", "-y", "-f", link])
            #expect(try made == Self.output(home, ["cat", key + ".pub"]))
        }
    }

    /// Holds:
    /// - A wrong reference fails the whole file with EIO; its sentence is in `user.passdir.error` and in `status`.
    @Test(.slow) func aWrongReferenceIsNamed() throws {
        try Self.with { home, rendered in
            try home.write("passdir://work/db#user\npassdir://work/nowhere#first\n", to: "t")
            try home.succeed(["passdir", "template", "add", "bad", "t"])
            let file = rendered.appending("bad").string
            let read = try home.run(["cat", file])
            #expect(read.output.isEmpty && read.errors.contains("Input/output error"), "\(read)")
            let sentence =
                "there is no value for passdir://work/nowhere#first in line 2: there is no secret \"nowhere\" in "
                + "the store \"work\""
            #expect(
                try Self.output(home, ["getfattr", "--only-values", "-n", "user.passdir.error", file])
                    == sentence)
            #expect(try home.passdir("status").output.contains(".passdir/rendered/bad: \(sentence)"))
            let json = try home.passdir("status", "--json").output
            #expect(json.contains("\"rendered\":[{\"error\":\"there is no value for"), "\(json)")
            #expect(try home.passdir("template", "list").output.contains(sentence))
            for (words, said) in [
                (["add", "a/b", "t"], "cannot be the name of a file"),
                (["add", "x", "none"], "cannot read"),
                (["add", "x", home.visible("work/db").string], "it lies in the mount"),
                (["add", "x", rendered.appending("bad").string], "it lies in the mount"),
            ] {
                let done = try home.run(["passdir", "template"] + words)
                #expect(done.exitCode == 1 && done.errors.contains(said), "\(words): \(done)")
            }
            // A link that leads into the mount later is not followed: the daemon would read as itself.
            try home.succeed(["ln", "-sf", home.visible("work/db").string, home.path("t").string])
            #expect(try home.run(["cat", file]).errors.contains("Input/output error"))
            #expect(try home.passdir("status").output.contains("lies in the mount"))
        }
    }

    /// Holds:
    /// - The access rules hold for every secret of a rendered file, for the program that opens it.
    @Test(.slow) func rulesHoldForEachSecret() throws {
        try Self.with { home, rendered in
            try home.write("passdir://work/db#user passdir://home/token#first", to: "t")
            try home.succeed(["passdir", "template", "add", "both", "t"])
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "home/token", "--deny-under", "agent"])
            let file = rendered.appending("both").string
            #expect(try Self.output(home, ["cat", file]) == "ann t0ken")
            let refused = try home.run([agent, "-c", "cat \(file); exit $?"])
            #expect(refused.output.isEmpty && refused.errors.contains("Permission denied"), "\(refused)")
            #expect(
                try home.passdir("status").output.contains("the access rules refuse reading home/token"))
            try home.succeed(["passdir", "lock", "home"])
            #expect(try home.run(["cat", file]).errors.contains("Permission denied"))
            #expect(try home.passdir("status").output.contains("home is locked; passdir unlock home"))
            try home.succeed(["passdir", "unlock", "home"])
        }
    }

    /// Holds:
    /// - `passdir status` tells of a passphrase that was not entered until the file is read or `passdir unlock` succeeds.
    @Test(.slow, arguments: [false, true], ["unlock", "cat", "first"])
    func aPassphraseThatIsEnteredEndsWhatIsTold(isLocked: Bool, by way: String) throws {
        try Self.with(passphrase: "secret") { home, rendered in
            try home.write("passdir://work/db#user passdir://home/token#first", to: "t")
            try home.succeed(["passdir", "template", "add", "both", "t"])
            try home.configureAgent("pinentry-program /nowhere/pinentry\n")
            try home.succeed(["gpgconf", "--kill", "gpg-agent"])
            if isLocked { try home.succeed(["passdir", "lock", "home"]) }
            #expect(try home.run(["cat", rendered.appending("both").string]).exitCode == 1)
            let told = "rendered/both: there is no value for passdir://home/token#first in line 1: "
            #expect(try home.passdir("status").output.contains(told))
            try home.usePinentry(.answer("secret"))
            switch way {
            case "unlock": try home.succeed(["passdir", "unlock", "home"])
            case "cat": try home.succeed(["cat", home.visible("home/token").string])
            default: try home.succeed(["cat", home.mountPoint.string + "/.passdir/first/home/token"])
            }
            let status = try home.passdir("status").output
            #expect(!status.contains("rendered/both") && !status.contains("pinentry"), "\(status)")
        }
    }

    /// Holds:
    /// - Who waits for a passphrase for a rendered file keeps nobody else waiting, and Ctrl-C ends the wait.
    @Test(.slow) func aWaitHoldsUpNobody() throws {
        try Self.with(passphrase: "secret") { home, rendered in
            try home.write("passdir://work/db#user passdir://home/token#first", to: "t")
            try home.succeed(["passdir", "template", "add", "both", "t"])
            let pinentry = try home.usePinentry(.block("secret"))
            let file = rendered.appending("both").string
            let reader = try home.start(["cat", file])
            try home.waitUntil("a passphrase is asked for") { pinentry.promptCount() > 0 }
            #expect(try Self.output(home, ["head", "-n1", home.visible("work/db").string]) == "hunter2\n")
            #expect(try Self.output(home, ["ls", "-l", rendered.string]).contains("both"))
            reader.signal(SIGINT)
            #expect(try reader.wait().exitCode == 128 + SIGINT)
            let second = try home.start(["cat", file])
            try home.waitUntil("it is asked for again") { pinentry.promptCount() > 1 }
            try pinentry.release()
            #expect(try second.wait().output == "ann t0ken")
        }
    }
}
