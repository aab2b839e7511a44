import ArgumentParser
import Daemon
import Glibc
import System
import SystemPackage

/// `passdir mount`: becomes the daemon with `--foreground`, else starts one and waits until it answers.
struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount your stores.",
        discussion: """
            Returns once the mount is ready. The daemon keeps running in the background and logs to \
            ~/.local/state/passdir/log; 'passdir unmount' ends it. One mount shows all stores. If they are already mounted, \
            this command says where and does nothing.

            Example: passdir mount && ls ~/passdir
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The folder to mount on; created if missing. (default: the setting mount.path, else ~/passdir)"
        ), completion: .directory)
    var mountpoint: String?

    @Flag(help: "Stay in the foreground and log to standard error; Ctrl-C ends it.")
    var foreground = false

    /// Set by ourselves when we start the daemon: where it tells how its start went.
    @Option(name: .customLong("ready-fd"), help: .hidden)
    var readyDescriptor: Int32?

    func validate() throws {
        guard mountpoint != "" else { throw ValidationError("the mount point is empty") }
        guard foreground || readyDescriptor == nil else {
            throw ValidationError("'--ready-fd' is internal to passdir and requires '--foreground'")
        }
    }

    func run() throws {
        if foreground { ThreadCaches.keepSmall() }
        var environment = CallerEnvironment.variables()
        // Where the daemon's gpg asks for passphrases: it has no terminal of its own.
        if environment["GPG_TTY"]?.isEmpty ?? true { environment["GPG_TTY"] = Terminal.path }
        let place = try Daemon.mountPoint(
            argument: mountpoint.map { FilePath($0).absolute }, environment: environment)
        if foreground {
            try serve(at: place, environment)
        } else {
            try start(at: place, environment)
        }
    }

    private func serve(at place: FilePath, _ environment: [String: String]) throws {
        ProcessProtection.harden()
        let readiness: Readiness?
        do throws(Errno) {
            readiness = try readyDescriptor.map { number throws(Errno) in try Readiness(descriptor: number) }
        } catch {
            throw CommandFailure("descriptor \(readyDescriptor ?? -1) is not open: \(error)")
        }
        var isReported = false
        do {
            try Daemon.run(mountPoint: place, environment: environment) { result in
                isReported = true
                switch result {
                case .success: readiness?.succeeded()
                case .failure(let error): readiness?.failed(error.message)
                }
            }
        } catch {
            if !isReported { readiness?.failed(error.message) }
            throw error
        }
    }

    private func start(at place: FilePath, _ environment: [String: String]) throws {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        if let mount = try? client.status(limit: .seconds(5)).mount {
            // Somewhere else is not where it was asked for, and a mount that has ended is none: the daemon to be says that.
            if mount.isUnmounted != true,
                mountpoint == nil || FilePath(mount.path) == ((try? place.resolvingLinks()) ?? place)
            {
                return Output.notice("already mounted at \(mount.path), since \(mount.since.local)")
            }
        }
        let log = Places.logFile(environment: environment)
        try rethrowing(log.removingLastComponent().makeFolders()) { (error: Errno) in
            CommandFailure("cannot create \(log.removingLastComponent()): \(error)")
        }
        try Detached.start(
            arguments: ["mount", "--foreground", place.string], environment: environment, logFile: log)
        let lost = Daemon.lostSecrets(environment: environment)
        if let first = lost.first {
            let more = lost.count > 1 ? " and \(lost.count - 1) more" : ""
            StandardError.warn(
                "\(first)\(more) could not be saved before passdir last exited, and the text is lost; passdir "
                    + "status says why"
            )
        }
        Output.success("mounted at \(place)")
    }
}
