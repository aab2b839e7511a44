import CGit
import Glibc

/// A TCP connection that libgit2 uses in place of its own (git2/sys/stream.h), watched over by `ServerBoundary`.
enum ServerConnection {
    private typealias Stream = UnsafeMutablePointer<git_stream>

    /// A stream that is not connected yet; libgit2 frees it.
    static func make(_ host: UnsafePointer<CChar>, _ port: UnsafePointer<CChar>) -> UnsafeMutablePointer<
        git_stream
    > {
        let stream = UnsafeMutablePointer<passdir_git_stream>.allocate(capacity: 1)
        stream.initialize(to: passdir_git_stream())
        stream.pointee.host = strdup(host)
        stream.pointee.port = strdup(port)
        stream.pointee.descriptor = -1
        stream.pointee.parent.version = GIT_STREAM_VERSION
        stream.pointee.parent.connect = { ServerConnection.connect($0!) }
        stream.pointee.parent.read = { ServerConnection.read($0!, $1!, $2) }
        stream.pointee.parent.write = { stream, bytes, count, flags in
            ServerConnection.write(stream!, UnsafeRawBufferPointer(start: bytes, count: count), flags)
        }
        stream.pointee.parent.close = { ServerConnection.close($0!) }
        stream.pointee.parent.free = { stream in
            let whole = ServerConnection.whole(stream!)
            _ = ServerConnection.close(stream!)
            Glibc.free(whole.pointee.host)
            Glibc.free(whole.pointee.port)
            whole.deallocate()
        }
        return stream.pointer(to: \.parent)!
    }

    /// `parent` is the first field.
    private static func whole(_ stream: Stream) -> UnsafeMutablePointer<passdir_git_stream> {
        UnsafeMutableRawPointer(stream).assumingMemoryBound(to: passdir_git_stream.self)
    }

    private static func connect(_ stream: Stream) -> Int32 {
        let whole = whole(stream)
        let host = String(cString: whole.pointee.host)
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_family = AF_UNSPEC
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(whole.pointee.host, whole.pointee.port, &hints, &found)
        guard code == 0 else {
            return fail(
                GIT_ERROR_NET, "failed to resolve address for \(host): \(String(cString: gai_strerror(code)))"
            )
        }
        defer { freeaddrinfo(found) }
        var next = found
        while let address = next?.pointee {
            let descriptor = socket(
                address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), address.ai_protocol)
            if descriptor >= 0 {
                if Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
                    whole.pointee.descriptor = descriptor
                    return 0
                }
                Glibc.close(descriptor)
            }
            next = address.ai_next
        }
        return fail(GIT_ERROR_OS, "failed to connect to \(host)")
    }

    private static func read(_ stream: Stream, _ buffer: UnsafeMutableRawPointer, _ room: Int) -> Int {
        var count = -1
        repeat {
            count = recv(whole(stream).pointee.descriptor, buffer, room, 0)
        } while count < 0 && errno == EINTR
        guard count >= 0 else {
            return Int(
                fail(GIT_ERROR_NET, "error receiving socket data: \(String(cString: strerror(errno)))"))
        }
        if let boundary = ServerBoundary.current, !boundary.mayReceive(count) {
            return Int(fail(GIT_ERROR_NET, "the server talks without end"))
        }
        if let boundary = ServerBoundary.current,
            !boundary.mayFollow(UnsafeRawBufferPointer(start: buffer, count: count))
        {
            return Int(fail(GIT_ERROR_NET, "the server redirects elsewhere"))
        }
        return count
    }

    private static func write(_ stream: Stream, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
        let whole = whole(stream)
        if let boundary = ServerBoundary.current {
            var asked = ServerBoundary.Asked(rawValue: whole.pointee.asked) ?? .nothing
            defer { whole.pointee.asked = asked.rawValue }
            let (host, port) = (String(cString: whole.pointee.host), String(cString: whole.pointee.port))
            guard boundary.maySend(bytes, to: host, port, after: &asked) else {
                return Int(fail(GIT_ERROR_NET, "the server redirects elsewhere"))
            }
        }
        var count = -1
        repeat {
            count = send(
                whole.pointee.descriptor, bytes.baseAddress, bytes.count, flags | Int32(MSG_NOSIGNAL))
        } while count < 0 && errno == EINTR
        guard count >= 0 else {
            return Int(fail(GIT_ERROR_NET, "error sending data: \(String(cString: strerror(errno)))"))
        }
        return count
    }

    private static func close(_ stream: Stream) -> Int32 {
        let descriptor = whole(stream).pointee.descriptor
        whole(stream).pointee.descriptor = -1
        return descriptor >= 0 ? Glibc.close(descriptor) : 0
    }

    private static func fail(_ area: git_error_t, _ sentence: String) -> Int32 {
        git_error_set_str(Int32(area.rawValue), sentence)
        return -1
    }
}
