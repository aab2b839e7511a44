import System
import Testing

@testable import Access

/// The questions that wait for a person.
@Suite struct QuestionsTests {
    /// Holds:
    /// - Who comes to ask when the answer was noted a moment ago asks nobody.
    @Test(arguments: [true, false]) func whatWasJustSaidIsNotAsked(_ said: Bool) throws {
        let questions = Questions { _ in false }
        let reader = Reader(program: Program(path: "/bin/cat", fingerprint: ""))
        let waiter = Questions.Waiter {
            said
        } body: { _ in
            Issue.record("somebody was asked")
        }
        let asked = try questions.ask(
            "work/a", reader, thread: 1, about: .unlock(store: "work"), within: .zero, waiter)
        guard case .said(said) = asked else {
            Issue.record("a question waits")
            return
        }
    }
}
