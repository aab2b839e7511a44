import Stores
import System
public import SystemPackage

/// The file of the mount that shows a secret.
public enum MountedFile {
    /// Makes the folders above it that are missing; who saves nothing there is to take them away again.
    /// - Throws: one sentence where nothing is mounted, or the mount does not show the store.
    public static func path(
        of place: SecretPlace, environment: [String: String]
    ) throws(DaemonError) -> FilePath {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let report: StatusReport
        do throws(ControlError) {
            report = try client.status()
        } catch {
            guard error.code == .noDaemon else { throw DaemonError(wrapping: error) }
            let other = OtherDaemon.find(environment: environment)?.sentence
            throw DaemonError(
                message: "a secret is edited in the mount, and "
                    + (other ?? "nothing is mounted: passdir mount mounts your stores"))
        }
        guard report.mount.isUnmounted != true, report.stores.contains(where: { $0.name == place.store.name })
        else {
            throw DaemonError(
                message: "the mount does not show the store \"\(place.store.name)\": passdir store unhide "
                    + "\(ShellWord.quoted(place.store.name)) shows it")
        }
        let file = FilePath(report.mount.path).appending(place.store.name).pushing(place.path)
        do throws(Errno) {
            try file.removingLastComponent().makeFolders()
        } catch {
            throw DaemonError(message: "cannot create \(file.removingLastComponent()): \(error)")
        }
        return file
    }
}
