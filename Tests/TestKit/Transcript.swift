import Glibc
import SystemPackage

/// A file of commands as typed and output as expected; see the README beside the transcripts.
public struct Transcript: Sendable, CustomStringConvertible {
    /// One command and what follows it.
    struct Step: Sendable, Equatable {
        /// The command, with its further lines.
        var command: String
        /// The output lines, with `...` and `[..]`; an exit status that is not 0 is a last line `? N`.
        var expected: [String] = []
    }

    /// The file's name without `.txt`.
    public let name: String
    /// Lines that begin with `! `: what the home must have before the commands run.
    let setup: [[String]]
    let steps: [Step]

    /// The name, which the test run shows.
    public var description: String { name }

    /// Reads a transcript.
    public init(name: String, text: String) throws {
        var setup: [[String]] = []
        var steps: [Step] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if line.hasPrefix("> "), !steps.isEmpty, steps[steps.count - 1].expected.isEmpty {
                steps[steps.count - 1].command += "\n" + line.dropFirst(2)
            } else if !steps.isEmpty {
                steps[steps.count - 1].expected.append(line)
            } else if line.hasPrefix("! ") {
                setup.append(line.dropFirst(2).split(separator: " ").map(String.init))
            } else if !line.isEmpty, !line.hasPrefix("#") {
                throw TestFailure("\(name): this line is before the first command: \(line)")
            }
        }
        // Empty lines and comments between an output and the next command part them for the reader.
        for index in steps.indices {
            steps[index].expected.removeAll { $0.hasPrefix("# ") }
            while steps[index].expected.last == "" { steps[index].expected.removeLast() }
        }
        guard !steps.isEmpty else { throw TestFailure("\(name): no command") }
        self.name = name
        self.setup = setup
        self.steps = steps
    }

    /// All transcripts of a folder, by name.
    public static func all(in folder: FilePath) throws -> [Transcript] {
        guard let listing = opendir(folder.string) else { throw Errno(rawValue: errno) }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".txt") { names.append(name) }
        }
        return try names.sorted().map { name in
            let text = SystemFile.text(folder.appending(name).string) ?? ""
            return try Transcript(name: String(name.dropLast(4)), text: text)
        }
    }

    /// Types the commands into one sh and compares.
    ///
    /// - Returns: nil when everything is as expected, else a diff of the whole transcript.
    public func difference(in home: TestHome, limit: Duration = .seconds(120)) throws -> String? {
        for words in setup { try home.prepare(words) }
        // Each output is followed by a line that no command prints, with the exit status.
        let mark = "\u{1E}status "
        let script = steps.map { "\($0.command)\nprintf '\(mark)%d\\n' $?\n" }.joined()
        try home.write("exec 2>&1\n" + script, to: ".transcript.sh")
        let result = try home.run(["sh", ".transcript.sh"], limit: limit)
        let text = result.output.split(separator: home.folder.string, omittingEmptySubsequences: false)
            .joined(separator: "~")
        var outputs = text.split(separator: mark, omittingEmptySubsequences: false).map(String.init)
        var actual: [[String]] = []
        var output = outputs.removeFirst()
        for rest in outputs {
            let end = rest.firstIndex(of: "\n") ?? rest.endIndex
            let status = rest[..<end]
            actual.append(Self.lines(output) + (status == "0" ? [] : ["? \(status)"]))
            output = String(rest[end...].dropFirst())
        }
        var report: [String] = []
        var isEqual = !result.timedOut && actual.count == steps.count
        for (index, step) in steps.enumerated() {
            report += Step.commandLines(step.command)
            guard index < actual.count else {
                report.append(
                    "- (did not run: the shell ended\(result.timedOut ? ", as its time was over" : ""))")
                report += Self.lines(output).map { "+ " + $0 }
                break
            }
            if LineMatch.matches(step.expected[...], actual[index][...]) {
                report += actual[index].map { "  " + $0 }
            } else {
                isEqual = false
                report += step.expected.map { "- " + $0 } + actual[index].map { "+ " + $0 }
            }
        }
        return isEqual ? nil : "\(name) (- expected, + got):\n" + report.joined(separator: "\n")
    }

    private static func lines(_ output: String) -> [String] {
        var lines = output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" {
            lines.removeLast()
        } else if !lines.isEmpty {
            lines.append("[no newline]")
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }
}

extension Transcript.Step {
    static func commandLines(_ command: String) -> [String] {
        command.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
            ($0.offset == 0 ? "$ " : "> ") + $0.element
        }
    }
}

/// Lines against a pattern: `...` alone stands for any lines, `[..]` in a line for any characters.
enum LineMatch {
    static func matches(_ pattern: ArraySlice<String>, _ lines: ArraySlice<String>) -> Bool {
        guard let first = pattern.first else { return lines.isEmpty }
        let rest = pattern.dropFirst()
        if first == "..." {
            return (lines.startIndex...lines.endIndex).contains { matches(rest, lines[$0...]) }
        }
        guard let line = lines.first, matches(first, line) else { return false }
        return matches(rest, lines.dropFirst())
    }

    static func matches(_ pattern: String, _ line: String) -> Bool {
        let wildcard = "[..]"
        var parts = pattern.split(separator: wildcard, omittingEmptySubsequences: false)[...]
        guard parts.count > 1 else { return pattern == line }
        guard let head = parts.popFirst(), let tail = parts.popLast(), line.hasPrefix(head) else {
            return false
        }
        var rest = line.dropFirst(head.count)
        for part in parts where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(tail)
    }
}

extension TestHome {
    /// One `! ` line of a transcript: `key ADDRESS`, or `store NAME ADDRESS... [nogit | remote]`.
    func prepare(_ words: [String]) throws {
        switch words.first {
        case "key" where words.count == 2:
            try makeKey(words[1])
        case "store" where words.count > 2:
            let recipients = words.dropFirst(2).filter { $0.contains("@") }
                .map { TestKey(fingerprint: $0, address: $0) }
            _ = try makeStore(
                words[1], recipients: recipients, git: !words.contains("nogit"),
                remote: words.contains("remote"))
        default:
            throw TestFailure("not a set-up line: ! \(words.joined(separator: " "))")
        }
    }
}
