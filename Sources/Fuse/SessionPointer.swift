import CFuse
import SystemPackage

/// libfuse's session; destroyed, and its descriptor closed, with the last reference.
final class SessionPointer: Sendable {
    // libfuse guards the session with its own lock; the pointer is constant until deinit.
    nonisolated(unsafe) let raw: OpaquePointer
    /// The session's callbacks point at it, so it stays as long as they may be called.
    private let server: Server

    /// Makes a session that talks over `device`, which belongs to it from here on, also on failure.
    init(device: FileDescriptor, server: Server) throws(MountError) {
        self.server = server
        var table = operationTable()
        let made = "passdir".withCString { program -> OpaquePointer? in
            var arguments: [UnsafeMutablePointer<CChar>?] = [UnsafeMutablePointer(mutating: program), nil]
            return arguments.withUnsafeMutableBufferPointer { arguments in
                var list = fuse_args(argc: 1, argv: arguments.baseAddress, allocated: 0)
                return fuse_session_new(
                    &list, &table, MemoryLayout<fuse_lowlevel_ops>.size,
                    Unmanaged.passUnretained(server).toOpaque())
            }
        }
        guard let made else {
            try? device.close()
            throw MountError(.outOfResources, "libfuse could not make a session.")
        }
        raw = made
        var functions = deviceFunctions()
        guard fuse_session_custom_io(made, &functions, device.rawValue) == 0 else {
            try? device.close()
            // All is set, so deinit runs and destroys the session.
            throw MountError(.outOfResources, "libfuse could not take over the FUSE device.")
        }
    }

    deinit { fuse_session_destroy(raw) }
}
