import SystemPackage
import TestKit

extension TestHome {
    /// A mounted store with a secret below a rule that denies what runs below `agent`, a copy of bash.
    static func withAgent(
        _ settings: [String: String] = [:], _ body: (TestHome, TestStore, _ agent: String) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("aws/key", "MARK\n")
            try store.insert("open/moved", "MARK too\n")
            try home.addStores([store])
            try home.configure(["access.log": "true"].merging(settings) { $1 })
            try home.mount()
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "work/aws", "--deny-under", "agent"])
            try body(home, store, agent)
            try home.unmount()
        }
    }
}
