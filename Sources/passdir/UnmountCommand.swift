import ArgumentParser
import Daemon
import System
import SystemPackage

/// `passdir unmount`: asks the daemon to end its mount.
struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "Unmount your stores.",
        discussion: """
            The stores stay where they are, encrypted, and are no longer shown as files. It refuses if files in the mount are \
            open, a program waits there for a passphrase, or a command of 'passdir run --files' runs, and names these \
            programs, or if failed saves are still in memory; 'passdir status' lists those.

            It returns when pending changes are committed and pushed. What could not be in time is reported and left to the \
            next mount; the exit status is still 0.

            Example: passdir unmount
            """
    )

    @Argument(help: "The mount point, to check that it is the one you expect.", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Unmount even if saves failed; what is only in memory is lost.")
    var discardUnsaved = false

    func run() throws {
        let environment = CallerEnvironment.variables()
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        do {
            if let mountpoint {
                let mounted = try client.status().mount.path
                let named = FilePath(mountpoint).absolute
                guard [named, (try? named.resolvingLinks()) ?? named].contains(FilePath(mounted)) else {
                    throw ControlError(.failed, "\(mountpoint) is not the mount point; \(mounted) is")
                }
            }
            for sentence in try client.unmount(discardUnsaved: discardUnsaved) {
                StandardError.print("passdir: \(sentence)")
            }
        } catch let error as ControlError {
            if error.code == .busy {
                StandardError.print("passdir: \(error)")
                tellHolders(client)
                throw ExitCode.failure
            }
            guard error.code == .noDaemon else { throw error }
            return try unmountStale(environment)
        }
        Output.success("unmounted")
    }

    /// Which programs keep the mount busy, or its daemon from ending.
    private func tellHolders(_ client: ControlClient) {
        guard let mount = try? client.status().mount else { return }
        let place = FilePath(mount.path)
        guard let device = mount.device ?? Daemon.device(ofMountAt: place) else { return }
        let holders = PathHolder.all(onDevice: device, mountedAt: place)
        let commands = (mount.filesFor ?? []).map {
            PathHolder(pid: $0, uses: ["has files of passdir run --files"])
        }
        let readers = (mount.waiting ?? []).map {
            PathHolder(pid: $0.pid, uses: ["waits to open \($0.path)"])
        }
        tell(commands + readers + holders)
        if commands.isEmpty, readers.isEmpty, holders.isEmpty {
            StandardError.print("  none of the programs visible to you: probably another user's")
        }
    }

    private func tell(_ holders: [PathHolder]) {
        for holder in holders {
            let more = holder.uses.count > 3 ? " and \(holder.uses.count - 3) more" : ""
            StandardError.print(
                "  \(holder.pid) \(holder.name): \(holder.uses.prefix(3).joined(separator: ", "))\(more)")
        }
    }

    /// What a daemon that was killed has left.
    private func unmountStale(_ environment: [String: String]) throws {
        let place =
            try mountpoint == nil
            ? CommandFailure.stale(environment)?.place
                ?? Daemon.mountPoint(argument: nil, environment: environment)
            : Daemon.mountPoint(argument: mountpoint.map { FilePath($0).absolute }, environment: environment)
        let device = Daemon.device(ofMountAt: place)
        guard try Daemon.freeMountPoint(place) else {
            let other = OtherDaemon.find(environment: environment)
            throw CommandFailure(other?.sentence ?? "nothing is mounted")
        }
        StandardError.print(
            "passdir: the daemon for \(place) had already exited; the next mount commits what it had not"
        )
        let holders = device.map { PathHolder.all(onDevice: $0, mountedAt: place) } ?? []
        guard !holders.isEmpty else { return }
        StandardError.print(
            "passdir: these programs still hold what was mounted, and can neither read nor save there:")
        tell(holders)
    }
}
