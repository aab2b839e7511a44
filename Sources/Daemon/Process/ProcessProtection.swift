import CLinux
import Glibc
import OpenPGP
import System

/// What keeps the memory of a process from others, and from the disk.
public enum ProcessProtection {
    /// RLIMIT_CORE and RLIMIT_MEMLOCK; the numbers are those of all Linux ports, the names are not imported.
    private static let (core, lock) = (__rlimit_resource_t(4), __rlimit_resource_t(8))

    /// Forbids core dumps of this process and of all that it starts.
    public static func forbidCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(core, &none)
    }

    /// For a process that holds plaintext or passwords for long: no program of the same user may trace it or read its
    /// memory, no core dump is made however the system handles those (a dump that goes to a program has no size limit,
    /// prctl(2)), and as much memory may be locked as the system permits.
    ///
    /// `/proc/PID` belongs to root then. gdb and strace need root; what runs as the same user cannot see which files the
    /// process has open.
    public static func harden() {
        forbidCoreDumps()
        _ = passdir_prctl(PR_SET_DUMPABLE, 0)
        var limit = rlimit()
        if getrlimit(lock, &limit) == 0, limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(lock, &limit)
        }
        OpenPGPEngine.prepareLibraries()
    }

    /// What `status` tells when plaintext could not be locked, now or earlier; nil when all of it could.
    static var lockComplaint: String? {
        let (now, most) = (SecretBytes.unlockedByteCount, SecretBytes.mostUnlockedByteCount)
        guard most > 0 else { return nil }
        var limit = rlimit()
        getrlimit(lock, &limit)
        let advice = "raise the limit with ulimit -l, or LimitMEMLOCK= in a systemd unit"
        let bound = "limit \(size(Int(clamping: limit.rlim_cur)))"
        return now > 0
            ? "\(size(now)) of plaintext could not be locked in memory (\(bound)) and may be written to swap; \(advice)."
            : "\(size(most)) of plaintext could not be locked in memory for a time (\(bound)) and may have been written "
                + "to swap; \(advice)."
    }

    /// In MiB, or KiB where it is less than one; rounded up.
    private static func size(_ bytes: Int) -> String {
        func count(_ unit: Int) -> Int { bytes / unit + (bytes % unit > 0 ? 1 : 0) }
        return bytes < 1 << 20 ? "\(count(1 << 10)) KiB" : "\(count(1 << 20)) MiB"
    }
}
