import Glibc
import SystemPackage
import TestKit
import Testing

/// Ways around rules of who may read that attackers found.
@Suite struct AccessDetourTests {
    /// In a process namespace a command has a number that another program has outside.
    @Test(.slow) func aNumberInANamespaceIsNobodyElse() throws {
        try TestHome.withAgent { home, _, agent in
            let unshare = "unshare \(geteuid() == 0 ? "" : "-Ur") --pid --fork"
            #expect(try home.run([agent, "-c", "passdir show work/aws/key; :"]).output == "")
            for command in [
                "passdir show work/aws/key", "passdir run --env X=passdir://work/aws/key#first -- printenv X",
                "passdir cp work/aws/key work/open/copy",
            ] {
                for mounting in ["", " --mount-proc"] where geteuid() == 0 || mounting.isEmpty {
                    let result = try home.run([agent, "-c", "\(unshare)\(mounting) \(command); :"])
                    #expect(!result.output.contains("MARK"), "\(command)\(mounting)")
                    #expect(result.errors.contains("access rules refuse"), "\(result.errors)")
                }
            }
            #expect(try home.run(["ls", home.visible("work/open/copy").string]).exitCode != 0)
            #expect(try home.passdir("show", "work/aws/key").output == "MARK\n")
            let log = try home.passdir("access", "log").output
            #expect(log.contains("denied") && !log.contains("uncertain"), "\(log)")
        }
    }

    /// Whoever started a command is judged as what they are when it has decrypted, too.
    @Test(arguments: ["--deny", "--ask"]) func whoBecomesAnotherProgramGetsNothing(_ outcome: String) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org", passphrase: "secret")])
            try store.insert("a", "MARK\n")
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "access", "set", "work", outcome, "sleep"])
            try home.usePinentry(.block("secret"))
            // Whoever is asked about the other program says no.
            try home.succeed([
                "sed", "-i", "s/^    BYE)/    CONFIRM) echo 'ERR 83886179 no' ;;\\n&/", "pinentry",
            ])
            try home.write(
                """
                passdir show work/a >shown 2>said </dev/null &
                while [ ! -e prompts ]; do sleep 0.05; done
                exec sleep 100
                """, to: "starter")
            let script = """
                bash starter &
                for n in $(seq 400); do
                    case $(readlink /proc/$!/exe) in */sleep) break ;; esac
                    sleep 0.05
                done
                touch prompts.released
                for n in $(seq 400); do [ -s said ] || [ -s shown ] || sleep 0.05; done
                kill $!
                cat shown said
                """
            let shown = String(decoding: try home.succeed(["bash", "-c", script]), as: UTF8.self)
            #expect(shown.contains("access rules refuse") && !shown.contains("MARK"), "\(shown)")
            let log = try home.passdir("access", "log").output
            #expect(log.contains(outcome == "--deny" ? "denied" : "declined"), "\(log)")
            #expect(!log.contains("allowed") && !log.contains("agreed"), "\(log)")
            try home.unmount()
        }
    }

    /// Of a folder with a secret that may not be read nothing is moved or copied.
    @Test(.slow, arguments: ["mv", "cp"]) func aFolderIsMovedWholeOrNotAtAll(_ command: String) throws {
        try TestHome.withAgent { home, store, agent in
            for name in ["folder/a", "folder/b", "folder/z"] { try store.insert(name, "text\n") }
            try home.succeed(["passdir", "access", "set", "work/folder/b", "--deny-under", "agent"])
            let head = try store.git("rev-parse", "HEAD")
            let tried = try home.run([agent, "-c", "passdir \(command) work/folder work/other; :"])
            #expect(tried.errors.contains("access rules refuse reading work/folder/b"), "\(tried)")
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(try home.run(["ls", home.visible("work/other").string]).exitCode != 0)
            let names = try home.run(["ls", home.visible("work/folder").string]).output
            #expect(names == "a\nb\nz\n")
            try home.succeed(["passdir", command, "work/folder", "work/other"])
            #expect(try home.run(["cat", home.visible("work/other/b").string]).output == "text\n")
        }
    }

    /// Holds:
    /// - A symbolic link that leads from a place with rules of who may read to one where these do not hold is shown but not
    ///   followed (EACCES).
    @Test func aLinkInAPlaceOfRulesLeadsNowhereElse() throws {
        try TestHome.withAgent { home, store, agent in
            let folder = store.path.string
            try home.succeed([
                "sh", "-c",
                "cd \(folder) && git mv aws open/hidden && ln -s open/hidden aws && git add -A && git commit -qm push",
            ])
            for shell in [agent, "/bin/sh"] {
                let result = try home.run([shell, "-c", "cat \(home.visible("work/aws/key").string); :"])
                #expect(
                    result.output == "" && result.errors.contains("Permission denied"), "\(result.errors)")
            }
            #expect(
                try home.run(["sh", "-c", "echo new > \(home.visible("work/aws/new").string)"]).exitCode != 0)
            // Links within the place, and where there are no rules, are followed.
            try home.succeed(["passdir", "access", "unset", "work/aws"])
            #expect(try home.run(["cat", home.visible("work/aws/key").string]).output == "MARK\n")
            try home.succeed(["passdir", "access", "set", "work", "--deny-under", "agent"])
            #expect(try home.run(["cat", home.visible("work/aws/key").string]).output == "MARK\n")
            #expect(
                try home.run([agent, "-c", "cat \(home.visible("work/aws/key").string); :"]).output == "")
        }
    }
}
