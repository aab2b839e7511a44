import CGio
import Glibc

/// Which bus of D-Bus.
enum BusKind: Sendable {
    /// That of the machine, where logind is.
    case system
    /// That of the user's session, where the desktop is.
    case session

    /// Whether the environment says that there is one. Without that, GLib would start a session bus.
    fileprivate func isNamed(in environment: [String: String]) -> Bool {
        guard self == .session else { return true }
        let runtime = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(geteuid())"
        return environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false
            || access(runtime + "/bus", R_OK) == 0
    }
}

/// A connection to a bus, which belongs to the thread that made it: signals come in that thread's main context.
final class Bus {
    /// What a signal says.
    struct Signal {
        let path: String
        let parameters: OpaquePointer
    }

    private final class Handler {
        let body: (Signal) -> Void
        init(_ body: @escaping (Signal) -> Void) { self.body = body }
    }

    let connection: OpaquePointer

    /// nil where there is no such bus, or it does not take us.
    init?(_ kind: BusKind, environment: [String: String]) {
        guard kind.isNamed(in: environment),
            let address = g_dbus_address_get_for_bus_sync(
                kind == .system ? G_BUS_TYPE_SYSTEM : G_BUS_TYPE_SESSION, nil, nil)
        else { return nil }
        defer { g_free(address) }
        // A connection of its own: that of g_bus_get() ends the process when the bus ends.
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
        guard let made = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, nil) else {
            return nil
        }
        connection = made
    }

    deinit {
        g_dbus_connection_close_sync(connection, nil, nil)
        g_object_unref(UnsafeMutableRawPointer(connection))
    }

    /// Whether the bus has ended.
    var isClosed: Bool { g_dbus_connection_is_closed(connection) != 0 }

    /// Has `body` run for each signal of a name.
    /// - Parameters:
    ///   - sender: whose signals alone count; nil: anybody's.
    ///   - path: of the object; nil: any.
    ///   - argument: what the signal must say first; nil: anything.
    func follow(
        _ interface: String, _ name: String, from sender: String?, path: String? = nil,
        about argument: String? = nil, _ body: @escaping (Signal) -> Void
    ) {
        let handler = Unmanaged.passRetained(Handler(body))
        g_dbus_connection_signal_subscribe(
            connection, sender, interface, name, path, argument, G_DBUS_SIGNAL_FLAGS_NONE,
            { _, _, path, _, _, parameters, data in
                guard let path, let parameters, let data else { return }
                let handler = Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue()
                handler.body(Signal(path: String(cString: path), parameters: parameters))
            }, handler.toOpaque(), { data in if let data { Unmanaged<Handler>.fromOpaque(data).release() } })
    }
}
