import ArgumentParser
import Daemon
import System
import SystemPackage

/// `passdir unmount`: asks the daemon to end its mount.
struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "End the mount.",
        discussion: """
            Commits what waits and pushes it, then returns; what could not be committed or pushed in time is said, and \
            the exit status is 0 all the same. Refused while files in the mount are open, or \
            while saves that failed are still in memory; 'passdir status' lists those.
            """
    )

    @Argument(help: "The mount point, to be sure that it is the one you mean.")
    var mountpoint: String?

    @Flag(help: "Unmount although saves failed; what is in memory only is lost.")
    var discardUnsaved = false

    func run() throws {
        let environment = CallerEnvironment.variables()
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        do throws(ControlError) {
            if let mountpoint {
                let mounted = try client.status().mount.path
                guard FilePath(mounted) == FilePath(mountpoint).absolute else {
                    throw ControlError(.failed, "\(mountpoint) is not our mount point, \(mounted) is")
                }
            }
            for sentence in try client.unmount(discardUnsaved: discardUnsaved) {
                StandardError.print("passdir: \(sentence)")
            }
        } catch {
            guard error.code == .noDaemon else { throw error }
            try unmountStale(environment)
        }
    }

    /// What a daemon that was killed has left.
    private func unmountStale(_ environment: [String: String]) throws {
        let place = try Daemon.mountPoint(
            argument: mountpoint.map { FilePath($0).absolute }, environment: environment)
        guard try Daemon.freeMountPoint(place) else { throw CommandFailure("nothing is mounted") }
        StandardError.print(
            "passdir: the daemon of \(place) had ended already; what it had not committed, the next mount commits"
        )
    }
}
