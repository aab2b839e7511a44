import Glibc
import SystemPackage
import TestKit

/// A store that Ann shares with Bob and Eve over a remote, as it looks on Ann's machine: her secret key is here, of the
/// others the public ones.
struct SharedStore {
    let home: TestHome
    let ann: TestKey
    let bob: TestKey
    let eve: TestKey
    let store: TestStore

    static func with(_ body: (SharedStore) throws -> Void) throws {
        try TestHome.with { home in
            let keys = try ["ann", "bob", "eve"].map { try home.makeKey("\($0)@example.org") }
            for key in keys.dropFirst() {
                try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-keys", key.fingerprint])
                // As any key that comes from elsewhere: gpg knows nothing for or against it.
                try home.succeed(
                    ["gpg", "--batch", "--import-ownertrust"], input: Array("\(key.fingerprint):2:\n".utf8))
            }
            let store = try home.makeStore("work", recipients: [keys[0]], remote: true)
            try home.addStores([store])
            try store.insert("a", "one")
            try store.insert("sub/b", "two")
            try store.git("push", "--quiet")
            let shared = SharedStore(home: home, ann: keys[0], bob: keys[1], eve: keys[2], store: store)
            // Ann has used it once: whom it is for now, she has agreed to.
            try shared.succeed(["recipients", "show", "work"])
            try body(shared)
        }
    }

    /// What Eve pushes and Ann pulls: a script in Eve's clone, all of it committed.
    func push(_ script: String) throws {
        if access(home.path("theirs").string, F_OK) != 0 {
            try home.succeed(["git", "clone", "--quiet", store.remote!.string, "theirs"])
        }
        try home.succeed(
            [
                "sh", "-ec",
                "git pull --quiet --rebase\n\(script)\ngit add -A -f\ngit commit --quiet -m Change.\n"
                    // A mount may push at the same time.
                    + "git push --quiet || { git pull --quiet --rebase && git push --quiet; }",
            ],
            in: home.path("theirs"),
            extra: ["ANN": ann.fingerprint, "BOB": bob.fingerprint, "EVE": eve.fingerprint])
        try store.git("pull", "--quiet", "--rebase")
    }

    @discardableResult
    func succeed(_ words: [String]) throws -> String {
        String(decoding: try home.succeed(["passdir"] + words), as: UTF8.self)
    }

    func run(_ words: [String], input: String = "") throws -> ProgramResult {
        try home.run(["passdir"] + words, input: Array(input.utf8))
    }

    /// Runs the command where it has a terminal; each question gets the next line of the answers, or an end of input.
    func onTerminal(_ words: [String], answers: String) throws -> ProgramResult {
        let lines = answers.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return try home.onTerminal(
            ["passdir"] + words, lines.map { TerminalStep(at: "[y/N] ", type: "\($0)\n") }, at: "[y/N] ")
    }

    /// The secrets that are encrypted to a key, by the packets of all files of the store.
    func secrets(for key: TestKey) throws -> [String] {
        let list = try home.succeed(
            [
                "sh", "-c",
                """
                ids=$(gpg --batch --with-colons --list-keys "$KEY" | sed -n 's/^sub:[^:]*:[^:]*:[^:]*:\\([^:]*\\):.*/\\1/p')
                find . -name .git -prune -o -name '*.gpg' -type f -print | LC_ALL=C sort | while read -r file; do
                  for id in $ids; do
                    gpg --batch --list-packets --list-only "$file" 2>/dev/null | grep -q "^:pubkey enc.* keyid $id" && echo "$file"
                  done
                done
                true
                """,
            ], in: store.path, extra: ["KEY": key.fingerprint])
        return String(decoding: list, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
