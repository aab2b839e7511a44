import System

/// Who reads: a process, as the kernel knows it, and what it says of itself.
public struct Reader: Sendable, Equatable {
    /// A process that started another, or leads its group or session.
    public struct Ancestor: Sendable, Equatable, Codable {
        /// Its id when it was looked at.
        public var process: Int32
        /// What it runs; nil where that may not be known.
        public var program: Program?
        /// What it says that it is; see `SaidNames`.
        public var saidNames: [String]

        /// A process of these parts.
        public init(process: Int32, program: Program?, saidNames: [String] = []) {
            (self.process, self.program, self.saidNames) = (process, program, saidNames)
        }

        /// What people are told: the program's path, else what it calls itself.
        public var title: String { program?.path ?? saidNames.first ?? "process \(process)" }
    }

    /// The process; its own program's part stands in `program`. Id 0: it cannot be seen from here.
    public var process: Int32
    /// When it began, in ticks since the system did: with the id what no other process has.
    public var startTime: UInt64
    /// What it runs; nil where that may not be known.
    public var program: Program?
    /// What it says that it is.
    public var saidNames: [String]
    /// Who started it, the parent first, up to the first process.
    public var ancestors: [Ancestor]
    /// Who leads its process group and its session, with those above them, as far as they are no ancestors: what is left of
    /// an origin after a process has let go of its parents.
    public var leaders: [Ancestor]
    /// The units and scopes of systemd that it runs in, the outermost first.
    public var units: [String]
    /// Whether its keys come from a terminal.
    public var hasTerminal: Bool
    /// The path of that.
    public var terminal: String?
    /// Where it runs.
    public var folder: String?
    /// The first two words of its command, as it says itself.
    public var words: [String]
    /// How many of `ancestors` belong to its session.
    public var ancestorsInSession: Int
    /// The command of passdir that reads for it; nil where it reads itself.
    public var command: Command?

    /// A command of passdir, which whoever it reads for has started.
    public struct Command: Sendable, Equatable {
        /// The process.
        public var process: Int32
        /// As the reader's.
        public var startTime: UInt64
        /// As the reader's.
        public var words: [String]

        /// nil where it has ended.
        init?(_ process: Int32) {
            guard let folder = ProcessFolder(process), let facts = ProcessFacts(of: folder) else {
                return nil
            }
            (self.process, startTime) = (process, facts.startTime)
            words = CommandWords(of: folder).shown
        }
    }

    /// A reader of these parts.
    public init(
        process: Int32 = 1, startTime: UInt64 = 0, program: Program?, saidNames: [String] = [],
        ancestors: [Ancestor] = [], leaders: [Ancestor] = [], units: [String] = [], hasTerminal: Bool = false,
        terminal: String? = nil, folder: String? = nil, words: [String] = [], ancestorsInSession: Int = 0
    ) {
        (self.process, self.startTime, self.program, self.saidNames) = (
            process, startTime, program, saidNames
        )
        (self.ancestors, self.leaders, self.units) = (ancestors, leaders, units)
        (self.hasTerminal, self.terminal, self.folder) = (hasTerminal, terminal, folder)
        (self.words, self.ancestorsInSession) = (words, ancestorsInSession)
    }

    /// A process that cannot be seen from here.
    public static let unknown = Reader(process: 0, program: nil)

    /// Whether nothing is known of it.
    public var isUnknown: Bool { process == 0 }

    /// What people are told: the program's path, else what it calls itself.
    public var title: String {
        isUnknown ? "an unknown program" : program?.path ?? saidNames.first ?? "process \(process)"
    }

    /// Itself and all that it comes from.
    var lineage: [Ancestor] {
        [Ancestor(process: process, program: program, saidNames: saidNames)] + ancestors + leaders
    }

    /// Who started it, up to the leader of its session, and as far as a rule that decides names one of them: a session of its
    /// own hides nobody. What leads one has the nearest.
    public func startedBy(for rule: AccessRule?) -> [Ancestor] {
        let nearest = ancestorsInSession == 0 ? min(3, ancestors.count) : ancestorsInSession
        guard let rule else { return Array(ancestors.prefix(nearest)) }
        if let named = ancestors.firstIndex(where: rule.mayName) {
            return Array(ancestors.prefix(max(nearest, named + 1)))
        }
        // What has let go of its parents is known by its leaders.
        let leader = leaders.firstIndex(where: rule.mayName)
        return Array(ancestors.prefix(nearest)) + leaders.prefix(leader.map { $0 + 1 } ?? 0)
    }
}
