import Glibc
import SystemPackage

/// The pages of the program's and its libraries' code.
///
/// Starting touches far more of them than serving does: the Swift runtime alone looks through every conformance of the binary. They
/// are the file's own and never written, so that a process may give them back and has those that it runs again from the page cache.
public enum CodePages {
    /// Gives all of them back: what is run next is mapped again, by a few hundred faults that need no disk.
    public static func letGo() {
        guard let folder = ProcessFolder(getpid()), let maps = folder.bytes(of: "maps", atMost: 4 << 20)
        else {
            return
        }
        for line in maps.split(separator: UInt8(ascii: "\n")) {
            // START-END ACCESS OFFSET DEVICE INODE PATH; proc_pid_maps(5). What may be written to is not the file's any more.
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard words.count == 6, words[1].elementsEqual("r-xp".utf8), words[5].contains(UInt8(ascii: "/"))
            else { continue }
            let bounds = words[0].split(separator: UInt8(ascii: "-")).map {
                UInt(String(decoding: $0, as: UTF8.self), radix: 16)
            }
            guard bounds.count == 2, let start = bounds[0], let end = bounds[1], start < end else { continue }
            madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
    }
}
