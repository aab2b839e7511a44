import Testing

@testable import Daemon

/// Which of the words behind `grep` are grep's.
@Suite struct GrepWordsTests {
    @Test(arguments: [
        (["x"], ["-e", "x"]), (["-i", "x"], ["-i", "-e", "x"]), (["-r", "x"], ["-e", "x"]),
        (["-riR", "x"], ["-i", "-e", "x"]), (["-e", "a", "-e", "b"], ["-e", "a", "-e", "b"]),
        (["-eq"], ["-eq"]), (["-A2", "x"], ["-A2", "-e", "x"]),
        (["-nA", "2", "x"], ["-nA", "2", "-e", "x"]),
        (["--", "-q"], ["-e", "-q"]), (["x", "-i"], ["-i", "-e", "x"]),
        (["--regexp", "-r"], ["--regexp", "-r"]),
        (["-m", "1", "--color=never", "x"], ["-m", "1", "--color=never", "-e", "x"]),
        (["--recursive", "-Hs", "x"], ["-s", "-e", "x"]),
    ])
    func areKept(_ typed: [String], _ kept: [String]) throws {
        let words = try GrepWords(typed)
        #expect(words.words == kept)
        #expect(!words.isQuiet && words.wantsMatching)
    }

    @Test func tellWhatIsWanted() throws {
        #expect(try GrepWords(["-iq", "x"]).isQuiet)
        #expect(try GrepWords(["--silent", "-l", "x"]).isQuiet)
        #expect(try !GrepWords(["-L", "x"]).wantsMatching)
        for typed in [[], ["-i"], ["-q"], ["a", "file"], ["-e", "a", "file"]] {
            #expect(throws: DaemonError.self) { try GrepWords(typed) }
        }
    }
}
