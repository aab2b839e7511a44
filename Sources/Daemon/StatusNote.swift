import Mount
import Synchronization
import SystemPackage

/// `status.json` in the control directory: what `passdir status --json` prints.
final class StatusNote: Sendable {
    private let line = Mutex<(@Sendable () -> String?)?>(nil)

    /// Tells of a mount from here on; until then the file is empty.
    func tell(of service: MountService, environment: [String: String]) {
        line.withLock { line in
            line = { [weak service] in
                guard var report = service?.status() else { return nil }
                report.stores = report.stores.with(CredentialReport.known(environment: environment))
                return try? StatusJSON.line(report)
            }
        }
    }

    var file: ControlNote {
        ControlNote(named: "status.json", takesTime: true) {
            let line = self.line.withLock { $0 }
            return line?().map { $0 + "\n" } ?? ""
        }
    }
}
