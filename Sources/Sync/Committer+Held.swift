import Stores
import SystemPackage

extension Committer {
    /// What is for whom a change of recipients adds, or was put in place by it, waits until the change is resumed or
    /// taken back: what is pushed stays readable for them.
    /// - Returns: what of the batch does not wait.
    func withoutHeld(_ batch: PendingChanges) -> PendingChanges {
        guard let change = UnfinishedChange(of: store) else { return batch }
        let isEnding = state.withLock { $0.isFinishing }
        var held = Set(batch.paths.filter { change.holds($0, isEnding: isEnding) })
        // Both ends of a rename are one.
        for rename in batch.renames where held.contains(rename.from) || held.contains(rename.to) {
            held.formUnion([rename.from, rename.to])
        }
        guard !held.isEmpty else { return batch }
        let (free, waiting) = batch.split { !held.contains($0) }
        let mustSchedule = state.withLock { values in
            // At the end it lies in the working tree, where the next start finds it.
            guard !values.isFinishing else { return false }
            values.inWork = free
            values.pending.putBack(waiting)
            return values.mustSchedule()
        }
        // Nothing tells of the end of a change that another process makes.
        if mustSchedule { state.schedule(after: max(options.delay, .seconds(1))) }
        return free
    }
}
