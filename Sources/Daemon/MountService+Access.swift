import Access
import Mount
import Stores

extension MountService {
    func access() -> AccessReport {
        gate.writeLog()
        var report = AccessReport(gate.options)
        // Also of those that are hidden, and would be so when they are shown again.
        report.locked = Set(stores.known.filter { locks.isLocked($0.definition.identifier) }.map(\.name))
            .sorted()
        report.problem = stores.configurationProblem
        return report
    }

    func mayRead(_ secret: String, process: Int32) -> Bool {
        gate.judgeAndWait(process, reading: gate.judgedPlace(of: secret, reader: process))
    }
}
