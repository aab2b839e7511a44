import Glibc
import SystemPackage
import TestKit
import Testing

/// Set-ups of pass, gopass and QtPass become stores; nothing of theirs is changed, and twice adds nothing.
@Suite struct ImportTests {
    private func stores(_ home: TestHome) throws {
        let key = try home.makeKey("a@example.org")
        for name in [".password-store", "team", "gp root", "old", "qt"] {
            _ = try home.makeStore(name, recipients: [key], git: false)
        }
    }

    private func names(_ home: TestHome) throws -> [String] {
        try home.passdir("store", "list").output.split(separator: "\n").dropFirst()
            .compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    private func digest(_ home: TestHome) throws -> [UInt8] {
        try home.succeed([
            "sh", "-c",
            "cd ~ && find config .password-store team old qt 'gp root' -path config/passdir -prune -o -type f -exec sha256sum {} + | sort",
        ])
    }

    private func configurePrograms(_ home: TestHome) throws {
        try home.succeed([
            "mkdir", "-p", home.path("config/gopass").string, home.path("config/IJHack").string,
        ])
        // gopass 1.15, docs/config.md: git-config syntax.
        try home.write(
            """
            [core]
            \tautopush = true
            \tcliptimeout = 45
            [mounts]
            \tpath = \(home.path("gp root"))
            [mounts "eng/team"]
            \tpath = \(home.path("team"))
            [mounts "gone"]
            \tpath = \(home.path("gone"))

            """, to: "config/gopass/config")
        // QtPass 1.4: QSettings, profiles as groups.
        try home.write(
            """
            [General]
            autoPull=true
            passStore=\(home.path(".password-store"))/
            profile=private

            [profile]
            my%20qt\\path=\(home.path("qt"))/
            my%20qt\\signingKey=
            private\\path=\(home.path(".password-store"))/

            """, to: "config/IJHack/QtPass.conf")
    }

    @Test func everythingIsImportedOnce() throws {
        try TestHome.with { home in
            try stores(home)
            try configurePrograms(home)
            let before = try digest(home)
            let first = try home.passdir("store", "import")
            #expect(first.exitCode == 0, "\(first.errors)")
            #expect(
                first.output.contains(
                    "skipped gopass's \(home.path("gone")): \(home.path("gone")) does not exist"))
            #expect(try home.passdir("store", "list", "--json").output.contains("\"name\":\"my qt\""))
            #expect(try names(home) == ["default", "gopass", "eng-team", "my"])
            let text = try home.text(of: "config/passdir/config")
            let second = try home.passdir("store", "import")
            #expect(second.output.contains("default already exists"))
            #expect(try home.text(of: "config/passdir/config") == text)
            #expect(try digest(home) == before)
        }
    }

    /// What gopass or QtPass name may be anything: a source tree with a `.gpg` file is no store.
    @Test func aSourceTreeIsNotImported() throws {
        try TestHome.with { home in
            try stores(home)
            try configurePrograms(home)
            let tree = home.path("team")
            try home.succeed(
                [
                    "sh", "-ec",
                    "rm .gpg-id; git init -q; echo x >keyring.gpg; mkdir sub; cp ../old/.gpg-id sub/",
                ],
                in: tree)
            let facts = "git status --porcelain --ignored; find . -type f | sort | xargs sha256sum"
            let before = try home.succeed(["sh", "-c", facts], in: tree)
            let imported = try home.passdir("store", "import")
            #expect(
                imported.output.contains("skipped gopass's \(tree): there is no .gpg-id in \(tree)"),
                "\(imported.output)\(imported.errors)")
            #expect(try names(home) == ["default", "gopass", "my"])
            try home.mount()
            try home.succeed(["sh", "-c", "ls -R mnt >/dev/null"])
            try home.unmount()
            #expect(try home.succeed(["sh", "-c", facts], in: tree) == before)
        }
    }

    @Test func theFirstMountImports() throws {
        try TestHome.with { home in
            try stores(home)
            try configurePrograms(home)
            try home.mount()
            let listed = String(decoding: try home.succeed(["ls", home.mountPoint.string]), as: UTF8.self)
            #expect(listed == "default\neng-team\ngopass\nmy qt\n")
            try home.unmount()
            let text = try home.text(of: "config/passdir/config")
            // What was removed afterwards stays away.
            try home.succeed(["passdir", "store", "remove", "gopass", "--yes"])
            try home.mount()
            #expect(try !home.succeed(["ls", home.mountPoint.string]).isEmpty)
            #expect(try !names(home).contains("gopass"))
            try home.unmount()
            #expect(try home.text(of: "config/passdir/config") != text)
        }
    }

    @Test(
        arguments: sampled([
            "path: HOME/old\nmounts:\n  team: HOME/team\nautosync: true\n",
            "root:\n  askformore: false\n  path: gpgcli-gitcli-fs+file://HOME/old\nmounts:\n  team:\n    autosync: true\n"
                + "    path: gpgcli-gitcli-fs+file://HOME/team\nversion: 1.8.3\n",
            "# old\nautoclip: true\nmounts: {}\npath: \"HOME/old\"\nmounts:\n  'team': \"HOME/team\" # ours\n",
        ])) func gopassYAML(_ text: String) throws
    {
        try TestHome.with { home in
            try stores(home)
            try home.succeed(["rm", "-r", home.path(".password-store").string])
            try home.succeed(["mkdir", "-p", home.path("config/gopass").string])
            try home.write(text.replacing("HOME", with: home.folder.string), to: "config/gopass/config.yml")
            try home.succeed(["passdir", "store", "import"])
            #expect(try names(home).sorted() == ["gopass", "team"])
            try home.succeed(["passdir", "store", "import"])
            #expect(try names(home).count == 2)
        }
    }

    @Test func oldQtPassProfiles() throws {
        try TestHome.with { home in
            try stores(home)
            try home.succeed(["mkdir", "-p", home.path("config/IJHack").string])
            try home.write(
                "[profile]\nqt=\(home.path("qt"))\nteam=\"\(home.path("team"))/\"\n",
                to: "config/IJHack/QtPass.conf")
            try home.succeed(["passdir", "store", "import"])
            #expect(try names(home).sorted() == ["default", "qt", "team"])
        }
    }

    @Test func passAloneNeedsNoConfiguration() throws {
        try TestHome.with { home in
            try stores(home)
            try home.mount()
            #expect(try home.succeed(["ls", home.mountPoint.string]) == Array("default\n".utf8))
            #expect(access(home.path("config/passdir/config").string, F_OK) != 0)
            try home.unmount()
        }
    }
}
