import Glibc
import Synchronization
import System
import SystemPackage

/// Where gpg-agent listens, as it was when that was found out.
struct AgentSocket: Sendable {
    let path: FilePath
    private let file: FilePath
    private let identity: FileIdentity

    /// - Parameter file: what `gpgconf` names: the socket, or a file that says where it is (libassuan's redirection).
    init?(_ file: FilePath) {
        guard let facts = file.targetFacts() else { return nil }
        self.file = file
        identity = FileIdentity(facts)
        guard facts.st_mode & S_IFMT == S_IFREG else {
            path = file
            return
        }
        let mark = "%Assuan%\nsocket="
        guard
            let bytes = try? OwnedDescriptor(opening: file, O_RDONLY | O_NONBLOCK).readAll(atMost: 4096),
            bytes.starts(with: mark.utf8)
        else { return nil }
        let name = String(decoding: bytes.dropFirst(mark.utf8.count).prefix { $0 != 10 }, as: UTF8.self)
        // Names with variables in them are left to gpg.
        guard name.hasPrefix("/"), !name.contains("$") else { return nil }
        path = FilePath(name)
    }

    /// Whether nothing else has taken its place.
    var isSame: Bool { file.targetFacts().map(FileIdentity.init) == identity }
}

/// The gpg-agent of a home.
///
/// Each session key has a connection of its own: one that were kept would keep gpg-agent from ending when it is told to
/// (SIGTERM), and one more costs a tenth of a millisecond.
final class Agent: Sendable {
    private let known = Mutex<AgentSocket?>(nil)
    private let find: @Sendable (Bounds) -> FilePath?

    /// - Parameter find: says where the agent listens; it takes a program to find out.
    init(find: @escaping @Sendable (Bounds) -> FilePath?) { self.find = find }

    /// A connection on which nobody is asked for anything.
    func connection(_ wait: AgentWait) throws(AgentFailure) -> AgentConnection {
        let connection = try AgentConnection(to: try socket(wait).path, asks: false, wait)
        try connection.queue("OPTION pinentry-mode=error")
        return connection
    }

    /// A connection on which a person may be asked, where the reader sits.
    func connectionThatAsks(_ place: PromptPlace, _ wait: AgentWait) throws(AgentFailure) -> AgentConnection {
        let connection = try AgentConnection(to: try socket(wait).path, asks: true, wait)
        for (option, value) in place.options { try connection.set(option, to: value, wait) }
        try connection.run("OPTION allow-pinentry-notify", wait)
        return connection
    }

    /// Has the agent forget all passphrases and the PINs of cards, as `gpgconf --reload gpg-agent` does.
    /// - Returns: false where one runs and does not answer.
    func forgetPassphrases() -> Bool {
        do throws(AgentFailure) {
            let wait = try AgentWait(Bounds(timeout: Self.patience, to: "forget passphrases"))
            try connection(wait).run("RELOADAGENT", wait)
            return true
        } catch .broken {
            // None runs, or it is just ending: it knows nothing.
            return true
        } catch {
            return false
        }
    }

    private static let patience = Duration.seconds(1)

    private func socket(_ wait: AgentWait) throws(AgentFailure) -> AgentSocket {
        if let known = known.withLock({ $0 }), known.isSame { return known }
        guard let file = find(wait.bounds), let found = AgentSocket(file) else { throw .broken }
        known.withLock { $0 = found }
        return found
    }
}
