import Glibc
import SystemPackage
import TestKit
import Testing

/// What the daemon changes in its environment for itself.
@Suite struct DaemonEnvironmentTests {
    /// The daemon has small caches of freed memory for each thread; what it starts has the user's environment.
    @Test(arguments: [nil, "glibc.malloc.check=0"])
    func theDaemonHasSmallThreadCaches(_ given: String?) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try home.addStores([store])
            try store.insert("secret", "text\n")
            try home.succeed(["gpgconf", "--kill", "all"])
            let daemon = try home.mount(extra: given.map { ["GLIBC_TUNABLES": $0] } ?? [:])
            #expect(try FileCalls.read(home.visible("work/secret")) == Array("text\n".utf8))
            let agent = String(
                decoding: try home.succeed(["gpg-connect-agent", "--no-autostart", "GETINFO pid", "/bye"]),
                as: UTF8.self)
            let number = try #require(agent.split(separator: "\n").first?.split(separator: " ").last)
            func environment(_ process: String) throws -> String {
                String(
                    decoding: try FileCalls.read(FilePath("/proc/\(process)/environ")), as: UTF8.self)
            }
            let inherited = try environment(String(number)).split(separator: "\0")
                .first { $0.hasPrefix("GLIBC_TUNABLES=") }
            #expect(inherited.map(String.init) == given.map { "GLIBC_TUNABLES=" + $0 })
            // Nobody but root may look at the daemon's, in which glibc has parted the settings by NUL.
            if geteuid() == 0 {
                #expect(try environment("\(daemon)").contains("glibc.malloc.tcache_count=1"))
            }
            try home.unmount()
        }
    }
}
