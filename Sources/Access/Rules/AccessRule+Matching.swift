import Glibc
import SystemPackage

extension AccessRule {
    /// Whether a rule is for a reader. What cannot be told lets nobody in: in doubt a rule that allows does not match, and one
    /// that asks or denies does.
    func matches(_ reader: Reader) -> Bool {
        let isLenient = outcome == .allow
        let answers = [
            program.map { matches(program: $0, reader) }, under.isEmpty ? nil : matchesUnder(reader),
            unit.map { matches(unit: $0, reader) }, hasTerminal.map { matches(terminal: $0, reader) },
        ].compactMap(\.self)
        return answers.allSatisfy { isLenient ? $0 == .yes : $0 != .no }
    }

    private enum Answer { case yes, no, unsure }

    private func matches(program wanted: String, _ reader: Reader) -> Answer {
        guard let program = reader.program else { return .unsure }
        if program.isAtItsPath, program.path == wanted || program.lies(at: wanted) { return .yes }
        // Another file lies there now, or the process sees another one there.
        return program.path == wanted ? .unsure : .no
    }

    private func matchesUnder(_ reader: Reader) -> Answer {
        if reader.isUnknown { return .unsure }
        let lineage = reader.lineage
        if lineage.contains(where: runs) { return .yes }
        // A script, and a program of another user, are known only by what they say of themselves.
        let names = namesUnder
        let isSaid = lineage.contains { SaidNames.areOf(names, $0.saidNames) }
        let isInUnit = reader.units.contains { unit in names.contains { Self.isNamed(unit, after: $0) } }
        return isSaid || isInUnit ? .unsure : .no
    }

    /// Whether it may be for what comes from a process because of that one.
    func mayName(_ one: Reader.Ancestor) -> Bool {
        guard !under.isEmpty else { return false }
        return runs(one) || SaidNames.areOf(namesUnder, one.saidNames)
    }

    private var namesUnder: [String] { under.map { FilePath($0).lastComponent?.string ?? $0 } }

    private func runs(_ one: Reader.Ancestor) -> Bool {
        guard let program = one.program else { return false }
        return under.contains { $0.hasPrefix("/") ? program.path == $0 : program.name == $0 }
    }

    /// Whether a unit is one of an application: `app-gnome-firefox-1234.scope` of `firefox`.
    static func isNamed(_ unit: String, after name: String) -> Bool {
        let plain = unit.replacing("\\x2d", with: "-")
        guard !name.isEmpty, let range = plain.firstRange(of: name) else { return false }
        let before = plain[..<range.lowerBound].last, after = plain[range.upperBound...].first
        return [before, after].allSatisfy { $0.map { !$0.isLetter && !$0.isNumber } ?? true }
    }

    private func matches(unit wanted: String, _ reader: Reader) -> Answer {
        if reader.isUnknown { return .unsure }
        return reader.units.contains { fnmatch(wanted, $0, 0) == 0 } ? .yes : .no
    }

    private func matches(terminal wanted: Bool, _ reader: Reader) -> Answer {
        if reader.isUnknown { return .unsure }
        return reader.hasTerminal == wanted ? .yes : .no
    }
}
