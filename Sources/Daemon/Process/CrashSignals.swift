import Glibc
import System

/// What a crash of the process does.
public enum CrashSignals {
    /// Gives the signals of a crash back to the kernel.
    ///
    /// Swift's runtime catches them to print registers with the memory that they point to, and that may be
    /// plaintext (rule 2 of the map). The kernel's dump leaves out the memory that holds secrets. What is ignored, the runtime
    /// does not catch, and it stays so.
    public static func useDefaults() {
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP]
        where !IgnoredSignals.contains(number) {
            signal(number, SIG_DFL)
        }
    }
}
