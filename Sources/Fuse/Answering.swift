import CFuse
import SystemPackage

/// Answers on the receiving thread. libfuse never leaves the request out.
func answer(_ request: fuse_req_t?, _ operation: (any Filesystem) throws(Errno) -> Answer) {
    guard let request else { return }
    let server = Server.of(request)
    server.answer(request) { () throws(Errno) in try operation(server.filesystem) }
}

/// Answers on a worker. `operation` holds copies of all that libfuse passed.
func answerLater(
    _ request: fuse_req_t?, evenForTheKilled: Bool = false,
    _ operation: @escaping @Sendable (any Filesystem, Caller) throws(Errno) -> Answer
) {
    answerWhenReady(request, evenForTheKilled: evenForTheKilled) { filesystem, caller throws(Errno) in
        .now(try operation(filesystem, caller))
    }
}

/// As `answerLater`, with a copy of a name.
func answerLater(
    _ request: fuse_req_t?, _ bytes: UnsafePointer<CChar>?,
    _ operation: @escaping @Sendable (any Filesystem, Name) throws(Errno) -> Answer
) {
    let name = Result { () throws(Errno) in try copyName(bytes) }
    answerLater(request) { filesystem, _ throws(Errno) in try operation(filesystem, name.get()) }
}

/// As `answerLater`, of an operation that may give its worker up while it waits for its answer.
func answerWhenReady(
    _ request: fuse_req_t?, evenForTheKilled: Bool = false,
    _ operation: @escaping @Sendable (any Filesystem, Caller) throws(Errno) -> Reply<Answer>
) {
    guard let request else { return }
    let server = Server.of(request)
    server.answerWhenReady(request, evenForTheKilled: evenForTheKilled) { caller throws(Errno) in
        try operation(server.filesystem, caller)
    }
}
