import CGcrypt
import Glibc

/// libgcrypt's secure memory: one pool for the process, which is locked, left out of core dumps, and wiped piece by piece.
///
/// libsecret uses libgcrypt too. Whoever comes first decides where its secure memory lies; the other finds it prepared.
public enum GcryptMemory {
    /// Whether libgcrypt can be used; the first look prepares it. Whoever takes secure memory looks here first: libgcrypt would
    /// make itself a pool of 32 KiB, once and for all, if it were asked for memory before it is prepared.
    public static let isReady: Bool = {
        if passdir_gcry_is_initialized() == 0 {
            guard gcry_check_version("1.8.0") != nil else { return false }
            guard passdir_gcry_init_secure_memory(UInt32(poolSize)) == 0 else { return false }
            guard leaveOutOfDumps() else { return false }
            guard passdir_gcry_finish_initialization() == 0 else { return false }
        } else if gcry_check_version("1.8.0") == nil {
            return false
        }
        return passdir_gcry_is_fips_mode() == 0
    }()

    /// One operation takes less than 16 KiB; far more fit than there are threads. libgcrypt would take more pools when it
    /// does not suffice, of which nobody could tell where they lie to keep them out of dumps.
    private static let poolSize = 1 << 20

    /// libgcrypt locks its secure memory but lets a core dump have it. Its pool is one mapping, and the first that is
    /// taken of it lies in its first page.
    private static func leaveOutOfDumps() -> Bool {
        guard let first = gcry_malloc_secure(16) else { return false }
        defer { gcry_free(first) }
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        return madvise(first - Int(bitPattern: first) % page, poolSize, Int32(MADV_DONTDUMP)) == 0
    }
}
