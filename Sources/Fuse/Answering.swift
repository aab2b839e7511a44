import CFuse
import SystemPackage

/// Answers on the receiving thread. libfuse never leaves the request out.
func answer(_ request: fuse_req_t?, _ operation: (any Filesystem) throws(Errno) -> Answer) {
    guard let request else { return }
    let server = Server.of(request)
    server.answer(request) { () throws(Errno) in try operation(server.filesystem) }
}

/// As `answer`, of an operation that looks at what an inode stands for; see `Server.look`.
func answerLook(
    _ request: fuse_req_t?, at inode: fuse_ino_t,
    _ operation: @escaping @Sendable (any Filesystem, InodeNumber) throws(Errno) -> Answer
) {
    guard let request else { return }
    let server = Server.of(request)
    let inode = InodeNumber(rawValue: inode)
    server.look(request, at: inode) { _ throws(Errno) in .now(try operation(server.filesystem, inode)) }
}

/// Answers on a worker. `operation` holds copies of all that libfuse passed.
/// - Parameter inode: in whose lane it waits.
func answerLater(
    _ request: fuse_req_t?, at inode: fuse_ino_t, evenForTheKilled: Bool = false,
    _ operation: @escaping @Sendable (any Filesystem, Caller) throws(Errno) -> Answer
) {
    answerWhenReady(request, at: inode, evenForTheKilled: evenForTheKilled) {
        filesystem, caller throws(Errno) in
        .now(try operation(filesystem, caller))
    }
}

/// As `answerLater`, with a copy of a name.
func answerLater(
    _ request: fuse_req_t?, at inode: fuse_ino_t, _ bytes: UnsafePointer<CChar>?,
    _ operation: @escaping @Sendable (any Filesystem, Name, Caller) throws(Errno) -> Answer
) {
    let name = Result { () throws(Errno) in try copyName(bytes) }
    answerLater(request, at: inode) { filesystem, caller throws(Errno) in
        try operation(filesystem, name.get(), caller)
    }
}

/// As `answerLater`, of an operation that may give its worker up while it waits for its answer.
func answerWhenReady(
    _ request: fuse_req_t?, at inode: fuse_ino_t, evenForTheKilled: Bool = false,
    _ operation: @escaping @Sendable (any Filesystem, Caller) throws(Errno) -> Reply<Answer>
) {
    guard let request else { return }
    let server = Server.of(request)
    server.answerWhenReady(request, at: InodeNumber(rawValue: inode), evenForTheKilled: evenForTheKilled) {
        caller throws(Errno) in
        try operation(server.filesystem, caller)
    }
}
