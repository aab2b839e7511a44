import Glibc
import OpenPGP
import System
import SystemPackage

/// What a person said.
enum Answer: Sendable, Equatable {
    /// The first button: as long as the rule has it.
    case agreed
    /// The middle button.
    case once
    case no
    /// Nobody answered in time, or nobody could be asked.
    case nobody
    /// The reader has gone where the question was shown: others who wait for its answer are asked anew.
    case left
}

/// One yes-or-no question through a pinentry: lines over two pipes, as the manual of pinentry has them (Assuan).
///
/// Nothing secret is said. The program runs in a session of its own, so that it takes no keys but of the terminal that it is
/// told.
struct PinentryConversation: ~Copyable {
    private static let lineLength = 1000
    /// More lines than an honest answer has.
    private static let maximalLines = 100
    /// How long the program may take to give the terminal back.
    private static let patience = Duration.seconds(1)

    private let child: ChildProcess
    private let input: OwnedDescriptor
    private let output: OwnedDescriptor
    /// Becomes readable when nobody waits for the answer any more.
    private let ending: CInt
    private let deadline: ContinuousClock.Instant

    /// - Throws: what the system says of starting the program.
    init(
        _ program: String, at place: PromptPlace, ending: CInt, until deadline: ContinuousClock.Instant
    ) throws(Errno) {
        let toChild = try Pipe()
        let fromChild = try Pipe()
        var words = [program]
        if let display = place.environment["DISPLAY"], !display.isEmpty { words += ["--display", display] }
        child = try ChildProcess(
            words, environment: place.applied(to: ProcessEnvironment.variables()), directory: "/",
            descriptors: [toChild.reading.raw, fromChild.writing.raw, nil], group: .newSession)
        input = toChild.takeWriting()
        output = fromChild.takeReading()
        self.ending = ending
        self.deadline = deadline
    }

    /// Asks, and waits for the answer.
    func ask(_ question: QuestionText, at place: PromptPlace) -> Answer {
        let limit = max(1, Int((deadline - .now) / .seconds(1)))
        var reader = LineReader()
        guard receive(&reader) == .ok else { return .nobody }
        let known = ["ttyname", "ttytype", "lc-ctype", "lc-messages"]
        // What a pinentry does not know it refuses, and goes on.
        for (option, value) in place.options where known.contains(option) {
            guard say("OPTION \(option)=\(value)"), receive(&reader) != .end else { return .nobody }
        }
        for line in ["OPTION grab", "SETTIMEOUT \(limit)"] + question.lines {
            guard line.utf8.count < Self.lineLength, say(line), receive(&reader) != .end else {
                return .nobody
            }
        }
        guard say("CONFIRM") else { return .nobody }
        switch receive(&reader) {
        case .ok: return .agreed
        // GPG_ERR_NOT_CONFIRMED is the middle button, GPG_ERR_CANCELED the last one, an escape, or a window that is closed.
        case .refused(114): return question.hasOnce ? .once : .no
        case .refused(99), .refused(198): return .no
        case .refused, .end: return .nobody
        }
    }

    /// Ends the program, and returns when it has given the terminal back: whoever goes on before that finds a terminal that shows
    /// nothing of what is typed.
    consuming func end() {
        kill(child.pid, SIGTERM)
        if !child.waitForEnd(atMost: Self.patience) { child.kill() }
        child.wait()
    }

    private enum Heard: Equatable {
        case ok
        /// A code of libgpg-error, without the source.
        case refused(Int)
        case end
    }

    private struct LineReader {
        var unread: [UInt8] = []
    }

    private func say(_ line: String) -> Bool {
        do throws(Errno) {
            try input.writeAll(Array(line.utf8) + [UInt8(ascii: "\n")])
            return true
        } catch {
            return false
        }
    }

    private func receive(_ reader: inout LineReader) -> Heard {
        for _ in 0..<Self.maximalLines {
            guard let line = nextLine(&reader) else { return .end }
            let words = line.split(separator: " ", maxSplits: 2)
            switch words.first {
            case "OK": return .ok
            case "ERR": return .refused((words.count > 1 ? Int(words[1]) ?? 0 : 0) & 0xFFFF)
            default: continue
            }
        }
        return .end
    }

    private func nextLine(_ reader: inout LineReader) -> String? {
        while true {
            if let end = reader.unread.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: reader.unread[..<end], as: UTF8.self)
                reader.unread.removeFirst(end + 1)
                return line
            }
            guard reader.unread.count < 4096 else { return nil }
            var entries = [
                pollfd(fd: output.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
            ]
            guard (try? Poll.wait(for: &entries, until: deadline)) == true, entries[1].revents == 0 else {
                return nil
            }
            var chunk = [UInt8](repeating: 0, count: 1024)
            let count = read(output.raw, &chunk, chunk.count)
            if count > 0 {
                reader.unread += chunk[..<count]
            } else if count == 0 || errno != EINTR {
                return nil
            }
        }
    }
}
