import System
import SystemPackage

extension Reader {
    /// A reader that is thought of: what the rules would say.
    ///
    /// - Parameters:
    ///   - path: of its program.
    ///   - programs: what it is started below, the nearest first, by paths or names.
    public init(supposing path: String, below programs: [String], unit: String?, hasTerminal: Bool) {
        let program = FilePath(path).targetFacts().map {
            Program(path: path, fingerprint: Program.fingerprint($0))
        }
        self.init(
            program: program ?? Program(path: path, fingerprint: "", isAtItsPath: false),
            ancestors: programs.map { name in
                let path = name.hasPrefix("/") ? name : "/\(name)"
                return Ancestor(process: 1, program: Program(path: path, fingerprint: ""), saidNames: [])
            }, units: [unit].compactMap(\.self), hasTerminal: hasTerminal)
    }
}
