import CLinux
import Glibc
import SystemPackage

/// A POSIX thread for work that blocks, so that Swift's cooperative pool never does.
public enum PlainThread {
    /// Starts a detached thread.
    ///
    /// - Parameter name: what `ps -L` and a debugger show; the kernel keeps 15 bytes.
    /// - Throws: EAGAIN when the system allows no more threads.
    public static func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                work.name.withCString { name in
                    _ = passdir_prctl(PR_SET_NAME, UInt(bitPattern: name))
                }
                work.body()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw Errno(rawValue: code)
        }
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
