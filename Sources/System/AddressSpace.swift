import CLinux
import Glibc
import SystemPackage

/// The memory of a process, held open in /proc: execve(2) gives the process another one, and none is left when it
/// ends. So one short system call tells that it still runs the program that it ran.
public struct AddressSpace: ~Copyable, Sendable {
    private let pagemap: OwnedDescriptor

    /// nil where a system tells nothing by this file.
    init?(pagemap: consuming OwnedDescriptor) {
        self.pagemap = pagemap
        guard isInUse() else { return nil }
    }

    /// Whether a process uses it: the one it was opened for, or another one that shares it.
    ///
    /// proc_pid_pagemap(5) has eight bytes for each page. A read of one byte fails with EINVAL, but gives nothing, as at the
    /// end of a file, where nobody uses the memory any more.
    public borrowing func isInUse() -> Bool {
        var byte: UInt8 = 0
        return pread(pagemap.raw, &byte, 1, 0) < 0 && errno == EINVAL
    }

    /// Whether two processes share their memory, as a child of vfork(2) does with its parent until it calls execve(2); nil
    /// where that may not be known. kcmp(2).
    public static func isShared(by process: Int32, and other: Int32) -> Bool? {
        let result = passdir_compare_memory(process, other)
        return result < 0 ? nil : result == 0
    }
}
