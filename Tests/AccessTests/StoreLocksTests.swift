import Access
import Testing

@Suite struct StoreLocksTests {
    @Test func onlyWhatIsNamedIsLocked() {
        let locks = StoreLocks()
        locks.lock(["work", "home"])
        locks.unlock(["home"])
        #expect(locks.isLocked("work"))
        #expect(!locks.isLocked("home"))
    }

    @Test func anUnlockIsOfTheLockThatWasAskedAbout() {
        let locks = StoreLocks()
        let lock = locks.lock(of: "work")
        lock.lock(because: .idle)
        let asked = lock.count
        lock.lock(because: .suspend)
        #expect(!lock.unlock(lockedTimes: asked) && lock.isLocked, "it was locked again since")
        #expect(lock.facts?.reason == .idle, "the first one is told")
        #expect(lock.unlock(lockedTimes: lock.count) && lock.facts == nil)
    }

    @Test func aLockGoesWithTheNameOfItsStore() {
        let locks = StoreLocks()
        let lock = locks.lock(of: "/home/user/store")
        lock.lock(because: .command)
        locks.rename("/home/user/store", to: "id")
        #expect(locks.isLocked("id") && !locks.isLocked("/home/user/store"))
        #expect(locks.lock(of: "id") === lock)
    }
}
