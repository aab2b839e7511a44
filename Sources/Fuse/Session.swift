import CFuse
import Glibc
import Synchronization
import System
public import SystemPackage

/// A mounted file system: Swift over libfuse's low-level API.
///
/// `init` mounts, `run` serves until the mount is gone, `unmount` ends it from another thread. The `Filesystem` says
/// what is in it. This part knows FUSE and nothing of what the files are for: no stores, no secrets.
public final class Session: Sendable {
    private enum Life {
        case mounted(SessionPointer, [Receiver])
        case running
        case ended
    }

    /// Where the file system is mounted: absolute, without symbolic links.
    public let mountPoint: FilePath
    /// Tells the kernel of changes; the file system gets the same one in `mounted`.
    public let notifier: Notifier

    private let server: Server
    private let life: Mutex<Life>
    /// While it is served.
    private let receivers = Mutex<Receivers?>(nil)
    private let isEndedByUs = Atomic<Bool>(false)
    /// The device number, by which our mount is told from any other at the same place.
    private let device: String?

    /// Mounts at once; whoever uses the mount waits until `run`.
    ///
    /// - Parameters:
    ///   - filesystemName: what is shown as the source of the mount (`fsname`).
    ///   - subtype: the type is shown as `fuse.` and this.
    /// - Throws: `MountError`, with the reason as a sentence.
    public init(
        mountPoint: FilePath, filesystemName: String, subtype: String, filesystem: any Filesystem,
        options: SessionOptions = SessionOptions()
    ) throws(MountError) {
        _ = LibraryLog.isConnected
        let path = try MountPoint.check(mountPoint, refusesNonEmpty: options.refusesNonEmptyMountPoint)
        let server = Server(filesystem, options)
        var memories: [any ReceiveMemory] = []
        for _ in 0..<max(1, options.receiverCount) {
            do throws(Errno) {
                memories.append(try options.receiveMemory(options.receiveByteCount))
            } catch {
                throw MountError(.outOfResources, "No memory to receive requests into: \(error).")
            }
        }
        let bare = options.protectsMountPoint ? BareDirectory(path) : nil
        bare?.open()
        var isMounted = false
        defer { if isMounted { bare?.close() } else { bare?.leave() } }
        let channel = try Fusermount.mount(
            at: path,
            options: [
                "fsname=\(Fusermount.escape(filesystemName))", "subtype=\(Fusermount.escape(subtype))",
                "default_permissions", "nosuid", "nodev",
            ])
        let pointer: SessionPointer
        do throws(MountError) {
            pointer = try SessionPointer(device: channel, server: server)
        } catch {
            try? Fusermount.unmount(path, lazily: true)
            throw error
        }
        isMounted = true
        self.mountPoint = path
        self.server = server
        device = (try? MountPoint.mounted(at: path))?.device
        notifier = Notifier(pointer)
        life = Mutex(
            .mounted(pointer, memories.map { Receiver(session: pointer, server: server, memory: $0) }))
    }

    deinit {
        // Never run: nobody would answer, so it must not stay.
        if case .mounted = life.withLock({ $0 }) { detach() }
    }

    /// Serves until the file system is unmounted, by `unmount` or from outside, or its connection is aborted; once.
    /// Blocks the calling thread, which is one of those that receive.
    /// - Returns: when the mount was gone: `SessionOptions.endPatience` counts from there.
    @discardableResult
    public func run() -> ContinuousClock.Instant {
        guard let receivers = start() else { preconditionFailure("a session runs once") }
        defer { life.withLock { $0 = .ended } }
        // Requests that are not answered yet point at libfuse's session, which goes with the last of the receivers.
        return withExtendedLifetime(receivers) {
            serve(receivers)
            notifier.end()
            let end = ContinuousClock.now
            // After an abort the mount is still there, stale. After an unmount another process may have mounted here, and
            // even with our device number, which is free again; but that mount isn't stale.
            if !server.hasEnded || MountPoint.isStale(mountPoint) { detach() }
            // What goes on answers into it.
            if !server.finish(), let pointer = receivers.first?.session {
                _ = Unmanaged.passRetained(pointer)
            }
            return end
        }
    }

    private func start() -> [Receiver]? {
        life.withLock { life in
            guard case .mounted(_, let receivers) = life else { return nil }
            life = .running
            return receivers
        }
    }

    private func serve(_ receivers: [Receiver]) {
        // The kernel asks nothing else until it has been answered how we want to talk.
        receivers[0].run(while: { !server.isInitialized })
        guard server.isInitialized else { return }
        server.filesystem.mounted(notifier)
        let session = receivers[0].session
        let serving = Receivers(receivers) { [server] in
            let options = server.options
            guard let memory = try? options.receiveMemory(options.receiveByteCount) else { return nil }
            return Receiver(session: session, server: server, memory: memory)
        }
        self.receivers.withLock { $0 = serving }
        serving.run()
        self.receivers.withLock { $0 = nil }
    }

    /// Unmounts; from any thread but those that serve. `run` returns thereafter, in the lazy case when the last
    /// file in the mount is closed.
    ///
    /// Who still sees the mount in another mount namespace, such as that of a container, which no unmounting here reaches, gets
    /// no more answers, and ENOTCONN with the end of this process; not in the lazy case.
    ///
    /// - Parameter lazily: take it out of sight at once though programs have files open in it; these stay usable.
    /// - Throws: `busy` when programs use the mount, `notMounted` when it is gone already.
    public func unmount(lazily: Bool = false) throws(MountError) {
        guard try isOurs() else {
            throw MountError(.notMounted, "\(mountPoint) is no longer mounted by this process.")
        }
        // Before: `run` may return at once.
        let before = isEndedByUs.exchange(true, ordering: .acquiringAndReleasing)
        do throws(MountError) {
            try Fusermount.unmount(mountPoint, lazily: lazily)
        } catch {
            isEndedByUs.store(before, ordering: .releasing)
            throw error
        }
        if !lazily, !notifier.isConnectionOver { receivers.withLock { $0 }?.stop() }
    }

    /// Whether the mount was ended otherwise than by `unmount`; known when `run` has returned.
    public var wasEndedOutside: Bool { !isEndedByUs.load(ordering: .acquiring) }

    /// Whether the mount is in sight: false once it was unmounted, though programs may go on with what they have open in it.
    public var isMounted: Bool { (try? isOurs()) ?? true }

    /// Whether what is mounted at the mount point, topmost, is this session.
    private func isOurs() throws(MountError) -> Bool {
        guard let found = try MountPoint.mounted(at: mountPoint) else { return false }
        return device == nil || found.device == device
    }

    private func detach() {
        guard let isOurs = try? isOurs(), isOurs else { return }
        do throws(MountError) {
            try Fusermount.unmount(mountPoint, lazily: true)
        } catch {
            LibraryLog.write(.warning, error.message)
        }
    }
}
