import Glibc
import SystemPackage

/// Tells the user on the desktop, where there is one (org.freedesktop.Notifications).
public enum DesktopNotification {
    /// Shows a message; returns at once, and quietly does nothing without a session bus. The text goes over a pipe's
    /// program arguments: it is a sentence, never a secret.
    public static func show(_ title: String, _ body: String) {
        guard hasSessionBus else { return }
        let words = [
            "gdbus", "call", "--session", "--timeout", "5", "--dest", "org.freedesktop.Notifications",
            "--object-path", "/org/freedesktop/Notifications", "--method",
            "org.freedesktop.Notifications.Notify",
            "passdir", "0", "dialog-password", quoted(title), quoted(body), "[]", "{}",
            // A word that begins with "-" would be an option.
            "@i -1",
        ]
        PlainThread.start {
            _ = try? ChildProgram.run(words, environment: ChildProgram.environment, timeout: .seconds(10))
        }
    }

    private static var hasSessionBus: Bool {
        if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 { return true }
        guard let folder = getenv("XDG_RUNTIME_DIR"), folder.pointee != 0 else { return false }
        return access(String(cString: folder) + "/bus", F_OK) == 0
    }

    /// A string in the text form of GVariant.
    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : $0.isNewline ? " " : String($0) }.joined()
            + "\""
    }
}
