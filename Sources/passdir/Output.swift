import Glibc
import Stores
import Synchronization
import System
import SystemPackage

/// Standard output. Everything that a command prints goes through here or `StandardError`, and so through the filter for
/// what others wrote (`VisibleText`): no name can steer a terminal or pass for a line of ours. The same holds where
/// output goes to a file or another program; `--json` is for programs that need names as they are.
enum Output {
    private static let quiet = Atomic<Bool>(false)

    /// Whether nothing is said of what went well (`--quiet`).
    static func beQuiet() { quiet.store(true, ordering: .relaxed) }

    /// What was done, in one short line: for who sits there, and not for programs, which have the exit status.
    static func success(_ line: String) {
        if !quiet.load(ordering: .relaxed), isatty(STDOUT_FILENO) == 1 { print(line) }
    }

    /// What is to be known although nothing had to be done, also to a program.
    static func notice(_ line: String) {
        if !quiet.load(ordering: .relaxed) { print(line) }
    }

    /// As `notice`, of several lines.
    static func notice(lines: some Sequence<String>) { lines.forEach(notice) }

    /// The text of a secret: on a terminal with all of it visible, as others may have written it; else byte for byte.
    static func write(secret: SecretBytes) {
        guard isatty(STDOUT_FILENO) == 1 else { return secret.withUnsafeBytes { write($0) } }
        do throws(Errno) {
            let shown = try secret.withUnsafeBytes { (bytes) throws(Errno) in try VisibleText.text(bytes) }
            shown.withUnsafeBytes { write($0) }
        } catch {
            fail(error)
        }
    }

    /// What was made of a secret for a terminal, so that nothing of it steers one: a drawing, lines with colours.
    static func write(drawing: SecretBytes) {
        drawing.withUnsafeBytes { write($0) }
    }

    /// A part of a secret, and a newline.
    static func print(secret: SecretBytes) {
        write(secret: secret)
        write("")
    }

    /// One line; a line break within it is shown, not made.
    static func print(_ line: String) {
        write(VisibleText.line(line))
    }

    /// Lines, by one write for many.
    static func print(lines: some Sequence<String>) {
        let text = lines.lazy.map(VisibleText.line).joined(separator: "\n")
        if !text.isEmpty { write(text) }
    }

    /// One line of fields with tabs between them; a tab in a field is shown.
    static func print(fields: [String]) {
        write(fields.map(VisibleText.line).joined(separator: "\t"))
    }

    /// A table: its cells are made visible before their width is measured.
    static func print(_ table: TextTable) {
        write(table.text)
    }

    /// A line of JSON, which keeps every character.
    static func print(json value: some Encodable) {
        print(json: JSONLine.text(value))
    }

    /// A line of JSON that is text already.
    static func print(json text: String) {
        write(VisibleText.json(text))
    }

    /// Text of our own with line breaks of our own: a page of help. Nothing in it comes from anybody else.
    static func print(ownText text: String) {
        write(text)
    }
}

extension Output {
    /// A reader who has gone (`| head`) ends the command, as it does others; what it was about is done, or is left as it is
    /// after any signal.
    private static func write(_ text: String) {
        var text = text + "\n"
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer) {
        do {
            try FileDescriptor.standardOutput.writeAll(bytes)
        } catch Errno.brokenPipe {
            BrokenPipe.end()
        } catch {
            fail(error)
        }
    }

    /// As echo(1) says it: the exit status alone would tell a script, and nothing a reader.
    private static func fail(_ error: any Error) -> Never {
        StandardError.print("passdir: cannot write output: \(error)")
        exit(1)
    }
}

/// Standard error: errors, warnings, questions and progress, for people.
enum StandardError {
    /// One line, as `Output.print`. None of those in the name of passdir ends with a full stop, whoever wrote its sentence.
    static func print(_ line: String) {
        write(VisibleText.line(line.hasPrefix("passdir: ") ? line.withoutFullStop : line) + "\n")
    }

    /// What went well so far, and yet is to be mended: a sentence without a full stop.
    static func warn(_ sentence: String) {
        print("passdir: warning: \(sentence)")
    }

    /// One line of what others may have written, and lines of our own below it: a message and how the command is used.
    static func print(_ line: String, ownText: String) {
        write(VisibleText.line(line) + ownText + "\n")
    }

    /// A question; the answer is typed behind it.
    static func ask(_ question: String) {
        write(VisibleText.line(question))
    }

    /// Ends the line of a question whose answer was not shown.
    static func endLine() {
        write("\n")
    }

    /// Draws a line of progress over the one before. Only for a terminal.
    static func redraw(_ line: String) {
        write("\r\u{1B}[K" + VisibleText.line(line))
    }

    /// Takes a line of progress away.
    static func clearLine() {
        write("\r\u{1B}[K")
    }

    private static func write(_ text: String) {
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}

extension String {
    /// A sentence as it stands on a line of its own, or with more behind it: without the full stop that some have.
    var withoutFullStop: String { hasSuffix(".") && !hasSuffix("..") ? String(dropLast()) : self }
}
