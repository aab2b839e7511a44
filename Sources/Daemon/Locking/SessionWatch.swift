import CGio
import Glibc
import System
import SystemPackage

/// Tells when the user goes away: what logind says on the system bus, and screen savers on the session bus.
///
/// GLib's loop runs on a thread of its own. Where a bus is missing, or ends, it is looked for again each minute.
final class SessionWatch: Sendable {
    /// What happens to the session.
    enum Event: Sendable {
        /// The computer is about to be suspended; it waits, for a few seconds, until the handler returns.
        case suspending
        /// The screen is locked now.
        case screenLocked
        /// The user's last session has ended.
        case loggedOut
    }

    private static let pause = Duration.seconds(60)
    /// The interfaces of screen savers that say when they lock the screen.
    private static let screenSavers = ["org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver"]

    private let environment: [String: String]
    private let note: @Sendable (String) -> Void
    private let handle: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - note: told, in a few words, what is watched and what is not there.
    ///   - handle: called on the watch's own thread.
    init(
        environment: [String: String], note: @escaping @Sendable (String) -> Void,
        handle: @escaping @Sendable (Event) -> Void
    ) {
        self.environment = environment
        self.note = note
        self.handle = handle
    }

    /// Begins to watch, on a thread that ends with the process.
    func start() throws(Errno) {
        try PosixThread.start(named: "session") { self.serve() }
    }

    private func serve() {
        let context = g_main_context_new()
        g_main_context_push_thread_default(context)
        var (system, session): (LoginWatch?, Bus?)
        while true {
            if system == nil { system = watchLogin() }
            if session == nil { session = watchScreen() }
            let isComplete = system != nil && session != nil
            let end = isComplete ? nil : ContinuousClock.now + Self.pause
            let timer = isComplete ? nil : Self.wake(context, after: Self.pause)
            while system?.bus.isClosed != true, session?.isClosed != true, end.map({ $0 > .now }) ?? true {
                // Returns when something has happened: a signal, the end of a connection, the end of the pause.
                g_main_context_iteration(context, 1)
            }
            if let timer {
                g_source_destroy(timer)
                g_source_unref(timer)
            }
            if system?.bus.isClosed == true { system = nil }
            if session?.isClosed == true { session = nil }
        }
    }

    /// Ends the wait of a loop after a while.
    private static func wake(_ context: OpaquePointer?, after pause: Duration) -> UnsafeMutablePointer<
        GSource
    >? {
        let timer = g_timeout_source_new_seconds(guint(pause.components.seconds) + 1)
        g_source_set_callback(timer, { _ in 0 }, nil, nil)
        g_source_attach(timer, context)
        return timer
    }

    private func watchScreen() -> Bus? {
        guard let bus = Bus(.session, environment: environment) else {
            note("there is no session bus to report when the screen is locked")
            return nil
        }
        for name in Self.screenSavers {
            bus.follow(name, "ActiveChanged", from: name) { [handle] signal in
                if passdir_bus_truth(signal.parameters) != 0 { handle(.screenLocked) }
            }
        }
        note("watching the session bus")
        return bus
    }

    private func watchLogin() -> LoginWatch? {
        guard let watch = LoginWatch(environment: environment, handle) else {
            note("there is no system bus to report when the computer is suspended")
            return nil
        }
        note("watching the system bus" + (watch.delaysSleep ? "" : ", where no logind answers"))
        return watch
    }
}

/// What logind says. Belongs to one thread.
private final class LoginWatch {
    private static let name = "org.freedesktop.login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let session = "org.freedesktop.login1.Session"

    let bus: Bus
    private let handle: (SessionWatch.Event) -> Void
    /// While it is there, logind waits before it suspends the computer.
    private var inhibitor: OwnedDescriptor?
    /// The user's sessions.
    private var sessions: Set<String> = []

    /// nil where there is no system bus.
    init?(environment: [String: String], _ handle: @escaping (SessionWatch.Event) -> Void) {
        guard let bus = Bus(.system, environment: environment) else { return nil }
        self.bus = bus
        self.handle = handle
        follow(Self.manager, "PrepareForSleep") { watch, signal in
            watch.sleep(isComing: passdir_bus_truth(signal.parameters) != 0)
        }
        follow(Self.manager, "SessionNew") { watch, signal in
            if let path = passdir_bus_session_path(signal.parameters) { watch.add(String(cString: path)) }
        }
        follow(Self.manager, "SessionRemoved") { watch, signal in
            if let path = passdir_bus_session_path(signal.parameters) { watch.remove(String(cString: path)) }
        }
        follow(Self.session, "Lock") { watch, signal in
            if watch.isOwn(signal.path) { watch.handle(.screenLocked) }
        }
        follow("org.freedesktop.DBus.Properties", "PropertiesChanged", about: Self.session) { watch, signal in
            if passdir_bus_became_true(signal.parameters, "LockedHint") != 0, watch.isOwn(signal.path) {
                watch.handle(.screenLocked)
            }
        }
        // After the subscriptions, so that nothing is missed between the two.
        delaySleep()
        if let paths = passdir_bus_sessions(bus.connection) {
            var next = paths
            while let path = next.pointee {
                add(String(cString: path))
                next += 1
            }
            g_strfreev(paths)
        }
    }

    /// Whether logind waits for us before it suspends the computer.
    var delaysSleep: Bool { inhibitor != nil }

    private func follow(
        _ interface: String, _ signal: String, about argument: String? = nil,
        _ body: @escaping (LoginWatch, Bus.Signal) -> Void
    ) {
        bus.follow(interface, signal, from: Self.name, about: argument) { [unowned self] in body(self, $0) }
    }

    private func delaySleep() {
        let descriptor = passdir_bus_inhibit_sleep(bus.connection, "Forget decrypted secrets")
        inhibitor = descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    private func sleep(isComing: Bool) {
        if isComing {
            handle(.suspending)
            inhibitor = nil
        } else {
            delaySleep()
        }
    }

    private func isOwn(_ session: String) -> Bool {
        sessions.contains(session) || passdir_bus_session_user(bus.connection, session) == gint64(getuid())
    }

    private func add(_ session: String) {
        if isOwn(session) { sessions.insert(session) }
    }

    private func remove(_ session: String) {
        if sessions.remove(session) != nil, sessions.isEmpty { handle(.loggedOut) }
    }
}
