import Stores
import System
import SystemPackage

/// Whether a store can be saved to, for `status`.
extension ServedStore {
    /// Whether a list of recipients lies at its top, or anywhere in it.
    static func hasList(_ store: Store) -> Bool {
        let top = FilePath(root: nil, [Store.recipientFileName])
        if (try? store.root.status(of: top)) != nil { return true }
        return (try? store.recipientFiles(below: FilePath()).isEmpty) == false
    }

    /// Notes in a report whether all of the store can be saved to.
    /// - Parameter hasList: nil where nobody has looked.
    func noteSaving(_ report: inout StoreReport, hasList: Bool?) {
        report.isReadOnly = definition.isReadOnly
        let waits = report.recipientChanges.contains { $0.stopsSaving == true }
        let isStopped = waits || report.savingObjection != nil
        if report.isReadOnly || hasList == false || isStopped || report.state == .failed {
            report.canSave = false
        } else {
            report.canSave = hasList.map { _ in true }
        }
    }
}
