import Glibc
import System
public import SystemPackage

/// What a person has written into gpg-agent.conf.
public enum AgentConfiguration {
    /// The `pinentry-program` of a GnuPG home; nil where none is named.
    public static func pinentryProgram(home: FilePath) -> String? {
        let file = home.appending("gpg-agent.conf")
        guard
            let bytes = try? OwnedDescriptor(opening: file, O_RDONLY | O_NONBLOCK).readAll(atMost: 65_536)
        else {
            return nil
        }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
            guard words.count == 2, words[0] == "pinentry-program" || words[0] == "--pinentry-program"
            else {
                continue
            }
            let path = words[1].drop { $0 == " " || $0 == "\t" }
            let trimmed = String(
                path.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }.reversed())
            if !trimmed.isEmpty { return trimmed }
        }
        return nil
    }

    /// A sentence about the `pinentry-program` of a GnuPG home that is not there; nil where it is, or none is named.
    public static func missingPinentry(home: FilePath) -> String? {
        guard let program = pinentryProgram(home: home), program.hasPrefix("/"),
            access(program, F_OK) != 0, [ENOENT, ENOTDIR].contains(errno)
        else { return nil }
        return "the pinentry program \(program) is not there: correct pinentry-program in "
            + home.appending("gpg-agent.conf").string
    }
}
