import Glibc
import OpenPGP
import Settings
import System
import SystemPackage

/// Which pinentry asks: the one that gpg-agent would start.
enum PinentryProgram {
    /// The `pinentry-program` of gpg-agent.conf, else the one that gpgconf names.
    static func path(_ environment: [String: String]) -> String {
        let home =
            environment["GNUPGHOME"].flatMap { $0.isEmpty ? nil : FilePath($0) }
            ?? HomeDirectory.current.appending(".gnupg")
        if let path = AgentConfiguration.pinentryProgram(home: home) { return path }
        let listed = try? ChildProcess.run(
            ["gpgconf", "--list-components"], environment: environment, timeout: .seconds(10))
        for line in String(decoding: listed?.output ?? [], as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            // A colon and a percent sign in it are escaped; such a path is nobody's.
            if fields.count > 2, fields[0] == "pinentry", !fields[2].isEmpty { return String(fields[2]) }
        }
        return "pinentry"
    }
}
