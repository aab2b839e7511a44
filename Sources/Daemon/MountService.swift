import Access
import Dispatch
import Fuse
import Git
import Glibc
import Logging
import Mount
import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// A mount that is being served: the stores, their committers, the file system and the control socket together.
final class MountService: Sendable {
    let session: Session
    let filesystem: StoreFilesystem
    let stores: LiveStores
    let locking: StoreLocking
    private let lockTriggers: LockTriggers
    private let environment: [String: String]
    let gate: AccessGate
    /// Which stores are locked.
    let locks: StoreLocks
    private let configurationFile: FilePath
    private let expiryNotices: ExpiryNotices
    private let deadlineNotices: DeadlineNotices
    private let learned: LearnedState?
    private let control: Mutex<ControlServer?>
    private let notification: ServiceNotification
    let since = Timestamp.now()
    /// The number of the mount's device.
    let device: String?
    private let saveRetry: Duration
    let unmountTimeout: Duration
    let log: Logger
    /// Signalled when everything is committed and pushed.
    let finished = DispatchGroup()
    let isStopping = Mutex(false)
    /// Whether the user has said that what is unsaved may be lost.
    let isLossAgreed = Atomic(false)
    /// What was not committed or pushed in the end.
    let leftOver = Mutex<[String]>([])
    /// Why changes of the configuration file are not followed; nil when they are.
    let watchComplaint = Mutex<String?>(nil)

    /// Opens the stores and mounts; the mount answers when it returns.
    init(mountPoint: FilePath, environment: [String: String]) throws(DaemonError) {
        let setup = try DaemonError.wrapping { try MountSetup(environment) }
        DaemonLog.start(level: setup.level.rawValue)
        log = Logger(label: "passdir")
        saveRetry = setup.saveRetry
        self.environment = environment
        unmountTimeout = setup.unmountTimeout
        configurationFile = setup.configuration.file
        gate = setup.gate
        notification = ServiceNotification(environment: environment)
        guard !setup.definitions.isEmpty else {
            throw DaemonError(
                message: Daemon.lack(of: "no store to mount", environment: environment)
                    + ": \(Daemon.waysToAStore)")
        }
        try Self.refuseSecondDaemon(environment)
        learned = Self.openLearnedState(environment, log)
        var options = setup.options
        options.mountPoint = mountPoint
        let statusNote = StatusNote()
        options.notes.append(statusNote.file)
        filesystem = StoreFilesystem(options: options)
        expiryNotices = ExpiryNotices(
            registry: setup.registry, credentials: setup.credentials, learned: learned)
        deadlineNotices = DeadlineNotices(configuration: setup.configuration, learned: learned)
        Self.sweep(setup.registry, environment, setup.credentials, log)
        // A folder that can be no store is in nobody's way: its store is shown as failed.
        let places = setup.definitions.filter(\.isInMount).map(\.path)
            .filter { place in
                // One whose disk does not answer may become one.
                RepeatedLook<Bool>.once(named: "place") {
                    StorePlace.objection(toLinked: place, environment: environment) == nil
                } ?? true
            }
        try MountPlace.prepare(mountPoint, stores: places)
        stores = LiveStores(
            opening: StoreOpening(
                try StoreOpener(setup.configuration, environment: environment, log: log), learned: learned,
                credentials: setup.credentials, log: log),
            filesystem: filesystem, mountPoint: (try? mountPoint.resolvingLinks()) ?? mountPoint,
            learned: learned, log: log, gate: setup.gate)
        locks = options.locks
        locking = StoreLocking(filesystem, stores, locks, gate, setup.configuration, log: log)
        lockTriggers = LockTriggers(locking, filesystem, locks, gate, setup.configuration, log: log)
        try stores.follow()
        if !stores.all.isEmpty, stores.all.allSatisfy({ $0.store == nil && !$0.isAwaited }),
            let failure = stores.all.first?.failure
        {
            throw DaemonError(message: failure)
        }
        var serving = SessionOptions()
        // The stores need the rest: what goes on at a silent disk then takes no time of theirs.
        serving.endPatience = setup.unmountTimeout / 2
        serving.refusesNonEmptyMountPoint = true
        // Without a note of it, it could not be given back.
        serving.protectsMountPoint = (try? MountPointRecord(environment).note(mountPoint)) != nil
        session = try DaemonError.wrapping { [filesystem, serving] in
            try Session(
                mountPoint: mountPoint, filesystemName: "passdir", subtype: "passdir", filesystem: filesystem,
                options: serving)
        }
        device = Daemon.device(ofMountAt: session.mountPoint)
        control = Mutex(nil)
        finished.enter()
        statusNote.tell(of: self, environment: environment)
        try startControl(environment)
    }

    /// What an older passdir, or one that was killed, left is brought in order, before anything is opened.
    private static func sweep(
        _ registry: Registry, _ environment: [String: String], _ credentials: any CredentialStore,
        _ log: Logger
    ) {
        do {
            let administration = StoreAdministration(
                registry: registry, environment: environment, credentials: credentials, daemon: nil)
            let moved = try administration.recover()
            for away in moved {
                log.warning(
                    "the folder of the store \"\(away.store)\" was moved to \(away.place?.string ?? "nowhere")"
                )
            }
            try administration.giveIdentities()
        } catch {
            log.warning("cannot clean up after an earlier passdir: \(error)")
        }
    }

    private static func refuseSecondDaemon(_ environment: [String: String]) throws(DaemonError) {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        guard let report = try? client.status(limit: .seconds(5)) else {
            guard let other = OtherDaemon.find(environment: environment) else { return }
            throw DaemonError(message: other.sentence)
        }
        guard report.mount.isFinishing != true else {
            throw DaemonError(
                message:
                    "the mount at \(report.mount.path) is gone, but its process \(report.mount.pid) is still "
                    + "committing and pushing what waits: mount again once it has exited")
        }
        guard report.mount.isUnmounted != true else {
            throw DaemonError(
                message:
                    "the mount at \(report.mount.path) is gone, but its process \(report.mount.pid) is still "
                    + "running: programs still work in it or have files in it open, which passdir unmount names; what "
                    + "an editor can no longer save, passdir insert --multiline --force takes; close them, or make "
                    + "them leave it, then mount again"
            )
        }
        throw DaemonError(
            message: "passdir is already mounted at \(report.mount.path) (process \(report.mount.pid)): "
                + "one mount shows all stores; passdir unmount ends it")
    }

    private static func openLearnedState(_ environment: [String: String], _ log: Logger) -> LearnedState? {
        let folder = Directories(environment: environment).state
        do {
            try folder.makeFolders()
            return try LearnedState(file: folder.appending("state.sqlite"))
        } catch {
            log.warning("cannot store what passdir learns in \(folder): \(error)")
            return nil
        }
    }

    private func startControl(_ environment: [String: String]) throws(DaemonError) {
        do {
            let server = try ControlServer(
                socket: Daemon.controlSocket(environment: environment), service: self)
            try server.start()
            control.withLock { $0 = server }
            // For the commands that come when this process was killed; without it they know the usual place only.
            let note = try? OwnedDescriptor(
                opening: Places.controlLock(environment: environment), O_WRONLY | O_TRUNC | O_NOFOLLOW)
            try? note?.writeAll(Array(session.mountPoint.string.utf8))
        } catch {
            try? session.unmount(lazily: true)
            session.run()
            throw DaemonError(message: error.message)
        }
    }

    /// Serves until unmounted; returns when what waited is committed and, where that is possible in time, pushed.
    func serve() {
        watchConfiguration()
        do {
            // While there are threads to be had.
            try PosixThread.prepareDeferredStarts()
            try stores.recoverInBackground(after: .seconds(1))
            try TerminationSignals.start { [weak self] _ in self?.end() }
            try PosixThread.start(named: "expiry") { [weak self] in self?.tellOfExpiriesDaily() }
            try PosixThread.start(named: "save-retry") { [weak self] in
                self?.regularly { $0.stores.retryFailedSaves() }
            }
            try lockTriggers.watchSession(environment: environment)
            try PosixThread.start(named: "idle") { [weak self] in self?.lockWhereIdle() }
            // On a thread of its own: the disk of a store may be slow to say that it is not there.
            try PosixThread.start(named: "open-again") { [weak self] in
                self?.regularly {
                    $0.stores.openAgain()
                    $0.stores.closeDeparted()
                }
            }
        } catch {
            log.error("cannot handle signals: \(error)")
        }
        notification.ready()
        let end = session.run()
        if session.wasEndedOutside {
            log.warning(
                "the mount at \(session.mountPoint) was ended from outside: passdir mount mounts it again")
        }
        notification.stopping()
        isStopping.withLock { $0 = true }
        finish(since: end)
        finished.leave()
        control.withLock { $0 }?.stop()
        gate.close()
        learned?.close()
    }

    private func watchConfiguration() {
        do throws(Errno) {
            try ConfigurationWatch.start(configurationFile) { [weak self] isStill in
                try? self?.stores.follow(while: isStill)
            }
            watchComplaint.withLock { $0 = nil }
        } catch {
            let complaint = watchComplaint.withLock { complaint in
                let isNew = complaint == nil
                complaint =
                    "changes to \(configurationFile) made outside passdir go unnoticed (\(error)): after such a "
                    + "change run passdir unmount and passdir mount, or any command of passdir store that "
                    + "changes something."
                return isNew ? complaint : nil
            }
            if let complaint { log.warning("\(complaint)") }
        }
    }

    /// What could not be watched may be possible again when other programs have let go: tried whenever somebody asks.
    func watchAgain() {
        guard watchComplaint.withLock({ $0 }) != nil else { return }
        watchConfiguration()
        guard watchComplaint.withLock({ $0 }) == nil else { return }
        // What has changed meanwhile.
        try? PosixThread.start(named: "configuration") { [weak self] in try? self?.stores.follow() }
    }

    /// A signal asks to end: programs that have a file open keep it until they close it.
    private func end() {
        do {
            try session.unmount()
        } catch {
            try? session.unmount(lazily: true)
        }
    }

    private func tellOfExpiriesDaily() {
        repeat {
            expiryNotices.tell()
            deadlineNotices.tell(stores.all)
        } while finished.wait(timeout: .now() + .seconds(86_400)) == .timedOut
    }

    /// Does something at the interval of `save.retry`, until the mount ends.
    private func regularly(_ work: (MountService) -> Void) {
        while finished.wait(timeout: .now() + saveRetry.dispatchInterval) == .timedOut,
            !isStopping.withLock({ $0 })
        { work(self) }
    }

    /// Locks the stores when nobody reads, until the mount ends.
    private func lockWhereIdle() {
        var pause = Duration.zero
        while finished.wait(timeout: .now() + pause.dispatchInterval) == .timedOut {
            pause = lockTriggers.lockWhereIdle()
        }
    }
}

extension Duration {
    /// For Dispatch, which counts in nanoseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        return .nanoseconds(Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}
