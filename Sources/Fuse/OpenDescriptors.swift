import Glibc
import System
import SystemPackage

extension Caller {
    /// Whether the asking process, one that it descends from, or the one that opened the file may have another
    /// descriptor of an inode of this mount: what a FLUSH does not tell.
    ///
    /// During close(2) and dup2(2) the closed descriptor is out of the process's table already, and
    /// `/proc/PID/fdinfo` names the inode of each that is left, without a call to this file system. Programs close
    /// the standard output that they got from a shell, which goes on writing: so ancestors count, too. So does the
    /// opener, as a program that forks twice (GPGME does for gpg) leaves a child without that ancestor, which closes
    /// what it inherited. A process that is ending, or whose table cannot be read, may hold it.
    public func mayStillHold(_ inode: InodeNumber, openedBy opener: Caller?) -> Bool {
        // 0: a process that this namespace does not see.
        guard processID > 0, Self.process(processID, holds: inode) == false else { return true }
        if let opener, opener.processID > 0, Self.process(opener.processID, holds: inode) == true {
            return true
        }
        var ancestor = Self.parent(of: processID)
        // A chain of processes ends at the first one; the bound is for one that changes while it is read.
        for _ in 0..<64 where ancestor > 1 {
            if Self.process(ancestor, holds: inode) == true { return true }
            ancestor = Self.parent(of: ancestor)
        }
        return false
    }

    /// nil where nothing can be said.
    private static func process(_ pid: Int32, holds inode: InodeNumber) -> Bool? {
        var isAnyRead = false
        var isUnknown = false
        // The first one ends the search: of thousands of copies of a descriptor only a few are listed.
        let found = try? DirectoryStream.firstName(in: FilePath("/proc/\(pid)/fdinfo")) { name in
            isAnyRead = true
            guard let text = text(of: "fdinfo/\(name)", ofProcess: pid) else { return false }
            // Linux 5.14 and newer, proc(5).
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ino:") }) else {
                isUnknown = true
                return true
            }
            return UInt64(line.dropFirst(4).drop { $0 == "\t" || $0 == " " }) == inode.rawValue
        }
        return isUnknown || !isAnyRead ? nil : found != nil
    }

    /// 0 where it cannot be told.
    ///
    /// From `status`, never from `stat`: reading that waits for an execve(2) of the process, and one that closes a file on
    /// exec waits for this answer.
    private static func parent(of pid: Int32) -> Int32 {
        // The name, in the first line, may hold anything but a line feed.
        guard let text = text(of: "status", ofProcess: pid),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("PPid:") })
        else { return 0 }
        return Int32(line.dropFirst(5).drop { $0 == "\t" || $0 == " " }) ?? 0
    }

    /// What one read gives of a file in the folder of a process; nil where there is none.
    static func text(of name: String, ofProcess process: Int32, limit: Int = 1024) -> String? {
        guard let bytes = ProcessFolder(process)?.beginning(of: name, limit: limit), !bytes.isEmpty else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
