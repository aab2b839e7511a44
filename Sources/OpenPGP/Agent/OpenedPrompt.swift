import CLinux
import Glibc
import System

/// A program that asks a person on behalf of us: the pinentry that gpg-agent has told of (PINENTRY_LAUNCHED).
///
/// gpg-agent 2.2 does not notice that a client has gone: it would leave the prompt where it is, and let every other key wait
/// for it.
final class OpenedPrompt {
    /// How long one may take to give the terminal back.
    private static let patience = Duration.seconds(1)

    /// A pidfd.
    private let process: OwnedDescriptor

    /// nil where it is gone.
    init?(_ id: pid_t) {
        guard id > 1 else { return nil }
        let opened = passdir_pidfd_open(id)
        guard opened >= 0 else { return nil }
        process = OwnedDescriptor(opened)
    }

    /// As above, of what gpg says behind PINENTRY_LAUNCHED.
    convenience init?(_ line: StatusLine) {
        guard let id = line.arguments.first.flatMap({ pid_t($0) }) else { return nil }
        self.init(id)
    }

    /// Whether it asks still.
    var isOpen: Bool { !Poll.isReadable(process.raw) }

    /// Tells it to end.
    func end() { _ = passdir_pidfd_send_signal(process.raw, SIGTERM) }

    /// Ends it, and returns when it has given the terminal back: whoever goes on before that finds a terminal that shows nothing
    /// of what is typed. One that does not end in time is killed.
    func close() {
        end()
        let hasEnded = try? Poll.wait(for: POLLIN, on: process.raw, until: .now + Self.patience)
        if hasEnded == false { _ = passdir_pidfd_send_signal(process.raw, SIGKILL) }
    }
}
