import Glibc
import TestKit

/// The most memory that a process ever had, as the kernel counts it.
enum PeakMemory {
    /// In KiB. Not what getrusage tells: that has the peak of the process in it from which the program was started.
    static func kibibytes(of pid: pid_t) throws -> Int {
        let text = SystemFile.text("/proc/\(pid)/status") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        let number = line.split { !$0.isNumber }.first.flatMap { Int($0) }
        guard let number else { throw TestFailure("no VmHWM of \(pid)") }
        return number
    }
}
