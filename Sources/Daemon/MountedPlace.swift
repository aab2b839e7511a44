import Mount
import Stores
import SystemPackage

/// Where files of the mount are, or will be once it is mounted.
struct MountedPlace {
    /// The mount point, absolute.
    let mountPoint: FilePath
    /// What the daemon says; nil where none runs.
    let report: StatusReport?

    init(_ environment: [String: String]) {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        report = try? client.status(limit: .seconds(5))
        let configured = try? Daemon.mountPoint(argument: nil, environment: environment)
        mountPoint = report.map { FilePath($0.mount.path) } ?? configured ?? FilePath()
    }

    /// The file with the values of a template.
    func rendered(_ name: FilePath.Component) -> FilePath {
        mountPoint.pushing(StoreFilesystem.renderedFolder).appending(name)
    }
}
