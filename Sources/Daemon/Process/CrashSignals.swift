import Glibc

/// What a crash of the process does.
public enum CrashSignals {
    /// Gives the signals of a crash back to the kernel.
    ///
    /// Swift's runtime catches them to print registers with the memory that they point to, and that may be
    /// plaintext (rule 2 of the map). The kernel's dump leaves out the memory that holds secrets.
    public static func useDefaults() {
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP] {
            signal(number, SIG_DFL)
        }
    }
}
