import Testing

/// A state of a store's folder, made by real git, in which something exists nowhere else.
struct UnsharedState: CustomTestStringConvertible, Sendable {
    var name: String
    /// bash, in the store's folder, with `$REMOTE`. It plants the text PLANTED.
    var script: String
    /// What is said of it, as a regular expression.
    var says: String

    var testDescription: String { name }

    /// Whether the folder has no repository, and lies in another one.
    var isInOuterRepository: Bool { name.hasPrefix("an outer repository") }

    init(_ name: String, says: String, _ script: String) {
        (self.name, self.script, self.says) = (name, script, says)
    }

    static let all: [UnsharedState] = [
        .init("a stash", says: #"stash@\{0\}: WIP on main"#, "echo PLANTED > a.gpg; git stash -q"),
        .init("a stash of untracked files", says: #"stash@\{0\}: "#, "echo PLANTED > n.gpg; git stash -q -u"),
        .init(
            "the older of two stashes", says: #"stash@\{1\}: On main: first"#,
            "echo PLANTED > a.gpg; git stash push -qm first; echo two > a.gpg; git stash push -qm second"),
        .init(
            "a stash that was dropped", says: "commit [0-9a-f]{7} not on any branch: WIP on main",
            "echo PLANTED > a.gpg; git stash -q; git stash drop -q"),
        .init(
            "a commit", says: "commit [0-9a-f]{7} on branch main: mine",
            "echo PLANTED > a.gpg; git commit -qam mine"),
        .init(
            "another branch", says: "commit [0-9a-f]{7} on branch side: mine",
            "git switch -qc side; echo PLANTED > a.gpg; git commit -qam mine; git switch -q main"),
        .init(
            "a detached HEAD", says: "commit [0-9a-f]{7} at the detached HEAD: mine",
            "git checkout -q --detach; echo PLANTED > a.gpg; git commit -qam mine"),
        .init(
            "a tag", says: "commit [0-9a-f]{7} under tag t: mine",
            """
            git checkout -q --detach; echo PLANTED > a.gpg; git commit -qam mine; git tag t; git switch -q main
            git reflog expire --expire=now --all
            """),
        .init("an annotated tag", says: "tag t: PLANTED", "git tag -a t -m PLANTED"),
        .init(
            "a tag of a file", says: "tag t: object [0-9a-f]{7}",
            "git tag t $(echo PLANTED | git hash-object -w --stdin)"),
        .init("a note", says: "commit [0-9a-f]{7} on refs/notes/commits", "git notes add -m PLANTED"),
        .init(
            "another reference", says: "commit [0-9a-f]{7} on refs/keep/x: mine",
            "git update-ref refs/keep/x $(echo PLANTED | git commit-tree HEAD^{tree} -m mine)\n"
                + "git update-ref refs/keep/x $(git commit-tree HEAD^{tree} -m mine <<< PLANTED)\n"
                + "b=$(echo PLANTED | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tx\\n' $b | git mktree)\n"
                + "git update-ref refs/keep/x $(git commit-tree $t -m mine)"),
        .init(
            "a log's commit", says: "commit [0-9a-f]{7} in the log of HEAD: mine",
            "echo PLANTED > a.gpg; git commit -qam mine; git reset -q --hard HEAD~"),
        .init(
            "a commit whose branch was deleted", says: "commit [0-9a-f]{7} in the log of HEAD: mine",
            "git switch -qc x; echo PLANTED > a.gpg; git commit -qam mine; git switch -q main; git branch -qD x"
        ),
        .init(
            "a commit without a log", says: "commit [0-9a-f]{7} not on any branch: mine",
            """
            echo PLANTED > a.gpg; git commit -qam mine; git reset -q --hard HEAD~
            git reflog expire --expire=now --all
            """),
        .init(
            "content that was staged once", says: "file content [0-9a-f]{7} not in any commit",
            "echo PLANTED > n.gpg; git add n.gpg; git rm -qf --cached n.gpg; rm n.gpg"),
        .init(
            "a worktree elsewhere", says: "commit [0-9a-f]{7} at the worktree wt: mine",
            """
            git worktree add -q --detach ~/wt; cd ~/wt; echo PLANTED > a.gpg; git commit -qam mine
            """),
        .init(
            "a worktree elsewhere without a commit", says: "the worktree .*/wt belongs to this repository",
            "git worktree add -q --detach ~/wt; echo PLANTED > ~/wt/a.gpg; git -C ~/wt add a.gpg"),
        .init(
            "a worktree in the store", says: "file wt/n.gpg: not in git",
            "git worktree add -q --detach wt; echo PLANTED > wt/n.gpg; echo /wt >> .git/info/exclude"),
        .init(
            "a remote that was emptied", says: "commit [0-9a-f]{7} on branch main: planted",
            """
            echo PLANTED > a.gpg; git commit -qam planted; git push -q
            git -C "$REMOTE" update-ref -d refs/heads/main
            """),
        .init(
            "a remote that was moved back", says: "commit [0-9a-f]{7} on branch main: planted",
            """
            echo PLANTED > a.gpg; git commit -qam planted; git push -q
            git -C "$REMOTE" update-ref refs/heads/main main~
            """),
        .init(
            "a branch that was deleted on the remote",
            says: "commit [0-9a-f]{7} on remote branch origin/side: mine",
            """
            git switch -qc side; echo PLANTED > a.gpg; git commit -qam mine; git push -q origin side
            git switch -q main; git branch -qD side; rm -r .git/logs; git -C "$REMOTE" branch -qD side
            """),
        .init("a change", says: "file a.gpg: changed, not committed", "echo PLANTED > a.gpg"),
        .init(
            "a change that was staged", says: "file a.gpg: changed, not committed",
            "echo PLANTED > a.gpg; git add a.gpg"),
        .init(
            "staged, then undone on disk", says: "file a.gpg: staged, not committed",
            "cp a.gpg b; echo PLANTED > a.gpg; git add a.gpg; mv b a.gpg"),
        .init(
            "a new file that was staged", says: "file d/n.gpg: staged, not committed",
            "mkdir d; echo PLANTED > d/n.gpg; git add d"),
        .init("an untracked file", says: "file d/n.gpg: not in git", "mkdir d; echo PLANTED > d/n.gpg"),
        .init(
            "an ignored file", says: "file n.gpg: ignored by git",
            "echo n.gpg >> .git/info/exclude; echo PLANTED > n.gpg"),
        .init(
            "an ignored folder with other files", says: "file private/notes.txt: ignored by git",
            "echo private >> .git/info/exclude; mkdir private; echo PLANTED > private/notes.txt"),
        .init(
            "skip-worktree", says: "file a.gpg: changed, not committed",
            "git update-index --skip-worktree a.gpg; echo PLANTED > a.gpg"),
        .init(
            "assume-unchanged", says: "file a.gpg: changed, not committed",
            "git update-index --assume-unchanged a.gpg; echo PLANTED > a.gpg"),
        .init(
            "a change that the time does not show", says: "file p.gpg: changed, not committed",
            """
            echo 1234567 > p.gpg; git add p.gpg; git commit -qm p; git push -q; touch -d '1 hour ago' p.gpg; git status >/dev/null
            cp -p p.gpg ~/ref; printf 'PLANTED\\n' > p.gpg; touch -r ~/ref p.gpg
            git config core.trustctime false; git config core.checkStat minimal
            """),
        .init("a link", says: "file l: not in git", "ln -s PLANTED l; echo PLANTED > .git/description"),
        .init(
            "a repository inside without a remote",
            says:
                "the repository inner/ has no remote: 1 commit\n +commit [0-9a-f]{7} on branch main in inner/: mine",
            """
            git init -q inner; cd inner; echo PLANTED > s.gpg; echo K > .gpg-id; git add .; git commit -qm mine
            """),
        .init(
            "a repository inside that is none of the store's", says: "file code/x/main.c: not in git",
            "git init -q code/x; echo PLANTED > code/x/main.c; echo code >> .git/info/exclude"),
        .init(
            "a repository inside with a stash", says: #"stash@\{0\} in inner/: "#,
            """
            git clone -q "$REMOTE" inner; cd inner; echo PLANTED > a.gpg; git stash -q
            """),
        .init(
            "a repository inside whose remote is the store",
            says: "commit [0-9a-f]{7} on branch x in inner/: mine",
            """
            git clone -q . inner; cd inner; git switch -qc x; echo PLANTED > a.gpg; git commit -qam mine; git push -q origin x
            """),
        .init(
            "a submodule", says: "commit [0-9a-f]{7} on branch main in .git/modules/sub/: mine",
            """
            git -c protocol.file.allow=always submodule -q add "$REMOTE" sub; git commit -qm sub; git push -q
            cd sub; echo PLANTED > a.gpg; git commit -qam mine
            """),
        .init(
            "a submodule that was removed",
            says: "commit [0-9a-f]{7} on branch main in .git/modules/sub/: mine",
            """
            git -c protocol.file.allow=always submodule -q add "$REMOTE" sub; git commit -qm sub; git push -q
            (cd sub; echo PLANTED > a.gpg; git commit -qam mine)
            git rm -qf sub; git commit -qm gone; git push -q
            """),
        .init(
            "a shallow clone", says: "commit [0-9a-f]{7} on branch main: mine",
            """
            (cd ~/seed; echo 2 > a.gpg; git commit -qam 2; git push -q origin main)
            git fetch -q --depth 1; git reset -q --hard origin/main; git reflog expire --expire=now --all
            git gc -q --prune=now; echo PLANTED > a.gpg; git commit -qam mine
            """),
        .init(
            "no remote", says: "the repository has no remote: 2 commits",
            "echo PLANTED > a.gpg; git commit -qam mine; git remote remove origin"),
        .init(
            "a remote that is not there", says: "the repository could not be compared: cannot ask .*nowhere",
            "echo PLANTED > a.gpg; git commit -qam mine; git remote set-url origin ~/nowhere.git"),
        .init(
            "a remote that is a shallow clone",
            says: "could not be compared: the remote .* is a shallow clone",
            """
            echo PLANTED > a.gpg; git commit -qam planted; echo two > a.gpg; git commit -qam two; git push -q origin main
            git clone -q --bare --depth 1 "file://$REMOTE" ~/other.git; rm -rf "$REMOTE"; mv ~/other.git "$REMOTE"
            """),
        .init(
            "a remote that is a shallow clone with a working tree", says: "is a shallow clone",
            """
            echo PLANTED > a.gpg; git commit -qam planted; echo two > a.gpg; git commit -qam two; git push -q origin main
            git clone -q --depth 1 "file://$REMOTE" ~/other; rm -rf "$REMOTE"; mv ~/other "$REMOTE"
            """),
        .init(
            "a remote in the store itself", says: "is inside the folder to be removed",
            """
            echo PLANTED > a.gpg; git commit -qam mine; git clone -q --bare . inner.git; git remote set-url origin ./inner.git
            git push -q origin main
            """),
        .init(
            "a remote that borrows from the store", says: "is inside the folder to be removed",
            """
            echo PLANTED > a.gpg; git commit -qam mine; git clone -q --bare --shared . ~/other.git
            git remote set-url origin ~/other.git
            """),
        .init(
            "a hook", says: ".git/hooks/post-commit: git does not push hooks",
            "mkdir -p .git/hooks; echo '#PLANTED' > .git/hooks/post-commit"),
        .init(
            "something in .git that is not git's", says: ".git/annex: git does not push it",
            "mkdir .git/annex; echo PLANTED > .git/annex/key"),
        .init(
            "a merge with conflicts", says: "file a.gpg: changed, not committed",
            """
            git switch -qc x; echo PLANTED > a.gpg; git commit -qam x; git switch -q main; echo mine > a.gpg
            git commit -qam y; git merge -q x || true
            """),
        .init(
            "a repository that git can't read", says: "which cannot be read",
            "echo PLANTED > a.gpg; git commit -qam x; printf '[core' > .git/config"),
        .init("no repository", says: "file a.gpg: in no git repository", "rm -rf .git; echo PLANTED > a.gpg"),
        .init(
            "an outer repository that ignores it", says: "file a.gpg: in no git repository",
            "rm -rf .git; echo PLANTED > a.gpg; git init -q ..; echo '*' > ../.gitignore"),
    ]
}
