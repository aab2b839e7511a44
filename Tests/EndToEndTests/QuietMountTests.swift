import TestKit
import Testing

/// Nothing is held up: what `scripts/bench holdups` compares the hold-ups with.
@Suite struct QuietMountTests {
    @Test func everydayWorkGoesOn() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let stores = try ["one", "other"].map { try home.makeStore($0, recipients: [key]) }
            try stores[1].insert("one", "first\n")
            try home.addStores(stores)
            try home.mount()
            try home.workEveryday(in: "other", during: "nothing")
            try home.unmount()
            #expect(try stores[1].show("moved1") == Array("1\n".utf8))
        }
    }
}
