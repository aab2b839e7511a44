import Access
import Stores

extension MountService {
    func access() -> AccessReport {
        gate.writeLog()
        var report = AccessReport(gate.options)
        report.locked = stores.all.filter { locks.isLocked($0.definition.identifier) }.map(\.name)
        report.problem = stores.configurationProblem
        return report
    }

    func mayRead(_ secret: String, process: Int32) -> Bool { gate.judgeAndWait(process, reading: secret) }
}
