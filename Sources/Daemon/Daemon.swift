import CLinux
import Fuse
import Glibc
import OpenPGP
import Settings
import Stores
import System
public import SystemPackage

/// One mounted process, and the set-up that it reads: what the command calls.
public enum Daemon {
    /// What whoever has no store can do, as the end of a sentence.
    public static let waysToAStore =
        "create one with pass init KEY, or with passdir store add NAME --path FOLDER --init --recipient KEY, or clone one "
        + "with passdir store add NAME --url URL"

    /// What is said where there is no store, as the beginning of a sentence.
    /// - Parameter what: what is missing: "no store to mount".
    public static func lack(of what: String, environment: [String: String]) -> String {
        guard let named = environment["PASSWORD_STORE_DIR"], !named.isEmpty else { return "there is \(what)" }
        return "there is \(what) at \(named), which PASSWORD_STORE_DIR names"
    }

    /// Serves the mount until it is unmounted, then commits and pushes what waits.
    ///
    /// `ready` is called once, when the mount answers or when it cannot be made.
    public static func run(
        mountPoint: FilePath, environment: [String: String], ready: (Result<Void, DaemonError>) -> Void
    ) throws(DaemonError) {
        passdir_share_heap()
        passdir_map_large_blocks()
        OpenPGPEngine.asksAgainAfterSilence()
        let service: MountService
        do {
            service = try MountService(mountPoint: mountPoint, environment: environment)
        } catch {
            ready(.failure(error))
            throw error
        }
        ready(.success(()))
        service.serve()
    }

    /// The mount point: the argument, else the setting `mount.path`, else `~/passdir`; absolute.
    public static func mountPoint(
        argument: FilePath?, environment: [String: String]
    ) throws(DaemonError) -> FilePath {
        if let argument { return argument.lexicallyNormalized() }
        return try DaemonError.wrapping {
            try configuration(environment).value(Catalogue.mountPath).lexicallyNormalized()
        }
    }

    /// Frees a mount point whose daemon has ended without unmounting: each look at it is ENOTCONN.
    /// - Returns: false where there is no such mount.
    public static func freeMountPoint(_ place: FilePath) throws(DaemonError) -> Bool {
        try MountPlace.free(place)
    }

    /// The number of the device that is mounted at a place, `major:minor`, whether it answers or not; nil where nothing is.
    public static func device(ofMountAt place: FilePath) -> String? {
        (try? MountPoint.mounted(at: place))?.device
    }

    /// Makes the folders that were mounted on ordinary ones again, with the modes that they had: while passdir has them nobody
    /// may write into them. Where something is mounted a folder stays as it is.
    public static func giveBackMountPoints(environment: [String: String]) {
        MountPointRecord(environment).giveBack()
    }

    /// Whether a mount point is that of a daemon that has ended without unmounting.
    public static func isStale(_ place: FilePath) -> Bool { MountPoint.isStale(place) }

    /// Where this user's daemon was mounted last, as it noted in the lock file of its socket; nil where none has.
    public static func lastMountPoint(environment: [String: String]) -> FilePath? {
        let note = Places.controlLock(environment: environment)
        guard let file = try? OwnedDescriptor(opening: note, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let bytes = try? file.readAll(atMost: Int(PATH_MAX)), bytes.first == UInt8(ascii: "/")
        else { return nil }
        return FilePath(String(decoding: bytes, as: UTF8.self))
    }

    /// The secrets, as STORE/PATH, whose text was lost with an earlier daemon and of which nobody has said that it is known.
    public static func lostSecrets(environment: [String: String]) -> [String] {
        let file = Directories(environment: environment).state.appending("state.sqlite")
        guard file.exists, let learned = try? LearnedState(file: file),
            let stores = try? StoreOpener(environment: environment).definitions()
        else { return [] }
        defer { learned.close() }
        return stores.flatMap { store in
            ServedStore.lost(ofStore: store.identifier, in: learned).map { "\(store.name)/\($0.path)" }
        }
    }

    /// The control socket of this user's daemon.
    public static func controlSocket(environment: [String: String]) -> FilePath {
        Places.controlSocket(environment: environment)
    }

    static func configuration(_ environment: [String: String]) throws(SettingsError) -> Configuration {
        try Configuration(file: Configuration.defaultPath(environment: environment))
    }
}
