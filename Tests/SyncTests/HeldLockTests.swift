import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// A lock of git's that another program holds for longer than we wait: an editor open in `git commit -a`, say.
@Suite struct HeldLockTests {
    @Test(arguments: ["index.lock", "refs/heads/main.lock"])
    func commitsGoOnOnceItIsGone(_ name: String) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let lock = machine.path.appending(".git").pushing(FilePath(name))
            try machine.save("before", "1\n")
            try await machine.commit()
            try home.succeed(["touch", lock.string])
            try machine.save("a", "1\n")
            for _ in 0..<2 {
                let complaint = await machine.committer.synchronizeNow()
                #expect(complaint?.contains("lock") == true, "\(complaint ?? "")")
                #expect(complaint?.contains("another passdir") == false, "\(complaint ?? "")")
                #expect(access(lock.string, F_OK) == 0, "the lock of another program was taken away")
            }
            unlink(lock.string)
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.git("ls-tree", "--name-only", "HEAD", "a.gpg") == "a.gpg")
            #expect(try machine.dirt == "")
        }
    }
}
