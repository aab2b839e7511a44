import CGit
import TestKit
import Testing

@testable import Git

/// What a branch of others must be, before anything is made of it: readable, whole, and not endless.
@Suite struct IncomingHistoryTests {
    /// What is done to a repository whose `known` commit is here; it ends with the branch `main`. `c` makes a commit of a
    /// tree and its parents.
    enum Row: String, CaseIterable {
        case nothing = ""
        case more = "seq 3 >x/f; git add .; git commit -qm more; git rm -qr x; git commit -qm less"
        case merge =
            "git checkout -q -b o HEAD~1; git commit -q --allow-empty -m o; git checkout -q main; git merge -q o"
        case submodule = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s; git commit -qm s"
        case noAuthor = "raw T P 'committer X <x@y> 1700000000 +0000'"
        case noCommitter = "raw T P 'author X <x@y> 1700000000 +0000'"
        case noParentThere = "raw T $absent 'author X <x@y> 1 +0000\\ncommitter X <x@y> 1 +0000'"
        case treeGone = "raw $absent P 'author X <x@y> 1 +0000\\ncommitter X <x@y> 1 +0000'"
        case fileForFolder =
            "raw $(git rev-parse HEAD:f) P 'author X <x@y> 1 +0000\\ncommitter X <x@y> 1 +0000'"
        case fileGone = "seq 5 >x/f; git add .; git commit -qm more; lose HEAD:x/f"
        case folderGone = "seq 6 >x/f; git add .; git commit -qm more; lose HEAD:x"
        /// Of a commit between.
        case fileGoneBefore =
            "seq 7 >x/f; git add .; git commit -qm more; git rm -q x/f; git commit -qm less; lose HEAD~1:x/f"
        case linkGone = "ln -s f l; git add .; git commit -qm more; lose HEAD:l"
    }

    private static let refused: [Row: String] = [
        .noAuthor: "damaged", .noCommitter: "damaged", .noParentThere: "damaged", .treeGone: "damaged",
        .fileForFolder: "is not a tree", .fileGone: "cannot read", .folderGone: "cannot read",
        .fileGoneBefore: "cannot read", .linkGone: "cannot read",
    ]

    @Test(arguments: sampled(Row.allCases)) func whatIsNotWholeIsRefused(_ row: Row) throws {
        try TestHome.with { home in
            let script = """
                set -e; git init -q r; cd r; mkdir x
                seq 1 >f; git add .; git commit -qm one; seq 2 >x/g; git add .; git commit -qm two
                git branch known
                absent=1234567890123456789012345678901234567890
                raw() {
                    local tree=${1/T/$(git rev-parse 'HEAD^{tree}')} parent=${2/P/$(git rev-parse HEAD)}
                    git update-ref refs/heads/main "$(printf "tree $tree\\nparent $parent\\n$3\\n\\nm\\n" |
                        git hash-object -t commit -w --stdin --literally)"
                }
                lose() { local id; id=$(git rev-parse "$1"); rm -f .git/objects/${id:0:2}/${id:2}; }
                \(row.rawValue)
                """
            try home.succeed(["bash", "-c", script])
            let repository = try Repository.open(gitDirectory: home.path("r/.git"))
            let (known, tip) = (
                try #require(try repository.commit(at: "refs/heads/known")),
                try #require(try repository.commit(at: "refs/heads/main"))
            )
            let reason = Result { () throws(GitError) in
                try repository.checkIncomingHistory(of: tip, known: [known], atMost: 100)
            }
            guard let expected = Self.refused[row] else {
                try reason.get()
                return
            }
            guard case .failure(let error) = reason else {
                Issue.record("\(row) was taken in")
                return
            }
            #expect(error.code == .invalid && error.message.contains(expected), "\(error.message)")
        }
    }

    /// All that leads to it counts, also what is known.
    @Test func aHistoryThatIsTooLongIsRefused() throws {
        try TestHome.with { home in
            let script =
                "git init -q r; cd r; for n in 1 2 3 4; do git commit -q --allow-empty -m $n; done; git branch known HEAD~2"
            try home.succeed(["bash", "-c", script])
            let repository = try Repository.open(gitDirectory: home.path("r/.git"))
            let tip = try #require(try repository.commit(at: "refs/heads/main"))
            let known = try #require(try repository.commit(at: "refs/heads/known"))
            try repository.checkIncomingHistory(of: tip, known: [known], atMost: 4)
            #expect(throws: GitError(code: .invalid, message: "its history has more than 3 commits")) {
                try repository.checkIncomingHistory(of: tip, known: [known], atMost: 3)
            }
        }
    }

    /// What libgit2 says where this machine is short of something, which is no fault of a history.
    @Test(arguments: [
        (GIT_ERROR_NOMEMORY, "Out of memory"),
        (GIT_ERROR_OS, "failed to mmap. Could not write data: Cannot allocate memory"),
        (GIT_ERROR_OS, "failed to open 'x': Too many open files"),
        (GIT_ERROR_OS, "failed to write 'x': No space left on device"),
        (GIT_ERROR_OS, "failed to read 'x': Input/output error"),
    ])
    func whatThisMachineLacksIsNotTheHistorysFault(_ area: git_error_t, _ said: String) {
        git_error_set_str(Int32(area.rawValue), said)
        let error = GitError.last(-1, "cannot walk the history")
        #expect(error.code == .machine)
        #expect(IncomingHistoryLook.refusal(error) == error)
    }

    /// Also where libgit2 says no more than that it does not find what is in a pack.
    @Test func aPackThatCannotBeOpenedIsNotTheHistorysFault() throws {
        try TestHome.with { home in
            let script = """
                set -e; git init -q r; cd r; seq 1 >f; git add .; git commit -qm one; git branch known
                seq 2 >g; git add .; git commit -qm two; cd .git/objects/pack
                git rev-parse main:g | git pack-objects -q pack; git prune-packed -q
                for index in *.idx; do rm -f "$index"; ln -s "$index" "$index"; done
                """
            try home.succeed(["bash", "-c", script])
            let repository = try Repository.open(gitDirectory: home.path("r/.git"))
            let tip = try #require(try repository.commit(at: "refs/heads/main"))
            let known = try #require(try repository.commit(at: "refs/heads/known"))
            let error = expectGitError(.machine) {
                try repository.checkIncomingHistory(of: tip, known: [known], atMost: 100)
            }
            #expect(error?.message.contains(".idx: Too many levels of symbolic links") == true)
        }
    }
}
