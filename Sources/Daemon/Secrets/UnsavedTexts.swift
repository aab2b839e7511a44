import Glibc
import Stores
import System
import SystemPackage

/// What the mount holds of secrets and has not saved yet: it could not, or a program is still writing.
struct UnsavedTexts {
    private let mountPoint: FilePath
    /// As the mount shows them, by store.
    private let paths: [String: Set<String>]

    /// Asks the daemon; there is nothing where none answers.
    init(environment: [String: String]) {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let report = try? client.status(limit: .seconds(2))
        mountPoint = FilePath(report?.mount.path ?? "")
        let stores = report?.mount.isUnmounted == true ? [] : report?.stores ?? []
        paths = Dictionary(
            stores.map { ($0.name, Set($0.unsaved.map(\.path) + $0.beingWritten)) },
            uniquingKeysWith: { $0.union($1) })
    }

    /// The mount's file of a secret that is newer there than on disk; nil where it is not.
    func file(of path: FilePath, inStore name: String) -> FilePath? {
        guard paths[name]?.contains(path.string) == true else { return nil }
        return mountPoint.appending(name).pushing(path)
    }

    /// The text that only the mount has; nil where what lies on disk is the newest.
    func text(of place: SecretPlace) throws(DaemonError) -> SecretReader.Content? {
        guard let file = file(of: place.path, inStore: place.store.name), let status = try place.status()
        else {
            return nil
        }
        do throws(Errno) {
            let opened = try OwnedDescriptor(opening: file, O_RDONLY)
            let text = try SecretBytes.all(of: opened.raw, atMost: place.store.options.secretLimit)
            return SecretReader.Content(bytes: text, status: status)
        } catch {
            throw DaemonError(
                message:
                    "the mount holds text of \(place.name) that is not saved yet, and \(file) cannot be read: \(error)"
            )
        }
    }
}
