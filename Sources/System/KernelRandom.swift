import Glibc
public import SystemPackage

/// Random bytes of the kernel, fit for keys and passwords: getrandom(2).
public enum KernelRandom {
    /// Fills all of `target`. Waits only while the machine has just started and the kernel has gathered no randomness yet.
    /// - Throws: what getentropy(3) gives: ENOSYS where the kernel or a sandbox has no getrandom(2).
    public static func fill(_ target: UnsafeMutableRawBufferPointer) throws(Errno) {
        // getentropy gives 256 bytes at most, and goes on by itself after a signal.
        for start in stride(from: 0, to: target.count, by: 256) {
            let part = UnsafeMutableRawBufferPointer(rebasing: target[start..<min(start + 256, target.count)])
            guard getentropy(part.baseAddress!, part.count) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}
