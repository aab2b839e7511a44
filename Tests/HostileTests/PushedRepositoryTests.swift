import Glibc
import SystemPackage
import TestKit
import Testing

/// A folder that somebody pushed and that looks like a git directory: its `config` names programs, and passdir must
/// never open it as a repository.
@Suite struct PushedRepositoryTests {
    /// One way to have a command run by a repository's own configuration.
    struct Attack: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Where the folder lies in the store.
        var place: String
        /// What its `config` says; `PROGRAM` stands for a program that leaves a mark, `REMOTE` for an empty repository.
        var config: String
        /// Further files of the store: path and content, with the same words.
        var files: [String: String] = [:]

        init(_ name: String, at place: String, _ config: String, _ files: [String: String] = [:]) {
            (testDescription, self.place, self.config, self.files) = (
                "\(name) in \(place)", place, config, files
            )
        }
    }

    private static let ext = """
        [core]
        \tworktree = .
        [protocol "ext"]
        \tallow = always
        [remote "origin"]
        \turl = ext::sh -c PROGRAM
        """
    private static let hook = """
        [core]
        \tworktree = .
        [remote "origin"]
        \turl = REMOTE
        """
    private static let signing = """
        [core]
        \tworktree = .
        [commit]
        \tgpgsign = true
        [gpg]
        \tformat = ssh
        [gpg "ssh"]
        \tprogram = PROGRAM
        [user]
        \tsigningkey = key::ssh-ed25519 AAAA
        """

    static let attacks: [Attack] =
        [
            "mail", "team/mail", "a/b/c/d", "team/mail.git", "team/.GIT", "team/.Git", "team/git~1",
            "team/.git ",
            "team/.git.", "team/GIT~1", "team/.git::$INDEX_ALLOCATION", "-c", "te am/ma\til",
        ].map { Attack("ext::", at: $0, ext) } + [
            Attack("signing", at: "team/mail", signing),
            Attack(
                "core.sshCommand", at: "team/mail",
                """
                [core]
                \tworktree = .
                \tsshCommand = PROGRAM
                \tfsmonitor = PROGRAM
                [remote "origin"]
                \turl = ssh://nobody@127.0.0.1:1/x.git
                """),
            Attack(
                "hooks", at: "team/mail", hook,
                [
                    "team/mail/hooks/pre-push": "#!/bin/sh\nPROGRAM\n",
                    "team/mail/hooks/reference-transaction": "#!/bin/sh\nPROGRAM\n",
                ]),
            Attack(
                "core.hooksPath", at: "team/mail", hook + "\n[core]\n\thooksPath = HERE/mine\n",
                ["team/mail/mine/pre-push": "#!/bin/sh\nPROGRAM\n"]),
            Attack(
                "include", at: "team/mail", "[core]\n\tworktree = .\n[include]\n\tpath = more\n",
                ["team/mail/more": ext]),
            // The folder is the git directory of a worktree whose common directory lies elsewhere.
            Attack(
                "commondir", at: "team/mail", "",
                ["team/mail/commondir": "../common\n", "team/mail/gitdir": "x/.git\n"]
                    .merging(bare("team/common", ext)) { $1 }),
            Attack(
                "gitfile .GIT", at: "elsewhere", ext,
                ["team/.GIT": "gitdir: ../elsewhere\n", "team/git~1": "gitdir: ../elsewhere\n"]),
            Attack(
                "submodule", at: "elsewhere", ext,
                [
                    ".gitmodules": """
                    [submodule "team"]
                    \tpath = team
                    \turl = ext::sh -c PROGRAM
                    \tupdate = !PROGRAM
                    """
                ]),
            Attack(
                "filter", at: "elsewhere", ext,
                [".gitattributes": "*.gpg filter=mine diff=mine merge=mine\n"]),
        ]

    private static func bare(_ place: String, _ config: String) -> [String: String] {
        [
            "\(place)/HEAD": "ref: refs/heads/main\n", "\(place)/config": config, "\(place)/objects/x": "",
            "\(place)/refs/heads/x": "", "\(place)/description": "",
        ]
    }

    /// Holds:
    /// - A pushed folder that looks like a git directory is never opened as a repository, and no program that
    ///   it names runs.
    @Test(arguments: sampled(attacks)) func aPushedGitDirectoryIsNeverOpened(_ attack: Attack) throws {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("seen", "1\n")
            try store.git("push", "-q")
            try home.write(
                "#!/bin/sh\necho \"$0 $*\" >> '\(home.folder)/ran'\n", to: "program",
                mode: [.ownerReadWriteExecute])
            try home.succeed(["git", "init", "-q", "--bare", "-b", "main", home.path("theirs.git").string])
            // What the user's own configuration would do with a filter that an attribute names.
            try home.succeed(["git", "config", "--global", "filter.mine.clean", home.path("program").string])
            try home.succeed(["git", "config", "--global", "filter.mine.smudge", home.path("program").string])
            try home.succeed(["git", "config", "--global", "merge.mine.driver", home.path("program").string])
            try home.addStores([store])
            try home.mount()
            try push(attack, to: store)
            _ = try home.passdir("sync", "work")
            let folder = attack.place == "elsewhere" ? "team" : attack.place
            // Names that git takes for its own come in nowhere; the others do, and are used.
            let visible = home.mountPoint.appending("work").pushing(FilePath(folder))
            if access(visible.string, F_OK) == 0 {
                for path in [folder, folder + "/refs", folder + "/objects"] {
                    let file = home.mountPoint.appending("work").pushing(FilePath(path))
                    guard access(file.string, F_OK) == 0 else { continue }
                    _ = try home.run(["sh", "-c", "echo secret > \"$1/new\"", "sh", file.string])
                    _ = try home.run(["sh", "-c", "cat \"$1/known\"", "sh", file.string])
                }
            }
            _ = try home.passdir("sync", "work")
            try home.unmount()
            let ran = (try? home.text(of: "ran")) ?? ""
            #expect(ran.isEmpty, "\(ran)")
            #expect(
                try home.succeed(["git", "for-each-ref"], in: home.path("theirs.git")).isEmpty,
                "something was pushed to a remote that a pushed file names")
            // What was saved there went where everything of the store goes, but for names that git lets into no tree.
            let isGits = folder.lowercased().contains("/.git") || folder.lowercased().contains("/git~1")
            if !isGits, access(store.path.pushing(FilePath(folder)).appending("new.gpg").string, F_OK) == 0 {
                let names = try home.succeed(
                    ["git", "-c", "core.quotePath=false", "ls-tree", "-rz", "--name-only", "main"],
                    in: home.path("work.git"))
                let listed = names.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                #expect(listed.contains(folder + "/new.gpg"), "\(listed)")
            }
        }
    }

    /// Pushes a commit with the attack's files to the store's remote, as a collaborator can.
    private func push(_ attack: Attack, to store: TestStore) throws {
        let home = store.home
        let remote = home.path("work.git")
        let program = home.path("program").string
        var files = Self.bare(attack.place, attack.config).merging(attack.files) { $1 }
        if attack.testDescription.hasPrefix("submodule") { files = attack.files }
        files[attack.place + "/known.gpg"] = ""
        files["team/known.gpg"] = ""
        let here = store.path.pushing(FilePath(attack.place)).string
        let builder = HostileTree(home: home, repository: remote)
        let tip = try builder.resolve("main")
        func item(_ path: String) throws -> [UInt8] {
            try home.succeed(["git", "cat-file", "blob", "main:\(path)"], in: remote)
        }
        var contents = files.mapValues {
            Array(
                $0.replacing("PROGRAM", with: program).replacing("HERE", with: here)
                    .replacing("REMOTE", with: home.path("theirs.git").string).utf8)
        }
        for name in [".gpg-id", "seen.gpg", ".gitattributes"] where contents[name] == nil {
            contents[name] = try item(name)
        }
        for name in contents.keys where name.hasSuffix("known.gpg") { contents[name] = try item("seen.gpg") }
        var tree = try builder.tree(
            files: contents, executable: { $0.contains("hooks/") || $0.contains("mine/") })
        if attack.testDescription.hasPrefix("submodule") {
            tree = try builder.adding(.init("160000", "sub", tip), to: tree)
        }
        try builder.move("main", to: builder.commit(tree, parents: [tip]))
    }
}

/// The list of recipients at a store's top, without which a folder is no store.
@Suite struct TopListTests {
    /// Holds:
    /// - A branch that would leave the store without its list of recipients is not merged.
    @Test(.slow, arguments: ["git rm -q .gpg-id", "mkdir x; git mv .gpg-id x/"])
    func aBranchWithoutItIsNotTakenIn(_ script: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            let list = try home.text(of: "work/.gpg-id")
            try home.mount()
            func push(_ script: String) throws {
                try home.succeed(
                    [
                        "sh", "-ec",
                        "\(script)\ngit add -A -f\ngit commit --quiet -m Change.\ngit push --quiet",
                    ],
                    in: home.path("theirs"))
            }
            try home.succeed(["git", "clone", "--quiet", shared.store.remote!.string, "theirs"])
            try push(script)
            let sync = try shared.run(["sync", "work"])
            #expect(
                sync.exitCode != 0 && sync.errors.contains("no longer has a .gpg-id at its top"),
                "\(sync.errors)")
            #expect(try home.text(of: "work/.gpg-id") == list)
            try home.succeed(["sh", "-c", "echo new >mnt/work/new"])
            // It arrives once it is put right.
            try push("git revert --no-commit HEAD")
            try shared.succeed(["sync", "work"])
            try home.unmount()
            #expect(try shared.store.git("status", "--porcelain") == "")
            #expect(try shared.store.remoteGit("rev-parse", "main") == shared.store.git("rev-parse", "HEAD"))
            #expect(try shared.store.git("ls-tree", "--name-only", "HEAD", "new.gpg") == "new.gpg")
        }
    }
}
