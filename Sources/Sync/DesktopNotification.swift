import Glibc
import Stores
import System
import SystemPackage

/// Tells the user on the desktop, where there is one (org.freedesktop.Notifications).
public enum DesktopNotification {
    /// Shows a message; returns at once, and quietly does nothing without a session bus. The text goes over a pipe's
    /// program arguments: it is a sentence, never a secret.
    public static func show(_ title: String, _ body: String) {
        guard hasSessionBus else { return }
        // Without a thread it is not told here; status tells it, too.
        try? PosixThread.start(named: "notification") { showAndWait(title, body) }
    }

    /// As `show`, but returns when it is shown, or cannot be: for a process that ends.
    public static func showAndWait(_ title: String, _ body: String) {
        guard hasSessionBus else { return }
        let words = [
            "gdbus", "call", "--session", "--timeout", "5", "--dest", "org.freedesktop.Notifications",
            "--object-path", "/org/freedesktop/Notifications", "--method",
            "org.freedesktop.Notifications.Notify",
            "passdir", "0", "dialog-password", quoted(VisibleText.line(title, atMost: titleLimit)),
            quoted(markup(VisibleText.line(body, atMost: bodyLimit))), "[]", "{}",
            // A word that begins with "-" would be an option.
            "@i -1",
        ]
        _ = try? ChildProcess.run(words, environment: ProcessEnvironment.forGit, timeout: .seconds(10))
    }

    /// More than this is no sentence of ours but what a server or a name put into it.
    private static let titleLimit = 100
    private static let bodyLimit = 600

    /// A body is read as markup (Desktop Notifications Specification, "Markup"): what others wrote makes no link, loads no
    /// picture.
    private static func markup(_ text: String) -> String {
        text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: String(character)
            }
        }.joined()
    }

    private static var hasSessionBus: Bool {
        if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 { return true }
        guard let folder = getenv("XDG_RUNTIME_DIR"), folder.pointee != 0 else { return false }
        return access(String(cString: folder) + "/bus", F_OK) == 0
    }

    /// A string in the text form of GVariant.
    private static func quoted(_ text: String) -> String {
        // By scalars: a quotation mark with a combining character behind it is another Character.
        "\""
            + String(
                String.UnicodeScalarView(
                    text.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] })) + "\""
    }
}
