import CGit
import Glibc
public import System
import SystemPackage

/// What is wrong with a configuration file.
public struct ConfigFileError: SentenceError, Equatable {
    /// The kind of failure.
    public var code: GitError.Code
    /// One sentence, without file and line.
    public var message: String
    /// The file.
    public var file: FilePath
    /// The line, counted from 1, where one is to blame.
    public var line: Int?

    /// An error of these parts.
    public init(code: GitError.Code, message: String, file: FilePath, line: Int? = nil) {
        self.code = code
        self.message = message
        self.file = file
        self.line = line
    }

    /// `FILE:LINE: sentence`.
    public var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

/// One file in the syntax of git-config(1): read by libgit2, edited so that comments and order survive.
///
/// What is read is a snapshot; `reload` takes a new one. `[include]` is refused: an edit
/// could not be told where to go.
public final class ConfigFile {
    /// A variable, in the order of the file.
    public struct Entry: Sendable, Equatable {
        /// The section, lower case (git doesn't tell cases apart).
        public var section: String
        /// The subsection as written (git tells cases apart); nil for a plain section.
        public var subsection: String?
        /// The variable's name as written; compare without case.
        public var key: String
        /// The value; nil for a bare name, which git takes as true.
        public var value: String?
        /// The line it stands on, counted from 1.
        public var line: Int

        /// `section.key` or `section.subsection.key`.
        public var name: String { [section, subsection, key].compactMap(\.self).joined(separator: ".") }
    }

    /// A section's header, in the order of the file.
    public struct Section: Sendable, Equatable {
        /// The section, lower case.
        public var name: String
        /// The subsection as written; nil for a plain section.
        public var subsection: String?
        /// The line of the header, counted from 1.
        public var line: Int
    }

    /// A variable's key and value.
    public struct Value: Sendable, Equatable {
        /// The key.
        public var key: String
        /// The value.
        public var value: String

        /// A variable of these parts.
        public init(_ key: String, _ value: String) { (self.key, self.value) = (key, value) }
    }

    /// An edit of the file.
    public enum Edit: Sendable, Equatable {
        /// Sets a variable (`section.key`, `section.subsection.key`); a section that isn't there goes to the end.
        case set(String, String)
        /// Removes a variable; its section stays.
        case delete(String)
        /// Puts these variables, in this order, in place of all that the sections of this name and subsection hold; comments on
        /// lines of their own stay. A section that isn't there goes to the end.
        case setValues(String, subsection: String, [Value])
        /// Removes all sections of this name and subsection, with what is in them.
        case removeSection(String, subsection: String?)
        /// Gives all sections of this name and subsection another subsection.
        case renameSection(String, from: String, to: String)
        /// Moves all sections of this name and subsection, with the comments right above them, before or behind those
        /// of another subsection.
        case moveSection(String, subsection: String, ConfigPlace)
    }

    /// The file's place.
    public let path: FilePath
    /// All variables, in file order, repeated ones too.
    public private(set) var entries: [Entry] = []
    /// All section headers, in file order, empty and repeated ones too.
    public private(set) var sections: [Section] = []

    /// Reads a file; an absent one is empty.
    /// - Throws: `.invalid` with the line when it cannot be parsed, `.unsupported` for an `[include]`.
    public init(_ path: FilePath) throws(ConfigFileError) {
        LibGit2.start()
        self.path = path
        try reload()
    }

    /// The value of a variable; the last one counts where a name is repeated. Section and key are compared without
    /// case, the subsection with it.
    public func string(_ name: String) -> String? {
        guard let wanted = ConfigName(name) else { return nil }
        return entries.last { wanted.matches($0) }?.value
    }

    /// The subsections of a section, each once, in file order: `subsections(of: "store")`.
    public func subsections(of section: String) -> [String] {
        var seen: Set<String> = []
        return sections.filter { $0.name == section.lowercased() }.compactMap(\.subsection)
            .filter { seen.insert($0).inserted }
    }

    /// Sets one variable.
    public func set(_ name: String, _ value: String) throws(ConfigFileError) {
        try edit([.set(name, value)])
    }

    /// Removes one variable.
    public func delete(_ name: String) throws(ConfigFileError) {
        try edit([.delete(name)])
    }

    /// Reads the file again.
    public func reload() throws(ConfigFileError) {
        guard let text = try ConfigReplacement.bytes(of: path) else {
            (entries, sections) = ([], [])
            return
        }
        if let line = ConfigFile.lineThatIsNotText(text) {
            throw ConfigFileError(
                code: .invalid, message: "the file is not UTF-8 text: save it as UTF-8", file: path,
                line: line)
        }
        let scan = ConfigScan(text)
        if let include = scan.sections.first(where: { ["include", "includeif"].contains($0.name) }) {
            throw ConfigFileError(
                code: .unsupported, message: "[\(include.name)] is not supported", file: path,
                line: include.line)
        }
        let variables = try variables(of: path)
        if let line = scan.openQuote {
            throw ConfigFileError(code: .invalid, message: "unclosed quote", file: path, line: line)
        }
        guard variables.count == scan.variables.count else {
            guard try ConfigReplacement.bytes(of: path) == text else {
                throw ConfigFileError(
                    code: .corrupt, message: "the file changed while being read", file: path)
            }
            // libgit2 takes some lines for whole that git does not, such as a backslash before a comment.
            let odd = zip(variables, scan.variables).first { read, seen in
                ConfigName(read.name)?.key.lowercased() != seen.key.lowercased()
            }
            throw ConfigFileError(
                code: .invalid, message: "misplaced backslash or quote on or above this line",
                file: path, line: odd?.1.line ?? scan.variables.dropFirst(variables.count).first?.line)
        }
        sections = scan.sections
        entries = zip(variables, scan.variables).compactMap { variable, place in
            guard var name = ConfigName(variable.name) else { return nil }
            name.key = place.key
            return Entry(
                section: name.section, subsection: name.subsection, key: name.key, value: variable.value,
                line: place.line)
        }
    }

    /// The first line that is not UTF-8, or holds a NUL; nil when all are text.
    private static func lineThatIsNotText(_ text: [UInt8]) -> Int? {
        guard String(validating: text, as: UTF8.self) == nil || text.contains(0) else { return nil }
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.firstIndex { String(validating: $0, as: UTF8.self) == nil || $0.contains(0) }.map {
            $0 + 1
        }
    }

    /// Every variable that libgit2 finds, in file order, without those of included files.
    func variables(of file: FilePath) throws(ConfigFileError) -> [(name: String, value: String?)] {
        try rethrowing(ConfigSnapshot(of: file).variables(), located).filter { !$0.isIncluded }
            .map { ($0.name, $0.value) }
    }

    /// libgit2 1.5 ends the message of a parse error with `(in FILE:LINE)` or `(in FILE:LINE, column N)`.
    func located(_ error: GitError) -> ConfigFileError {
        guard let start = error.message.firstRange(of: " (in ") else {
            return ConfigFileError(code: error.code, message: error.message, file: path)
        }
        let place = error.message[start.upperBound...].prefix { $0 != "," && $0 != ")" }
        let line = place.split(separator: ":").last.flatMap { Int($0) }
        return ConfigFileError(
            code: .invalid, message: String(error.message[..<start.lowerBound]), file: path, line: line)
    }
}

/// Where a section is moved to.
public enum ConfigPlace: Sendable, Equatable {
    /// Before the first section of this subsection.
    case before(String)
    /// Behind the last section of this subsection.
    case after(String)

    /// The subsection that it is moved beside.
    public var neighbour: String {
        switch self {
        case .before(let name), .after(let name): name
        }
    }
}
