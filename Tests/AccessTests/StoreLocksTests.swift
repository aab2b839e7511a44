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
}
