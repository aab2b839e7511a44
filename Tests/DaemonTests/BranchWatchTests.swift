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
}
