import Glibc
import OpenPGP
import Synchronization
import System
import SystemPackage

/// The questions that wait for a person: the same one of many readers is one, and on one terminal or display there is one at a
/// time. A question holds one thread while it is asked, a reader none.
///
/// It is shown where the reader sits who asked first. When that one gives up, it ends, and whoever waits for its answer asks anew;
/// nobody goes on before the terminal is given back.
final class Questions: Sendable {
    /// What makes two questions the same.
    struct Key: Hashable {
        var topic: QuestionTopic
        /// The program; of one that is not known, the process.
        var program: Program?
        var process: Int32
        /// The command of passdir that reads for it.
        var command: Int32?
        /// Of what cannot even be seen, the secret.
        var secret: String
    }

    private final class Question: Sendable {
        let key: Key
        let secret: String
        let reader: Reader
        let thread: Int32
        let deadline: ContinuousClock.Instant
        let screen: String
        let place: PromptPlace
        /// The end to read of a pipe whose other one is closed when nobody waits any more.
        let ending: Pipe

        init(
            _ key: Key, _ secret: String, _ reader: Reader, _ thread: Int32,
            until deadline: ContinuousClock.Instant
        ) throws(Errno) {
            (self.key, self.secret, self.reader, self.thread) = (key, secret, reader, thread)
            self.deadline = deadline
            place = Questions.place(of: thread, throughCommand: reader.command?.process)
            screen =
                place.environment["WAYLAND_DISPLAY"] ?? place.environment["DISPLAY"] ?? place.terminal ?? ""
            ending = try Pipe()
        }
    }

    /// A reader who waits for an answer.
    struct Waiter: Sendable {
        /// What was answered to reads like this one before; looked at once more before a person is asked.
        var said: @Sendable () -> Bool? = { nil }
        /// Notes an answer, so that `said` tells it.
        var keep: @Sendable (Answer) -> Void = { _ in }
        /// Runs with the answer, on another thread, unless the read is withdrawn.
        var body: @Sendable (Answer) -> Void
    }

    /// Withdraws a read, and has a closure run, on some thread, when its reader may go on: at once, or when what is shown to it is
    /// gone.
    /// - Returns: false where the read has its answer; then the closure does not run.
    typealias Withdrawal = @Sendable (_ whenGone: @escaping @Sendable () -> Void) -> Bool

    /// What comes of asking.
    enum Asked {
        /// A person is asked.
        case waiting(withdraw: Withdrawal)
        /// The answer was given a moment ago.
        case said(Bool)
    }

    private struct Waiting {
        var question: Question
        /// The number of the waiter where it is shown.
        var first: Int
        /// By a number each.
        var waiters: [Int: Waiter] = [:]
        /// The waiters for whom the answer has been noted.
        var kept: Set<Int> = []
        var isAsked = false
        /// A program may show it.
        var isShown = false
        /// The first has withdrawn; whoever comes now asks anew.
        var isEnding = false
        /// Tells the first that nothing is shown any more.
        var whenGone: (@Sendable () -> Void)?

        var bodies: [@Sendable (Answer) -> Void] {
            waiters.sorted { $0.key < $1.key }.map(\.value.body)
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        var next = 0
    }

    private let state = Monitor(State())
    /// Asks, and waits for the answer.
    private let hasChanged: @Sendable (Program) -> Bool

    /// - Parameter hasChanged: whether a program is another one than when it was last asked about; notes that it is now.
    init(hasChanged: @escaping @Sendable (Program) -> Bool) { self.hasChanged = hasChanged }

    /// Has a person asked; returns at once.
    func ask(
        _ secret: String, _ reader: Reader, thread: Int32, about topic: QuestionTopic, within limit: Duration,
        _ waiter: Waiter
    ) throws(Errno) -> Asked {
        let key = Key(
            topic: topic, program: reader.program, process: reader.program == nil ? reader.process : 0,
            command: reader.command?.process, secret: reader.isUnknown ? secret : "")
        // Made outside the lock, as it looks at the reader; one that is not needed is let go.
        let isKnown = state.withLock { state in
            state.waiting.contains { $0.question.key == key && !$0.isEnding }
        }
        let fresh = isKnown ? nil : try Question(key, secret, reader, thread, until: .now + limit)
        var said: Bool?
        let number: Int? = state.withLock { state in
            state.next += 1
            if let index = state.waiting.firstIndex(where: { $0.question.key == key && !$0.isEnding }) {
                state.waiting[index].waiters[state.next] = waiter
            } else if let fresh {
                // An answer is noted before its question is gone.
                said = waiter.said()
                guard said == nil else { return nil }
                state.waiting.append(
                    Waiting(question: fresh, first: state.next, waiters: [state.next: waiter]))
            } else {
                return nil
            }
            return state.next
        }
        if let said { return .said(said) }
        guard let number else {
            // Answered between the two looks.
            return try ask(secret, reader, thread: thread, about: topic, within: limit, waiter)
        }
        startNext()
        return .waiting { self.withdraw(number, whenGone: $0) }
    }

    private func withdraw(_ number: Int, whenGone: @escaping @Sendable () -> Void) -> Bool {
        var left: [@Sendable (Answer) -> Void] = []
        let isGone: Bool? = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.waiters[number] != nil }) else {
                return nil
            }
            state.waiting[index].waiters[number] = nil
            guard state.waiting[index].first == number else { return true }
            guard state.waiting[index].isAsked else {
                left = state.waiting.remove(at: index).bodies
                return true
            }
            state.waiting[index].isEnding = true
            var byte: UInt8 = 0
            _ = write(state.waiting[index].question.ending.writing.raw, &byte, 1)
            guard state.waiting[index].isShown else { return true }
            state.waiting[index].whenGone = whenGone
            return false
        }
        if isGone == true { whenGone() }
        for body in left { body(.left) }
        return isGone != nil
    }

    /// Asks what can be asked now: the first question of each screen on which there is none.
    private func startNext() {
        let due = state.withLock { state in
            var busy = Set(state.waiting.filter(\.isAsked).map(\.question.screen))
            var due: [Question] = []
            for index in state.waiting.indices where !state.waiting[index].isAsked {
                guard busy.insert(state.waiting[index].question.screen).inserted else { continue }
                state.waiting[index].isAsked = true
                due.append(state.waiting[index].question)
            }
            return due
        }
        for question in due {
            do throws(Errno) {
                try PosixThread.start(named: "question") { self.finish(question, self.ask(question)) }
            } catch {
                finish(question, .nobody)
            }
        }
    }

    private func finish(_ question: Question, _ said: Answer) {
        var answer = said
        var ended: Waiting?
        while true {
            // Who comes to wait while the answer is noted for others is told, too.
            let fresh: [Waiter] = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.question === question }) else {
                    return []
                }
                let waiting = state.waiting[index]
                if waiting.isEnding, said == .nobody { answer = .left }
                let fresh = waiting.waiters.filter { !waiting.kept.contains($0.key) }
                guard fresh.isEmpty else {
                    state.waiting[index].kept.formUnion(fresh.keys)
                    return fresh.sorted { $0.key < $1.key }.map(\.value)
                }
                ended = state.waiting.remove(at: index)
                return []
            }
            guard !fresh.isEmpty else { break }
            for waiter in fresh { waiter.keep(answer) }
        }
        ended?.whenGone?()
        for body in ended?.bodies ?? [] { body(answer) }
        state.broadcast()
        startNext()
    }

    /// Answers all who wait that nobody is there to answer. What is shown to a person is taken away first.
    /// - Parameter seconds: how long to wait until it is gone.
    func end(atMost seconds: Double) {
        let unasked = state.withLock { state in
            for waiting in state.waiting where waiting.isAsked {
                var byte: UInt8 = 0
                _ = write(waiting.question.ending.writing.raw, &byte, 1)
            }
            let unasked = state.waiting.filter { !$0.isAsked }
            state.waiting.removeAll { !$0.isAsked }
            return unasked
        }
        for body in unasked.flatMap(\.bodies) { body(.nobody) }
        let deadline = MonotonicTime(secondsFromNow: seconds)
        state.waiting { state, isOver in
            isOver || !state.waiting.contains(where: \.isAsked) ? .done(()) : .wait(until: deadline)
        }
    }

    private func ask(_ question: Question) -> Answer {
        let changed = question.reader.program.map(hasChanged) ?? false
        let text = QuestionText(question.secret, question.reader, question.key.topic, hasChanged: changed)
        let program = PinentryProgram.path(ProcessEnvironment.variables())
        let isWanted = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.question === question && !$0.isEnding })
            else { return false }
            state.waiting[index].isShown = true
            return true
        }
        guard isWanted else { return .nobody }
        do throws(Errno) {
            let conversation = try PinentryConversation(
                program, at: question.place, ending: question.ending.reading.raw, until: question.deadline)
            let answer = conversation.ask(text, at: question.place)
            conversation.end()
            return answer
        } catch {
            return .nobody
        }
    }

    /// Where the reader's person sits. A display that the reader names itself may be one that it watches: where we have one of
    /// our own, that one is meant. On the terminal of a job in the background a person types to other programs: the next key would
    /// answer what nobody has read.
    private static func place(of thread: Int32, throughCommand command: Int32?) -> PromptPlace {
        let own = PromptPlace.ofThisProcess
        guard var place = PromptPlace.of(process: thread) else { return own }
        if let job = ProcessFolder(command ?? thread), ProcessFacts(of: job)?.isInBackground == true {
            place.terminal = nil
        }
        let displays = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"]
        let isOnDesktop = displays.prefix(2).contains { place.environment[$0]?.isEmpty == false }
        guard isOnDesktop, displays.prefix(2).contains(where: { own.environment[$0]?.isEmpty == false })
        else {
            return place
        }
        for name in displays { place.environment[name] = own.environment[name] }
        return place
    }
}
