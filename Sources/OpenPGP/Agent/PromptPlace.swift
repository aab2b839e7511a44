import Glibc
import System

/// Where a person is asked for a passphrase: what pinentry has to know of a terminal, a display and a language.
public struct PromptPlace: Sendable, Equatable {
    /// The path of the terminal.
    public var terminal: String?
    /// TERM, of that terminal.
    public var terminalType: String?
    /// What else the asking program's environment says; only what `countingNames` holds counts.
    public var environment: [String: String]

    /// A place that is told in so many words.
    public init(terminal: String? = nil, terminalType: String? = nil, environment: [String: String] = [:]) {
        self.terminal = terminal
        self.terminalType = terminalType
        self.environment = environment
    }

    /// Where this very process would ask: its GPG_TTY, else the terminal that it reads from or writes to, else the one that
    /// its keys come from, and its environment.
    public static var ofThisProcess: PromptPlace {
        let environment = ProcessEnvironment.variables()
        // `GPG_TTY=$(tty)` where there is none says "not a tty".
        let named = environment["GPG_TTY"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return PromptPlace(
            terminal: named ?? ownTerminal, terminalType: environment["TERM"], environment: environment)
    }

    private static var ownTerminal: String? {
        var name = [CChar](repeating: 0, count: 4096)
        for descriptor in STDIN_FILENO...STDERR_FILENO
        where isatty(descriptor) == 1 && ttyname_r(descriptor, &name, name.count) == 0 {
            return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        // By its name: `/dev/tty` is another one for gpg-agent.
        guard let folder = ProcessFolder(getpid()) else { return nil }
        return terminal(of: folder)
    }

    /// The variables that count.
    private static let names = [
        "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_TYPE", "QT_QPA_PLATFORM", "GTK_IM_MODULE",
        "QT_IM_MODULE", "XMODIFIERS", "PINENTRY_USER_DATA", "INSIDE_EMACS", "COLORTERM",
    ]

    /// All that this looks up in an environment.
    static let countingNames = Set(
        names + ["DISPLAY", "XAUTHORITY", "TERM", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG"])

    /// Options of gpg-agent, and of pinentry as far as it knows them, and their values.
    public var options: [(String, String)] {
        var options: [(String, String?)] = [
            ("ttyname", terminal), ("ttytype", terminalType), ("display", environment["DISPLAY"]),
            ("xauthority", environment["XAUTHORITY"]), ("lc-ctype", locale("LC_CTYPE")),
            ("lc-messages", locale("LC_MESSAGES")),
        ]
        for name in Self.names { options.append(("putenv", environment[name].map { "\(name)=\($0)" })) }
        return options.compactMap { option, value in
            guard let value, !value.isEmpty, value.utf8.count < 900, value.utf8.allSatisfy({ $0 >= 0x20 })
            else { return nil }
            return (option, value)
        }
    }

    /// Options of gpg and their values.
    var wordsForGpg: [String] {
        options.filter { $0.0 != "putenv" }.flatMap { ["--\($0)", $1] }
    }

    /// An environment in which gpg has gpg-agent ask there, and a pinentry asks.
    public func applied(to variables: [String: String]) -> [String: String] {
        var variables = variables
        for name in Self.names + ["DISPLAY", "XAUTHORITY"] { variables[name] = environment[name] }
        (variables["GPG_TTY"], variables["TERM"]) = (terminal, terminalType)
        return variables
    }

    private func locale(_ name: String) -> String? {
        (["LC_ALL", name, "LANG"] as [String]).lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
}
