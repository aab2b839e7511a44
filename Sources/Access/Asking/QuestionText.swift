import OpenPGP
import System
import SystemPackage

/// What an answer decides.
enum QuestionTopic: Hashable, Sendable {
    /// Whether a program may read, by a rule that asks.
    case rule(PlacedRule)
    /// Whether a program may change a list of recipients, and so who can read, by a rule that asks.
    case change(PlacedRule)
    /// Whether a store that is locked may be read again, by every program that its rules let.
    case unlock(store: String)
}

/// What a person is asked. Every name in it may have been chosen by others: what would steer a terminal is shown, not done.
struct QuestionText: Sendable, Equatable {
    /// The lines that pinentry is told, without the one that asks.
    let lines: [String]
    /// Whether there is a middle button, for once only.
    let hasOnce: Bool

    /// In bytes, as Assuan has them: all lines that matter most have room.
    private static let nameLimit = 160

    /// - Parameters:
    ///   - secret: the one that was opened, or the list that is to change.
    ///   - hasChanged: whether the program's file is another one than when it was last asked about.
    init(_ secret: String, _ reader: Reader, _ topic: QuestionTopic, hasChanged: Bool) {
        var text = ["\"\(Self.shown(reader.title))\" wants to read \"\(Self.shown(secret))\"."]
        if case .change = topic {
            let folder = Self.shown(Deed.folder(of: secret))
            text = [
                "\"\(Self.shown(reader.title))\" wants to change who can read everything in \"\(folder)\", by "
                    + "its list of recipients."
            ]
        }
        if let command = reader.command {
            text.append("It reads through the command: \(Self.shown(command.words.joined(separator: " ")))")
        }
        switch topic {
        case .rule(let placed) where secret != placed.place, .change(let placed):
            text.append("The answer applies to everything in \(Self.shown(placed.place)).")
        case .rule: break
        case .unlock(let store):
            text.append("\(Self.shown(store)) is locked. Unlocking it unlocks it for every program.")
        }
        if reader.isUnknown { text.append("Its process cannot be seen from here.") }
        if let program = reader.program, !program.isAtItsPath {
            text.append("Another file, or none, is at that path now.")
        }
        if hasChanged { text.append("The program has changed since you were last asked about it.") }
        if !reader.words.isEmpty {
            text.append("Its command begins: \(Self.shown(reader.words.joined(separator: " ")))")
        }
        let rule: AccessRule? =
            switch topic {
            case .rule(let placed), .change(let placed): placed.rule
            case .unlock: nil
            }
        let starters = reader.startedBy(for: rule).prefix(6)
        if !starters.isEmpty {
            text.append("Started by: " + starters.map { Self.shown($0.title) }.joined(separator: ", by "))
        }
        if let unit = reader.units.last { text.append("In the unit: \(Self.shown(unit))") }
        if let folder = reader.folder { text.append("In the folder: \(Self.shown(folder))") }
        text.append(
            reader.hasTerminal ? "On the terminal: \(reader.terminal ?? "unknown")" : "Without a terminal.")
        text.append("Process: \(reader.process)")
        let agreed: String
        switch topic {
        case .unlock:
            agreed = "Unlock"
            hasOnce = false
        case .rule(let placed), .change(let placed):
            switch placed.rule.outcome {
            case .ask(.everyTime), .allow, .deny:
                agreed = "Allow this run"
                hasOnce = false
            case .ask(.lasting(let time)):
                agreed = "Allow for \(Self.words(time))"
                hasOnce = true
            case .ask(.untilLock):
                agreed = "Allow until lock"
                hasOnce = true
            }
        }
        lines =
            ["SETTITLE passdir", "SETDESC \(Self.escaped(text, limit: 900))", "SETOK \(agreed)"]
            + (hasOnce ? ["SETNOTOK Allow once"] : []) + ["SETCANCEL Refuse"]
    }

    private static func words(_ time: Duration) -> String {
        let seconds = Int(time / .seconds(1))
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }

    /// A name of others. What tells one path from another is mostly its end, so that a long one lacks its middle.
    private static func shown(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        func visible(_ part: some Sequence<Unicode.Scalar>) -> String {
            var text = String.UnicodeScalarView()
            text.append(contentsOf: part)
            return VisibleText.line(String(text))
        }
        // As Assuan writes it.
        func size(_ text: String) -> Int { text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "%") ? 3 : 1) } }
        // No sign takes less than a byte.
        if scalars.count <= nameLimit {
            let whole = visible(scalars)
            if size(whole) <= nameLimit { return whole }
        }
        func room(_ part: some Sequence<Unicode.Scalar>, _ limit: Int) -> Int {
            var (count, used) = (0, 0)
            for scalar in part {
                used += size(visible([scalar]))
                guard used <= limit else { break }
                count += 1
            }
            return count
        }
        let (start, end) = (room(scalars, nameLimit / 3), room(scalars.reversed(), nameLimit * 2 / 3 - 3))
        return visible(scalars.prefix(start)) + "…" + visible(scalars.suffix(end))
    }

    /// As Assuan wants it in one line, which must not be longer than the protocol allows.
    private static func escaped(_ text: [String], limit: Int) -> String {
        var result = ""
        for (index, line) in text.enumerated() {
            let piece = (index == 0 ? "" : "%0A") + line.replacing("%", with: "%25")
            // The first lines are those that matter most.
            guard result.utf8.count + piece.utf8.count <= limit else { break }
            result += piece
        }
        return result
    }
}
