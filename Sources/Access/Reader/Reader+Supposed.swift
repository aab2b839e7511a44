import System
import SystemPackage

extension Reader {
    /// A reader that is thought of: what the rules would say.
    ///
    /// - Parameters:
    ///   - path: of its program.
    ///   - script: what the program runs, if it is an interpreter; a name that it says only.
    ///   - programs: what it is started below, the nearest first, by paths or names, and their scripts.
    public init(
        supposing path: String, script: String? = nil, below programs: [(program: String, script: String?)],
        unit: String?, hasTerminal: Bool
    ) {
        let program = FilePath(path).targetFacts().map {
            Program(path: path, fingerprint: Program.fingerprint($0))
        }
        self.init(
            program: program ?? Program(path: path, fingerprint: "", isAtItsPath: false),
            saidNames: [script].compactMap(\.self),
            ancestors: programs.map { name, script in
                let path = name.hasPrefix("/") ? name : "/\(name)"
                return Ancestor(
                    process: 1, program: Program(path: path, fingerprint: ""),
                    saidNames: [script].compactMap(\.self))
            }, units: [unit].compactMap(\.self), hasTerminal: hasTerminal)
    }
}
