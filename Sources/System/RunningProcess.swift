import CLinux
public import SystemPackage

/// A process of this moment, which no later one of the same number is taken for.
public final class RunningProcess: Sendable {
    /// Its number.
    public let number: Int32
    private let process: OwnedDescriptor

    /// - Throws: ESRCH where there is none of this number; EMFILE.
    public init(_ number: Int32) throws(Errno) {
        let opened = passdir_pidfd_open(number)
        guard opened >= 0 else { throw .last }
        process = OwnedDescriptor(opened)
        self.number = number
    }

    /// For system calls; valid while this lives.
    var descriptor: CInt { process.raw }

    /// Whether it runs no more.
    public var hasEnded: Bool { Poll.isReadable(process.raw) }
}
