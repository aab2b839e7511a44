import Dispatch
import Fuse
import Glibc
import Mount
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// What the commands ask of a running mount over the control socket.
extension MountService: ControlService {
    func retrySaves() {
        stores.retryFailedSaves()
        // A command that has committed asks for this.
        for store in stores.all { store.committer?.lookAtBranch() }
    }

    func status() -> StatusReport {
        let unsaved = filesystem.unsaved
        watchAgain()
        let filesystem = filesystem
        let reports = (stores.all + unsavedRest).map { store in
            let name = store.name
            let report = store.beginReport(
                unsaved: unsaved.filter { $0.store == name },
                beingWritten: filesystem.beingWritten(ofStore: name)
            ) { filesystem.failedOpens(ofStore: name) }
            return (store: store, report: report)
        }
        return StatusReport(
            mount: MountReport(
                path: session.mountPoint.string, pid: getpid(), version: Version.number, since: since,
                device: device,
                isUnmounted: !session.isMounted, isFinishing: isStopping.withLock { $0 },
                hidden: stores.hiddenNames,
                warnings: [
                    ProcessProtection.lockComplaint, watchComplaint.withLock { $0 },
                    stores.configurationProblem.map { "the configuration is not applied: \($0)" },
                ].compactMap(\.self),
                rendered: filesystem.renderingFailures.map {
                    RenderingReport(name: $0.name.string, error: $0.sentence)
                }, filesFor: filesystem.ownersOfHeldFiles,
                waiting: filesystem.waitingOpens.map {
                    WaitingReport(pid: $0.thread, path: $0.path.string)
                }),
            stores: reports.map { store, makeReport in
                var report = makeReport()
                report.openForWriting = filesystem.openForWriting(ofStore: store.name)
                report.locked = locking.report(of: store)
                if let note = notShown(store) { report.notes.append(note) }
                return report
            })
    }

    func reload(pushing: String?, reopening: String?) throws(ControlError) {
        if let pushing { stores.saveAndPush(pushing, limit: .seconds(30)) }
        try rethrowing(stores.follow(reopening: reopening)) { (error: DaemonError) in
            ControlError(.failed, error.message)
        }
    }

    func unmount(discardUnsaved: Bool) throws(ControlError) -> [String] {
        // What a silent disk does not take is not saved.
        stores.retryFailedSaves()
        let unsaved = filesystem.unsaved.map { "\($0.store)/\($0.path)" }
        guard unsaved.isEmpty || discardUnsaved else { throw .unsaved(unsaved) }
        // They hold nothing open, and would find their files gone.
        guard filesystem.ownersOfHeldFiles.isEmpty else {
            throw ControlError(
                .busy, "\(session.mountPoint) is in use by commands of passdir run --files, which still run")
        }
        isLossAgreed.store(discardUnsaved, ordering: .releasing)
        ending: do {
            try session.unmount()
        } catch {
            // Somebody else has ended it: this command waits for the same as that one.
            if isStopping.withLock({ $0 }) { break ending }
            isLossAgreed.store(false, ordering: .releasing)
            guard error.code == .notMounted else {
                throw ControlError(error.code == .busy ? .busy : .failed, error.message)
            }
            throw ControlError(
                .busy,
                "\(session.mountPoint) is already unmounted; process \(getpid()) keeps running only for "
                    + "programs that still work in it or have files in it open, and exits with the last of them"
            )
        }
        finished.wait()
        return leftOver.withLock { $0 }
    }
}
