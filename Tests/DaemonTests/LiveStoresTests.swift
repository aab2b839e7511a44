import Glibc
import SystemPackage
import TestKit
import Testing

/// The running daemon follows the configuration, whoever changes it.
@Suite struct LiveStoresTests {
    private func names(_ home: TestHome) -> [String] {
        String(decoding: (try? home.succeed(["ls", home.mountPoint.string])) ?? [], as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    private func twoStores(_ home: TestHome) throws -> (TestStore, TestStore) {
        let key = try home.makeKey("a@example.org")
        let one = try home.makeStore("one", recipients: [key], remote: true)
        let two = try home.makeStore("two", recipients: [key])
        try one.insert("mail/imap", "one's")
        try two.insert("mail/imap", "two's")
        return (one, two)
    }

    @Test(.slow) func storesComeAndGo() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one])
            try home.mount()
            #expect(names(home) == ["one"])
            try home.addStores([two])
            #expect(names(home) == ["one", "two"])
            #expect(try home.bytes(at: home.mountPoint.pushing("two/mail/imap")) == Array("two's".utf8))
            try home.succeed(["passdir", "store", "rename", "two", "zwei"])
            #expect(names(home) == ["one", "zwei"])
            #expect(try home.bytes(at: home.mountPoint.pushing("zwei/mail/imap")) == Array("two's".utf8))
            try home.succeed(["passdir", "store", "hide", "one", "--mount"])
            #expect(names(home) == ["zwei"])
            try home.succeed(["passdir", "store", "unhide", "one"])
            #expect(names(home) == ["one", "zwei"])
            try home.succeed(["passdir", "store", "remove", "zwei", "--yes"])
            #expect(names(home) == ["one"])
            #expect(try two.show("mail/imap") == Array("two's".utf8))
            try home.unmount()
        }
    }

    /// A user may have 128 inotify instances (inotify(7)); who gets none is told what that means.
    @Test(.slow) func statusSaysThatChangesAreNotNoticed() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one])
            try home.mount(extra: ["PASSDIR_FAULT": "fail:configuration.watch"])
            let status = try home.passdir("status").output
            #expect(status.contains("warning  changes to \(home.path("config/passdir/config"))"), "\(status)")
            #expect(status.contains("passdir unmount and passdir mount"), "\(status)")
            // Commands tell the daemon themselves.
            try home.addStores([two])
            #expect(names(home) == ["one", "two"])
            try home.unmount()
            try home.mount()
            #expect(try !home.passdir("status").output.contains("warning  changes"))
            try home.write("[store \"one\"\n", to: "config/passdir/config")
            try home.waitUntil("status tells it") {
                try home.passdir("status").output.contains("warning  the configuration is not applied")
            }
            #expect(names(home) == ["one", "two"])
            try home.unmount()
        }
    }

    @Test(.slow) func anEditorsChangeIsFollowed() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            try home.mount()
            let config = "config/passdir/config"
            let text = try home.text(of: config)
            // As an editor writes: a new file renamed over the old one.
            try home.write(
                text.replacing("[store \"two\"]", with: "[store \"other\"]"), to: "config/passdir/new")
            try home.succeed(["mv", home.path("config/passdir/new").string, home.path(config).string])
            try home.waitUntil("the new name is shown") { names(home) == ["one", "other"] }
            // In place, and names swapped.
            try home.write(
                text.replacing("\"two\"", with: "\"x\"").replacing("\"one\"", with: "\"two\"")
                    .replacing("\"x\"", with: "\"one\""), to: config)
            try home.waitUntil("the names are swapped") {
                (try? home.bytes(at: home.mountPoint.pushing("one/mail/imap"))) == Array("two's".utf8)
                    && (try? home.bytes(at: home.mountPoint.pushing("two/mail/imap"))) == Array("one's".utf8)
            }
            // What is wrong is not followed, and said.
            try home.write(text + "\treadOnly = perhaps\n", to: config)
            let line = text.split(separator: "\n", omittingEmptySubsequences: false).count
            let result = try home.passdir("store", "list")
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("\(home.path(config)):\(line): "), "\(result.errors)")
            #expect(result.errors.contains("true or false"))
            #expect(names(home) == ["one", "two"])
            try home.write(text, to: config)
            try home.waitUntil("the names are back") {
                (try? home.bytes(at: home.mountPoint.pushing("one/mail/imap"))) == Array("one's".utf8)
            }
            try home.unmount()
        }
    }

    /// Who writes into the file itself has emptied it before: stores do not leave for that moment, however long it is.
    @Test(.slow) func aFileThatIsBeingWrittenIsNotFollowed() throws {
        try TestHome.with { home in
            let (one, _) = try twoStores(home)
            try home.addStores([one])
            try home.mount()
            let writer = """
                import os, sys, time
                file, shown = sys.argv[1:]
                failed = []
                text = open(file).read()
                with open(file, "w") as first: first.write(text)
                # The daemon is about to look by now.
                for pause in 0.04, 0.2, 0.001, 0.049, 0.05:
                    time.sleep(pause)
                    with open(file, "w") as other:
                        for step in range(20):
                            time.sleep(0.01)
                            try: os.stat(shown)
                            except OSError as error: failed.append(f"{pause} {step} {error}")
                        other.write(text)
                sys.exit(", ".join(failed) or 0)
                """
            let result = try home.run(
                [
                    "python3", "-c", writer, home.path("config/passdir/config").string,
                    home.mountPoint.pushing("one").string,
                ])
            #expect(result.exitCode == 0, "\(result.errors)")
            try home.succeed(["passdir", "store", "rename", "one", "eins"])
            #expect(names(home) == ["eins"])
            try home.unmount()
        }
    }

    /// Whatever else goes on in its folder.
    @Test func aChangeIsFollowedBesideOtherFiles() throws {
        try TestHome.with { home in
            let (one, _) = try twoStores(home)
            try home.addStores([one])
            try home.mount()
            let writer =
                "while ! [ -e enough ]; do echo > config/passdir/other; done; rm config/passdir/other enough"
            let other = try home.start(["sh", "-c", writer])
            let text = try home.text(of: "config/passdir/config")
            try home.write(text.replacing("[store \"one\"]", with: "[store \"eins\"]"), to: "new")
            try home.succeed(["mv", "new", "config/passdir/config"])
            try home.waitUntil("it is followed") { names(home) == ["eins"] }
            try home.write("", to: "enough")
            #expect(try other.wait(limit: .seconds(20)).exitCode == 0)
            try home.unmount()
        }
    }

    @Test(.slow) func openFilesEndProperlyWhenTheirStoreLeaves() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            try home.mount()
            let reader = try FileDescriptor.open(home.mountPoint.pushing("one/mail/imap"), .readOnly)
            let writer = try FileDescriptor.open(home.mountPoint.pushing("one/mail/imap"), .writeOnly)
            try home.succeed(["passdir", "store", "hide", "one"])
            #expect(names(home) == ["two"])
            var bytes = [UInt8](repeating: 0, count: 16)
            #expect(try bytes.withUnsafeMutableBytes { try reader.read(into: $0) } == 5)
            #expect(try writer.writeAll(Array("1".utf8)) == 1)
            try writer.close()
            try reader.close()
            #expect(try one.show("mail/imap") == Array("1ne's".utf8))
            try home.waitUntil("the last save is pushed") {
                try one.remoteGit("log", "-1", "--format=%s", "main").contains("mail/imap")
                    && one.git("status", "--short").isEmpty
            }
            #expect(throws: Errno.noSuchFileOrDirectory) {
                _ = try FileDescriptor.open(home.mountPoint.pushing("one/mail/imap"), .readOnly)
            }
            // And it comes back.
            try home.succeed(["passdir", "store", "unhide", "one"])
            #expect(try home.bytes(at: home.mountPoint.pushing("one/mail/imap")) == Array("1ne's".utf8))
            try home.unmount()
        }
    }

    @Test(.slow) func aReadOnlyStoreIsNotChanged() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            try home.succeed(["passdir", "store", "set", "one", "readOnly", "true"])
            try home.mount()
            let head = try one.git("rev-parse", "HEAD")
            let folder = home.mountPoint.appending("one")
            for command in [
                ["sh", "-c", "echo x > '\(folder)/mail/imap'"], ["sh", "-c", "echo x > '\(folder)/new'"],
                ["rm", "\(folder)/mail/imap"], ["mkdir", "\(folder)/d"], ["touch", "\(folder)/mail/imap"],
                ["mv", "\(folder)/mail/imap", "\(folder)/mail/other"], ["rmdir", "\(folder)/mail"],
                ["python3", "-c", "import os; os.mknod('\(folder)/node')"],
                ["chmod", "400", "\(folder)/mail/imap"],
                ["ln", "-s", "imap", "\(folder)/mail/link"], ["truncate", "-s", "1", "\(folder)/mail/imap"],
            ] {
                let result = try home.run(command)
                #expect(result.exitCode != 0 && result.errors.contains("Read-only file system"), "\(command)")
            }
            #expect(try home.bytes(at: folder.pushing("mail/imap")) == Array("one's".utf8))
            #expect(try one.git("rev-parse", "HEAD") == head)
            #expect(try one.git("status", "--short").isEmpty)
            try home.succeed(["passdir", "store", "set", "one", "readOnly"])
            try home.succeed(["sh", "-c", "printf x > '\(folder)/mail/imap'"])
            try home.unmount()
            #expect(try one.show("mail/imap") == Array("x".utf8))
        }
    }

    @Test func theSwitchesAreSeparate() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            try home.succeed(["passdir", "store", "hide", "one", "--mount"])
            try home.succeed(["passdir", "store", "hide", "two", "--autofill"])
            try home.mount()
            #expect(names(home) == ["two"])
            let all = try home.passdir("search", "imap").output
            #expect(all == "two/mail/imap\n")
            #expect(try home.passdir("search", "imap", "--autofill").output == "one/mail/imap\n")
            try home.unmount()
        }
    }

    @Test func anIdentifierSurvivesAnotherName() throws {
        try TestHome.with { home in
            let (one, _) = try twoStores(home)
            try home.addStores([one])
            let json = try home.passdir("search", "imap", "--json").output
            let id = try #require(json.firstMatch(of: /[0-9a-f]{8}-[0-9a-f-]{27}/)?.output)
            #expect(json.contains("\"identifier\":\"\(id):mail/imap\""))
            try home.succeed(["passdir", "store", "rename", "one", "eins"])
            #expect(try home.passdir("list", "\(id):mail").output == "eins/mail/imap\n")
            #expect(try home.passdir("recipients", "show", "\(id):mail").output.contains("a@example.org"))
            #expect(try home.passdir("log", "\(id):mail/imap").output.contains("mail/imap"))
            #expect(try home.passdir("list", "\(id):../x").exitCode == 1)
        }
    }

    @Test func namesOfStoresAreCompleted() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            for shell in ["bash", "zsh", "fish"] {
                let script = try home.succeed(["passdir", "--generate-completion-script", shell])
                #expect(
                    String(decoding: script, as: UTF8.self).contains("---completion store show"), "\(shell)")
                try home.succeed(["sh", "-c", "cat > ~/completion.\(shell)"], input: script)
            }
            let reply = try home.succeed([
                "bash", "-c",
                """
                source ~/completion.bash
                COMP_WORDS=(passdir store show t); COMP_CWORD=3; COMP_LINE="passdir store show t"
                COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
                _passdir passdir t show; echo "${COMPREPLY[*]}"
                """,
            ])
            #expect(reply == Array("two\n".utf8))
        }
    }

    @Test func aConfigurationThatComesIsFollowed() throws {
        try TestHome.with { home in
            let (one, _) = try twoStores(home)
            try home.succeed(["cp", "-r", one.path.string, home.path(".password-store").string])
            try home.mount()
            #expect(names(home) == ["default"])
            try home.write("[store \"one\"]\n\tpath = \(one.path)\n", to: "config/passdir/config")
            try home.waitUntil("the store of the new file is shown") { names(home) == ["one"] }
            try home.unmount()
        }
    }

    @Test(.slow) func manyStoresCostNothingUntilUsed() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let first = try home.makeStore("s0", recipients: [key])
            try first.insert("x", "secret")
            var text = ""
            for number in 0..<50 {
                if number > 0 {
                    try home.succeed(["cp", "-r", first.path.string, home.path("s\(number)").string])
                }
                text += "[store \"s\(number)\"]\n\tpath = \(home.path("s\(number)"))\n"
            }
            try home.succeed(["mkdir", "-p", home.path("config/passdir").string])
            try home.write(text, to: "config/passdir/config")
            let daemon = try home.mount()
            try home.succeed(["ls", "-l", home.mountPoint.string])
            let open = String(
                decoding: try home.succeed([
                    "sh", "-c", "ls -l /proc/\(daemon)/fd | grep -c '\(home.folder)/s[0-9]' || true",
                ]),
                as: UTF8.self)
            #expect(open == "0\n")
            #expect(try home.bytes(at: home.mountPoint.pushing("s17/x")) == Array("secret".utf8))
            // Ids were given to all of them.
            #expect(try home.text(of: "config/passdir/config").components(separatedBy: "id = ").count == 51)
            try home.unmount()
        }
    }

    @Test(.slow) func whatACrashLeftIsCommittedThoughNobodyLooks() throws {
        try TestHome.with { home in
            let (one, two) = try twoStores(home)
            try home.addStores([one, two])
            let config = home.path("config/passdir/config").string
            try home.succeed(["git", "config", "-f", config, "commit.delay", "10m"])
            try home.mount()
            try home.succeed(["sh", "-c", "printf new > '\(home.mountPoint)/one/new'"])
            try home.killDaemon()
            try home.freeMount()
            #expect(try !one.git("status", "--short").isEmpty)
            try home.succeed(["git", "config", "-f", config, "--unset", "commit.delay"])
            try home.mount()
            try home.waitUntil("the change is committed") { try one.git("status", "--short").isEmpty }
            try home.unmount()
        }
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
