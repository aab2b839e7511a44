import Glibc
import SystemPackage
import TestKit
import Testing

/// `store remove`, `store reclone` and `erase` say what exists nowhere else, and it is on this disk afterwards.
@Suite struct UnsharedWorkTests {
    enum Command: String, CaseIterable { case remove, reclone, erase }

    /// A clone that has everything that its remote has, as the store `s`.
    private func clone(_ home: TestHome) throws -> FilePath {
        let script = """
            set -e
            git config --global user.name Ann; git config --global user.email ann@example.org
            git config --global init.defaultBranch main
            git init -q --bare ~/r.git; git clone -q ~/r.git ~/seed 2>/dev/null; cd ~/seed
            echo KEY > .gpg-id; echo one > a.gpg; echo two > b.gpg; git add .; git commit -qm first
            git push -q origin main
            passdir store add s --url ~/r.git
            """
        try home.succeed(["bash", "-c", script])
        let folder = home.path("data/passdir/stores")
        let id = try home.succeed(["ls", folder.string])
        return folder.appending(String(decoding: id.dropLast(), as: UTF8.self))
    }

    private func build(_ state: UnsharedState, _ store: FilePath, _ home: TestHome) throws {
        let script = "set -e; REMOTE=~/r.git; cd '\(store)'\n" + state.script
        try home.succeed(["bash", "-c", script])
    }

    /// The files below a folder with their digests, under paths from it.
    private func files(_ folder: FilePath, _ home: TestHome) throws -> Set<String> {
        let script = """
            cd '\(folder)' && find . -type f -exec sha256sum {} + && find . -type l -printf '%p -> %l\\n'
            """
        return Set(
            String(decoding: try home.succeed(["bash", "-c", script]), as: UTF8.self)
                .split(separator: "\n").map(String.init))
    }

    /// How often the planted text is found below a folder, in files and in objects.
    private func finds(_ folder: FilePath, _ home: TestHome) throws -> Int {
        let script = """
            cd '\(folder)' || exit 1
            { grep -ra PLANTED . ; find . -type l -printf '%l\\n' | grep PLANTED
            find . -type d -name objects | while read -r o; do
                git --git-dir "${o%/objects}" --work-tree / cat-file --batch-all-objects --batch 2>/dev/null | grep -a PLANTED
            done; } | wc -l
            """
        let text = String(decoding: try home.succeed(["bash", "-c", script]), as: UTF8.self)
        return Int(text.filter(\.isNumber)) ?? 0
    }

    @Test(arguments: sampled(tableCases(UnsharedState.all, Command.allCases)))
    func whatIsNowhereElseIsSaidAndKept(_ state: UnsharedState, _ command: Command) throws {
        try TestHome.with { home in
            let store = try clone(home)
            try build(state, store, home)
            let before = try files(store, home)
            let words =
                switch command {
                case .remove: ["store", "remove", "s"]
                case .reclone: ["store", "reclone", "s", "--url", home.path("r.git").string]
                case .erase: ["erase"]
                }
            // Nobody can be asked.
            let asked = try home.run(["passdir"] + words)
            #expect(asked.exitCode == 1 && asked.errors.contains("--yes"), "\(asked.errors)")
            #expect(try before.isSubset(of: files(store, home)))
            let done = try home.run(["passdir"] + words + ["--yes"])
            #expect(done.errors.contains(try Regex(state.says)), "\(done.errors)")
            if command == .reclone, state.isInOuterRepository {
                // Nobody can tell what of the outer one is the store's.
                #expect(done.exitCode == 1 && done.errors.contains("as a store of its own"), "\(done.errors)")
                #expect(try before.isSubset(of: files(store, home)))
                return
            }
            #expect(done.exitCode == 0, "\(done.errors)")
            let removed = home.path("data/passdir/removed")
            let names = try home.succeed(["ls", removed.string])
            let place = removed.appending(String(decoding: names.dropLast(), as: UTF8.self))
            #expect(done.errors.contains("moved to \(place)"), "\(done.errors)")
            // Nothing of the folder is missing, and the text is found.
            let lost = before.subtracting(try files(place, home))
            #expect(lost.isEmpty, "\(lost)")
            #expect(try finds(home.folder, home) > 0)
            #expect((access(store.string, F_OK) == 0) == (command == .reclone))
        }
    }

    /// What the remote has goes without a word, also when it has more than the clone.
    @Test(.slow, arguments: sampled(Command.allCases)) func whatIsPushedGoesWithoutAWord(_ command: Command)
        throws
    {
        try TestHome.with { home in
            let store = try clone(home)
            let script = """
                set -e; cd '\(store)'; echo three > c.gpg; ln -s a.gpg l; mkdir d; echo four > d/x.gpg; git add .
                git commit -qm second; git tag -a v1 -m v1; git push -q --follow-tags
                git switch -qc side; echo five > a.gpg; git commit -qam side; git push -q origin side; git switch -q main
                git clone -q ~/r.git inner; echo inner >> .git/info/exclude; git gc -q
                cd ~/seed; git pull -q; echo new > new.gpg; git add .; git commit -qm theirs; git push -q origin main
                """
            try home.succeed(["bash", "-c", script])
            let words =
                switch command {
                case .remove: ["store", "remove", "s"]
                case .reclone: ["store", "reclone", "s"]
                case .erase: ["erase"]
                }
            let done = try home.run(["passdir"] + words + ["--yes"])
            #expect(done.exitCode == 0 && !done.errors.contains("nowhere else"), "\(done.errors)")
            #expect(access(home.path("data/passdir/removed").string, F_OK) != 0)
            #expect(access(store.appending("inner").string, F_OK) != 0)
        }
    }

    /// Only `--force` deletes, and says nothing.
    @Test func forceDeletes() throws {
        try TestHome.with { home in
            let store = try clone(home)
            try home.succeed(["bash", "-c", "echo PLANTED > '\(store)/n.gpg'"])
            let done = try home.run(["passdir", "store", "remove", "s", "--force", "--yes"])
            #expect(done.exitCode == 0 && done.errors.isEmpty, "\(done.errors)")
            #expect(try finds(home.folder, home) == 0)
        }
    }

    /// What an earlier removal has moved stays, and `erase` says what and where, until `--force`.
    @Test func eraseSaysWhatRemains() throws {
        try TestHome.with { home in
            let store = try clone(home)
            try home.succeed(["bash", "-c", "echo PLANTED > '\(store)/n.gpg'"])
            try home.succeed(["passdir", "store", "remove", "s", "--yes"])
            let removed = home.path("data/passdir/removed")
            let names = String(decoding: try home.succeed(["ls", removed.string]), as: UTF8.self)
            let told = "passdir: \(removed) still holds what was moved there earlier: \(names.dropLast());"
            let erased = try home.passdir("erase", "--yes")
            #expect(erased.exitCode == 0 && erased.errors.hasPrefix(told), "\(erased.errors)")
            #expect(try finds(home.folder, home) > 0)
            let forced = try home.passdir("erase", "--force", "--yes")
            #expect(forced.exitCode == 0 && forced.errors.isEmpty, "\(forced.errors)")
            #expect(try finds(home.folder, home) == 0 && access(removed.string, F_OK) != 0)
        }
    }

    /// Killed at any moment, the next command finishes, and what was listed is there.
    @Test(
        .slow,
        arguments: sampled([
            "remove.decided", "remove.configured", "remove.aside", "remove.judged", "remove.credential",
            "remove.learned", "remove.folder", "reclone.decided", "reclone.aside", "reclone.placed",
            "reclone.judged", "reclone.credential", "reclone.configured",
        ]))
    func killedNothingIsLost(_ fault: String) throws {
        try TestHome.with { home in
            let store = try clone(home)
            try home.succeed(["bash", "-c", "echo PLANTED > '\(store)/n.gpg'"])
            let before = try files(store, home)
            let command = fault.prefix { $0 != "." }
            let killed = try home.run(
                ["passdir", "store", String(command), "s", "--yes"], extra: ["PASSDIR_FAULT": fault])
            #expect(killed.exitCode == 128 + SIGKILL, "\(killed.errors)")
            let next = try home.passdir("store", "list")
            #expect(next.exitCode == 0 && next.output.contains("s ") == (command == "reclone"), "\(next)")
            let removed = home.path("data/passdir/removed")
            let names = String(decoding: try home.succeed(["ls", removed.string]), as: UTF8.self)
            let place = removed.appending(String(names.dropLast()))
            #expect(before.subtracting(try files(place, home)).isEmpty)
            #expect(
                try home.succeed(["ls", "-A", home.path("state/passdir/operations").string])
                    == Array("lock\n".utf8))
        }
    }

    /// The folder is private, a second one gets a number, and `audit` lists both.
    @Test func removedFoldersAreListed() throws {
        try TestHome.with { home in
            for _ in 0..<2 {
                let store = try clone(home)
                try home.succeed(["bash", "-c", "echo PLANTED > '\(store)/n.gpg'; rm -rf ~/r.git ~/seed"])
                try home.succeed(["passdir", "store", "remove", "s", "--yes"])
            }
            let removed = home.path("data/passdir/removed")
            let names = String(decoding: try home.succeed(["ls", removed.string]), as: UTF8.self)
                .split(separator: "\n").map(String.init)
            #expect(names.count == 2 && names[1] == names[0] + "-2", "\(names)")
            #expect(try home.succeed(["stat", "-c", "%a", removed.string]) == Array("700\n".utf8))
            let audit = try home.passdir("audit").output
            for name in names { #expect(audit.contains(removed.appending(name).string), "\(audit)") }
            #expect(!audit.contains("undeclared"), "\(audit)")
        }
    }
}
