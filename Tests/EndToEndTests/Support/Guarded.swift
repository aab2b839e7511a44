import Dispatch
import Glibc
import SystemPackage
import TestKit

extension TestHome {
    /// Runs a test in a home of its own, as `with`; when it takes longer than `limit`, the daemon is killed, so that
    /// calls on the mount that would wait for ever fail and the test ends.
    static func guarded<Result>(
        limit: Duration = .seconds(300), name: String = #function, _ body: (TestHome) throws -> Result
    ) throws -> Result {
        try with(name) { home in
            let ended = DispatchSemaphore(value: 0)
            defer { ended.signal() }
            Thread.start {
                guard ended.wait(timeout: .now() + .seconds(Int(limit.components.seconds))) == .timedOut
                else { return }
                print("a test took longer than \(limit): its daemon is killed")
                for pid in home.daemons() { kill(pid, SIGKILL) }
            }
            return try body(home)
        }
    }
}
