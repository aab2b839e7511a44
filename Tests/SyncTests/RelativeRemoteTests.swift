import SystemPackage
import TestKit
import Testing

@testable import Sync

/// A remote that is named by a relative path is one beside the store, as git(1) finds it, wherever the daemon runs.
@Suite struct RelativeRemoteTests {
    @Test(arguments: sampled(["..", "./..", "url of the branch"]))
    func isFoundFromTheTop(_ path: String) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            let remote = FilePath(try machines[0].git("remote", "get-url", "origin"))
            #expect(remote.removingLastComponent() == machines[0].path.removingLastComponent())
            let relative = "../\(remote.lastComponent?.string ?? "")"
            if path == "url of the branch" {
                try machines[0].git("config", "branch.main.remote", relative)
                try machines[0].git("config", "--remove-section", "remote.origin")
            } else {
                try machines[0].git(
                    "remote", "set-url", "origin", path.hasPrefix("./") ? "./\(relative)" : relative)
            }
            try machines[0].save("a", "text\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            #expect(try machines[1].read("a") == "text\n")
        }
    }
}
