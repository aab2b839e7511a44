import Glibc
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Daemon

/// Changes in git's folders are told, however often programs write there.
@Suite struct BranchWatchTests {
    /// `git status` in a loop, as some prompts and editors run it, takes the lock of the index each time.
    @Test func aFolderThatIsNeverQuietIsTold() throws {
        try TestHome.with { home in
            let folder = home.path("git")
            try home.succeed(["mkdir", folder.string])
            let isTold = Atomic<Bool>(false)
            let watch = BranchWatch()
            withExtendedLifetime(watch) {
                watch.follow([folder]) { _ in isTold.store(true, ordering: .releasing) }
                let lock = folder.appending("index.lock").string
                let end = ContinuousClock.now + .seconds(30)
                while !isTold.load(ordering: .acquiring), .now < end {
                    close(creat(lock, 0o600))
                    unlink(lock)
                }
            }
            let wasTold = isTold.load(ordering: .acquiring)
            #expect(wasTold)
        }
    }

    /// The reference of a stash that is popped at once is gone before anybody looks.
    @Test(arguments: [("stash", true), ("index", false)]) func aStashIsTold(_ name: String, isStash: Bool)
        throws
    {
        try TestHome.with { home in
            let folder = home.path("git")
            try home.succeed(["mkdir", folder.string])
            let told = Mutex<[Bool]>([])
            let watch = BranchWatch()
            try withExtendedLifetime(watch) {
                watch.follow([folder]) { said in told.withLock { $0.append(said) } }
                try home.succeed(
                    ["sh", "-c", "echo > \(name).lock; mv \(name).lock \(name); rm \(name)"], in: folder)
                try home.waitUntil("it is told") { told.withLock { !$0.isEmpty } }
            }
            #expect(told.withLock { $0.contains(true) } == isStash)
        }
    }
}
