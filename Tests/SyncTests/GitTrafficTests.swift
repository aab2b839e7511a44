import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Which programs of git a commit waits for.
@Suite struct GitTrafficTests {
    @Test func thoseInTheTreeCount() throws {
        try TestHome.with { home in
            for name in ["store/sub", "elsewhere"] {
                try home.succeed(["mkdir", "-p", home.path(name).string])
            }
            for name in ["store", "elsewhere"] {
                try home.succeed(["git", "init", "-q", home.path(name).string])
            }
            let (top, elsewhere) = (home.path("store"), home.path("elsewhere"))
            func isBusy(_ words: [String], in folder: FilePath) throws -> [Bool] {
                let (begun, end) = (home.path("begun"), home.path("end"))
                for path in [begun, end] {
                    try home.succeed(["rm", "-f", path.string])
                    try home.succeed(["mkfifo", path.string])
                }
                let program = try home.start(
                    ["git"] + words + ["-c", "alias.work=!echo >'\(begun)'; cat '\(end)'", "work"], in: folder
                )
                try home.succeed(["cat", begun.string])
                let found = [GitTraffic.isBusy(top), GitTraffic.isBusy(elsewhere)]
                try home.succeed(["sh", "-c", "echo > \"$0\"", end.string])
                _ = try program.wait(limit: .seconds(60))
                return found
            }
            #expect(try isBusy([], in: top) == [true, false])
            #expect(try isBusy([], in: top.appending("sub")) == [true, false])
            #expect(try isBusy(["-C", elsewhere.string], in: home.folder) == [false, true])
            #expect(try isBusy(["-C", "../store"], in: elsewhere) == [true, false])
            #expect(try isBusy([], in: home.folder) == [false, false])
            // Whose pull it is counts as well; the test's own git has another command.
            #expect(!GitTraffic.isPulling(in: top))
            #expect(!GitTraffic.isBusy(top) && !GitTraffic.isBusy(elsewhere))
        }
    }

    /// Holds:
    /// - A git that has not changed its directory yet is known by its words.
    @Test func wordsLeadToTheTree() throws {
        try TestHome.with { home in
            try home.succeed(["mkdir", "-p", home.path("store/sub").string, home.path("other").string])
            try home.succeed(["ln", "-s", "store", home.path("link").string])
            let top = home.path("store")
            func leads(_ words: [String], from folder: FilePath) -> Bool {
                GitTraffic.destinations(in: words).contains { GitTraffic.leads($0, from: folder, to: top) }
            }
            for words in [
                ["-C", top.string, "commit"], ["-C", "store", "add", "-C"], ["-C", "link/sub", "commit"],
                ["-c", "a.b=c", "-C", "other/../store", "pull"], ["--git-dir=store/.git", "commit"],
                ["--work-tree=link", "add", "x"],
            ] {
                #expect(leads(words, from: home.folder), "\(words)")
            }
            for words in [["commit"], ["-C", "other", "commit"], ["-C", "../store", "add"], ["-C"]] {
                #expect(!leads(words, from: home.folder), "\(words)")
            }
            #expect(leads(["-C", "../store", "add"], from: home.path("other")))
        }
    }
}
