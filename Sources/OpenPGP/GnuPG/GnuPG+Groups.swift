import CGPGME
import Glibc
import System
import SystemPackage

extension GnuPG {
    /// Asks gpg for the groups of its configuration files: `cfg:group:NAME:MEMBER;MEMBER`, escaped with `%XX`.
    ///
    /// gpg itself is asked, and not `gpgconf` through gpgme, which asks every component of GnuPG.
    func listGroups() throws(OpenPGPError) -> [String: [String]] {
        let operation = try Operation(home: nil)
        let error = gpgme_set_protocol(operation.context, GPGME_PROTOCOL_SPAWN)
        guard error == 0 else { throw EngineFailure.error(error, "cannot ask gpg for its groups") }
        let sink = ByteSink()
        let target = try operation.writing(to: sink)
        let words = [
            "gpg", "--homedir", home.string, "--no-tty", "--batch", "--with-colons", "--list-config", "group",
        ]
        let verdict = try run(operation, to: "tell its groups") { context in
            words.withCStrings { gpgme_op_spawn_start(context, program.path, $0, nil, target, nil, 0) }
        }
        guard verdict == 0 else { throw EngineFailure.error(verdict, "cannot ask gpg for its groups") }
        return Self.groups(inListing: String(decoding: sink.bytes, as: UTF8.self))
    }

    static func groups(inListing text: String) -> [String: [String]] {
        var groups: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
            guard fields.count == 4, fields[0] == "cfg", fields[1] == "group" else { continue }
            let members = unescape(fields[3]).split(separator: ";").map(String.init)
            groups[unescape(fields[2]).lowercased(), default: []] += members
        }
        return groups
    }

    private static func unescape(_ text: Substring) -> String {
        String(decoding: PercentText.decoded(text), as: UTF8.self)
    }
}
