import TestKit
import Testing

/// The runner itself: a transcript that is wrong must fail.
@Suite struct TranscriptRunnerTests {
    private func difference(_ text: String) throws -> String? {
        try TestHome.with { home in try Transcript(name: "t", text: text).difference(in: home) }
    }

    @Test func acceptsOutputStatusAndWildcards() throws {
        let text = """
            # A comment, then commands.

            $ echo one; echo two; echo three
            one
            ...
            t[..]e
            $ cd /tmp
            $ pwd
            /tmp
            $ printf x; false
            x
            [no newline]
            ? 1
            $ for word in a b; do
            >     echo $word
            > done
            a
            b
            $ echo $HOME
            ~
            """
        #expect(try difference(text) == nil)
    }

    @Test(
        .slow,
        arguments: [
            "$ echo one\ntwo", "$ echo one", "$ true\none", "$ false", "$ true\n? 1", "$ printf x\nx",
            "$ echo abc\na[..]d", "$ exit 3", "$ echo one\none\n$ if",
        ])
    func refusesWhatDiffers(_ text: String) throws {
        #expect(try difference(text) != nil)
    }

    @Test func showsBothSides() throws {
        let difference = try #require(try difference("$ echo one\ntwo\n$ echo three\nthree"))
        #expect(difference == "t (- expected, + got):\n$ echo one\n- two\n+ one\n$ echo three\n  three")
    }
}
