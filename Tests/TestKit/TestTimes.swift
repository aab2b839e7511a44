import Glibc
import Testing

/// How long a test had a home, as a line `SECONDS SUITE/NAME` of the file that `$PASSDIR_TEST_TIMES` names: the framework counts
/// from the start of the run.
struct TestTimes {
    private let name: String
    private let start = ContinuousClock.now

    /// - Parameter function: who made the home, for one that is made outside a test.
    init(_ function: String) {
        let test = Test.current
        let suite = test?.id.nameComponents.first.map { "\($0)/" } ?? ""
        name = suite + (test?.name ?? function)
    }

    func end() {
        guard let file = getenv("PASSDIR_TEST_TIMES") else { return }
        let opened = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { return }
        let tenths = (ContinuousClock.now - start) / .milliseconds(100)
        let line = Array("\(Double(Int(tenths)) / 10) \(name)\n".utf8)
        _ = write(opened, line, line.count)
        close(opened)
    }
}
