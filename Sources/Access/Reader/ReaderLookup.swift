import Glibc
import System
import SystemPackage

extension Reader {
    /// More processes than start one another in practice; whoever hides behind more is unknown.
    private static let mostAncestors = 1024

    /// Looks at the process of a thread while that waits for an answer: it can't go on, but may be killed.
    ///
    /// A process whose facts change meanwhile, as its parent ends, is looked at again.
    public init(ofThread thread: Int32) {
        for _ in 0..<4 {
            if let reader = Self.look(thread) {
                self = reader
                return
            }
        }
        self = .unknown
    }

    /// nil where what was read does not belong together.
    private static func look(_ thread: Int32) -> Reader? {
        guard let seen = ProcessFolder(thread), let status = seen.beginning(of: "status", limit: 4096),
            let process = number("Tgid", in: status), let folder = ProcessFolder(process),
            let facts = ProcessFacts(of: folder)
        else { return .unknown }
        guard let ancestors = chain(from: facts.parent) else { return nil }
        let known = Set(ancestors.map(\.process) + [process])
        var leaders: [Ancestor] = []
        for leader in Set([facts.group, facts.session]).sorted() where leader > 1 && !known.contains(leader) {
            // A leader that has ended leaves nothing to look at.
            guard let above = chain(from: leader) else { continue }
            leaders += above.filter { one in
                !known.contains(one.process) && !leaders.contains { $0.process == one.process }
            }
        }
        // A parent that ended meanwhile was followed by another.
        guard let after = ProcessFacts(of: folder) else { return .unknown }
        guard after.parent == facts.parent else { return nil }
        let (program, command) = (Program(of: folder), CommandWords(of: folder))
        return Reader(
            process: process, startTime: facts.startTime, program: program,
            saidNames: SaidNames.of(facts.name, command, running: program), ancestors: ancestors,
            leaders: leaders,
            units: units(folder.bytes(of: "cgroup", atMost: 65_536) ?? []),
            hasTerminal: facts.terminalNumber != 0, terminal: facts.terminal,
            folder: folder.target(of: "cwd").map { String(decoding: $0, as: UTF8.self) },
            words: command.shown,
            ancestorsInSession: facts.session == process
                ? 0 : ancestors.firstIndex { $0.process == facts.session }.map { $0 + 1 } ?? 0)
    }

    /// A process and those above it, but for the first one; nil where one ended while it was looked at, or there are too many.
    private static func chain(from process: Int32) -> [Ancestor]? {
        var found: [Ancestor] = []
        var process = process
        while process > 1 {
            guard found.count < mostAncestors, let folder = ProcessFolder(process),
                let facts = ProcessFacts(of: folder)
            else { return nil }
            let program = Program(of: folder)
            found.append(
                Ancestor(
                    process: process, program: program,
                    saidNames: SaidNames.of(facts.name, CommandWords(of: folder), running: program)))
            process = facts.parent
        }
        return found
    }

    private static func number(_ key: String, in status: [UInt8]) -> Int32? {
        let text = String(decoding: status, as: UTF8.self)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(key + ":") }) else {
            return nil
        }
        return Int32(line.dropFirst(key.count + 1).drop { $0 == "\t" || $0 == " " })
    }

    /// The units of systemd in what `/proc/PID/cgroup` says; cgroups(7).
    static func units(_ cgroup: [UInt8]) -> [String] {
        let lines = String(decoding: cgroup, as: UTF8.self).split(separator: "\n")
        // The unified hierarchy, or systemd's own of the older ones.
        let line = lines.first { $0.hasPrefix("0::") } ?? lines.first { $0.contains(":name=systemd:") }
        return (line?.split(separator: "/").dropFirst() ?? []).map(String.init)
            .filter { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
    }
}
