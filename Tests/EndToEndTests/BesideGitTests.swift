import Glibc
import SystemPackage
import TestKit
import Testing

/// A user's git at work in a store's repository, in each state that git has, while secrets are saved through the mount.
///
/// Holds:
/// - Each save is acknowledged and readable, whatever state git is in; `passdir sync` says what waits for what, or does
///   its work.
/// - When the user has finished, all that was acknowledged is committed, store and remote are in step, and the working
///   tree is clean.
@Suite struct BesideGitTests {
    /// One state of a repository, in words of bash; `$N` is the row's number, `$SPARE` a ciphertext.
    struct State: Sendable {
        var name: String
        var begin: String
        /// What `passdir sync` says as long as it lasts; nil: it is in step.
        var said: String?
        var end: String = ""
        /// The name that the secret `known-N` has at the end in its history only.
        var isTakenBack = false
    }

    private static let merging = """
        git switch -q -c side-$N; echo theirs-$N >notes; git commit -qam side
        git switch -q main; echo ours-$N >notes; git commit -qam main
        ! git merge -q side-$N 2>/dev/null
        """
    private static let editing = """
        for n in 1 2; do echo $N-$n >notes; git commit -qam note; done
        GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2
        """
    private static let waiting = """
        export GIT_EDITOR="sh -c 'touch ../editing; while [ -e ../editing ]; do sleep .02; done; echo mine >\\"\\$1\\"' -"
        echo more >>notes; git commit -qa & until [ -e ../editing ]; do sleep 0.02; done
        """
    private static func hook(_ name: String, _ said: String? = nil) -> State {
        State(
            name: "\(name) fails",
            begin: "printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/\(name); chmod +x .git/hooks/\(name)",
            said: said, end: "rm .git/hooks/\(name)")
    }
    private static func lock(_ name: String, _ said: String? = nil) -> State {
        State(name: name, begin: "touch .git/\(name)", said: said, end: "rm .git/\(name)")
    }

    static let states: [State] = [
        State(name: "no work of the user's", begin: ""),
        State(
            name: "rebase -i, committed", begin: editing, said: "a rebase is unfinished",
            end: "git add -A; git commit -qm mine; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1"),
        State(
            name: "rebase -i, stashed", begin: editing, said: "a rebase is unfinished",
            end: "git stash -q -u; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1; git stash pop -q"),
        State(
            name: "rebase -i, aborted", begin: editing, said: "a rebase is unfinished",
            end: "git rebase --abort", isTakenBack: true),
        State(
            name: "merge, committed", begin: merging, said: "a merge is unfinished",
            end: "git checkout -q --ours notes; git add notes; git commit -qm merged"),
        State(
            name: "merge, aborted", begin: merging, said: "a merge is unfinished", end: "git merge --abort"),
        State(
            name: "cherry-pick, aborted",
            begin: merging.replacing("merge -q side-$N", with: "cherry-pick side-$N"),
            said: "a cherry-pick is unfinished", end: "git cherry-pick --abort"),
        State(
            name: "stash", begin: "cp $SPARE stashed-$N.gpg; git add stashed-$N.gpg; git stash -q",
            end: "git stash pop -q; git commit -qm mine; [ -e stashed-$N.gpg ]"),
        State(
            name: "bisect", begin: "git bisect start -q HEAD HEAD~4 2>&1", said: "a bisect is unfinished",
            end: "git bisect reset 2>/dev/null"),
        State(
            name: "another branch", begin: "git switch -q -c side-$N",
            end: "git switch -q main; git merge -q --no-edit side-$N"),
        State(
            name: "a detached HEAD", begin: "git checkout -q --detach", said: "no branch is checked out",
            end: "git switch -q main"),
        State(
            name: "an older commit", begin: "git checkout -q HEAD~1", said: "no branch is checked out",
            end: "git switch -q main"),
        State(
            name: "a sparse checkout", begin: "git sparse-checkout set --no-cone '/*' '!/out/'",
            end: "[ ! -e out/x.gpg ]; git sparse-checkout disable; [ -e out/x.gpg ]"),
        State(
            name: "a linked worktree",
            begin: "git worktree add -q ../linked -b side-$N; cp $SPARE ../linked/linked-$N.gpg",
            end: """
                git -C ../linked add -A; git -C ../linked commit -qm linked; git worktree remove ../linked
                git merge -q --no-edit side-$N; [ -e linked-$N.gpg ]
                """),
        State(name: "gc", begin: "git gc -q --prune=now"),
        State(name: "pack-refs", begin: "git pack-refs --all"),
        State(
            name: "core.autocrlf", begin: "git config core.autocrlf true",
            end: "git config --unset core.autocrlf"),
        State(
            name: "filters",
            begin: """
                git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'
                echo 'notes filter=up' >>.gitattributes; git add --renormalize .; git add .gitattributes
                git commit -qm up; git rev-parse HEAD >../up
                """,
            end: "git revert --no-edit $(cat ../up) >/dev/null; git config --remove-section filter.up"),
        State(
            name: "hooks of commits fail",
            begin: """
                for hook in pre-commit commit-msg post-commit; do
                    printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/$hook; chmod +x .git/hooks/$hook
                done
                """,
            end: "rm .git/hooks/{pre-commit,commit-msg,post-commit}"),
        // A remote in a folder is left to the git program.
        hook("pre-push", "the push to"), hook("reference-transaction", "aborted by hook"),
        lock("index.lock", "another program holds a git lock"),
        lock("refs/heads/main.lock", "another program holds a git lock"),
        State(
            name: "locks of others", begin: "touch .git/{HEAD,packed-refs,config}.lock",
            end: "rm .git/{HEAD,packed-refs,config}.lock"),
        State(
            name: "an editor open in git commit -a", begin: waiting, said: "another program holds a git lock",
            end: "rm ../editing; while [ -e .git/index.lock ]; do sleep 0.02; done"),
        State(
            name: "a locked key signs",
            begin: "git config commit.gpgsign true; git config user.signingkey $KEY",
            said: "cannot sign", end: "git config --unset commit.gpgsign"),
    ]

    private struct World {
        let home: TestHome
        let store: TestStore
        var number = 0
        var key = ""

        func shell(_ script: String, in folder: FilePath? = nil) throws {
            try home.succeed(
                ["bash", "-ec", script], in: folder ?? store.path,
                extra: [
                    "N": "\(number)", "SPARE": home.path("spare.gpg").string, "KEY": key,
                    "MOUNT": home.visible("work").string,
                ])
        }
    }

    @Test(.slow) func whateverGitIsDoingNothingIsLost() throws {
        try TestHome.guarded(limit: .seconds(900)) { home in
            let store = try home.makeStore(
                "work", recipients: [home.makeKey("a@example.org")], remote: true)
            var world = World(home: home, store: store)
            world.key = try home.makeKey("locked@example.org", passphrase: "locked").fingerprint
            try home.usePinentry(.cancel)
            try store.insert("out/x", "x\n")
            try world.shell(
                """
                cp out/x.gpg $SPARE; for n in {0..\(Self.states.count)}; do cp $SPARE known-$n.gpg; done
                echo notes >notes; git add -A; git commit -qm first; git push -q
                git clone -q "$(git remote get-url origin)" ../other
                """)
            try home.configure(["commit.delay": "20ms", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            for (number, state) in Self.states.enumerated() {
                world.number = number
                do {
                    try check(state, world)
                } catch {
                    throw TestFailure("\(state.name): \(error)")
                }
            }
            try store.git("fsck", "--strict")
            try home.unmount()
        }
    }

    private func check(_ state: State, _ world: World) throws {
        let (home, store, number) = (world.home, world.store, world.number)
        // What others push comes in as soon as it can.
        try world.shell(
            "git pull -q; cp $SPARE theirs-$N.gpg; git add -A; git commit -qm theirs; git push -q",
            in: home.path("other"))
        try world.shell(state.begin)
        try world.shell("echo edited-$N >$MOUNT/known-$N; mkdir $MOUNT/f-$N; echo new-$N >$MOUNT/f-$N/new")
        try world.shell("[ $(cat $MOUNT/known-$N) = edited-$N ]; [ $(cat $MOUNT/f-$N/new) = new-$N ]")
        let meanwhile = try home.passdir("sync", "work")
        if let said = state.said {
            #expect(
                meanwhile.exitCode == 1 && meanwhile.errors.contains(said),
                "\(state.name): \(meanwhile.output)\(meanwhile.errors)")
            let status = try home.status().store("work").lastError ?? ""
            #expect(status.contains(said), "\(state.name): \(status)")
        } else {
            #expect(
                meanwhile.exitCode == 0 && meanwhile.output.contains("in sync"),
                "\(state.name): \(meanwhile.output)\(meanwhile.errors)"
            )
        }
        try world.shell(state.end)
        let after = try home.passdir("sync", "work")
        #expect(
            after.exitCode == 0 && after.output.contains("in sync"),
            "\(state.name): \(after.output)\(after.errors)")
        #expect(try home.status().store("work").lastError == nil, "\(state.name)")
        #expect(try store.git("status", "--porcelain") == "", "\(state.name)")
        #expect(try store.git("rev-parse", "HEAD") == store.remoteGit("rev-parse", "main"), "\(state.name)")
        #expect(try store.show("f-\(number)/new") == Array("new-\(number)\n".utf8), "\(state.name)")
        try world.shell("[ -e theirs-$N.gpg ]")
        let names = try store.git("ls-tree", "--name-only", "HEAD").split(separator: "\n").filter {
            $0.hasPrefix("known-\(number).")
        }
        let texts = try names.map { try store.show(String($0.dropLast(4))) }
        #expect(texts.contains(Array("edited-\(number)\n".utf8)), "\(state.name): \(names)")
        if !state.isTakenBack { #expect(names.count == 1, "\(state.name): \(names)") }
    }
}
