public import SystemPackage

/// How a session serves, with what hardly ever needs another value.
public struct SessionOptions: Sendable {
    /// Threads that receive requests and answer those that do not block. Each has receive memory of its own.
    public var receiverCount = 4
    /// The longest payload of one write, and of one read, in bytes; a multiple of the page size.
    public var maximumWrite = 128 << 10
    /// How many requests may block at the same time; the next one waits for the end of another. Each lane
    /// (`Filesystem.lane`) has 160 of them at most, so that a dozen that are stuck leave room for the others.
    public var workerLimit = 2048
    /// After how many seconds a thread that has nothing to do ends.
    public var idleSeconds = 10.0
    /// For how long the end of the mount waits for what blocks, such as the end of an open file on a disk that does not answer;
    /// nil: for as long as it takes.
    public var endPatience: Duration?
    /// Refuse to mount over a directory that has entries, which the mount would hide.
    public var refusesNonEmptyMountPoint = false
    /// Let nobody write into the directory below the mount, also after the mount has ended: see `BareDirectory`.
    public var protectsMountPoint = false
    /// Gives the memory into which requests are received.
    public var receiveMemory: @Sendable (_ byteCount: Int) throws(Errno) -> any ReceiveMemory

    /// The usual options, with `ProtectedPages` to receive into.
    public init() {
        receiveMemory = { byteCount throws(Errno) in try ProtectedPages(byteCount: byteCount) }
    }

    var receiveByteCount: Int { maximumWrite + Receiver.headerByteCount }
}
