import Access
import Contents
import Fuse
import Glibc
import Mount
import Stores
import System
import SystemPackage

extension MountService {
    func access() -> AccessReport {
        gate.writeLog()
        var report = AccessReport(gate.options)
        // Also of those that are hidden, and would be so when they are shown again; not of one that is no more.
        let names = Set(stores.all.map(\.name) + stores.hiddenNames)
        report.locked = Set(stores.known.filter { locks.isLocked($0.definition.identifier) }.map(\.name))
            .intersection(names).sorted()
        report.problem = stores.configurationProblem
        return report
    }

    func holdFiles(_ files: [HeldFileRequest], for process: Int32) throws(ControlError) -> String {
        do {
            let held = try files.map { file in
                guard let name = RegisteredTemplate.fileName(file.name) else {
                    throw ControlError(.failed, "\(file.name) cannot be the name of a file")
                }
                return try HeldFile(name: name, reference: file.reference)
            }
            let folder = try filesystem.hold(held, for: RunningProcess(process))
            return session.mountPoint.pushing(folder).string
        } catch let error as ControlError {
            throw error
        } catch let error as ContentsError {
            throw ControlError(.failed, error.message)
        } catch {
            throw ControlError(.failed, "the daemon cannot see the process that asks: \(error)")
        }
    }

    /// No name of a secret is longer, and what is in no store is not noted: who asks could fill the log.
    private func isOfStore(_ secret: String) -> Bool {
        secret.utf8.count <= Int(PATH_MAX)
            && stores.known.contains(where: { secret.hasPrefix($0.name + "/") })
    }

    func judge(
        _ secret: String, isChanged: Bool, judgedBy former: String?, end: ReadEnd?, for peer: ControlPeer
    ) -> ReadVerdict {
        guard isOfStore(secret) else { return ReadVerdict(isAllowed: false) }
        var verdict = gate.verdict(
            on: secret, isChanged: isChanged, by: peer.process, judgedBy: former, end: end, peer.waits)
        verdict.isLocked = stores.known.contains {
            secret.hasPrefix($0.name + "/") && locks.isLocked($0.definition.identifier)
        }
        return verdict
    }
}
