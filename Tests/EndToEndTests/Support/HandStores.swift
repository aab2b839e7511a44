import TestKit

/// Stores for the commands for hands; nothing is mounted.
enum HandStores {
    static func with(
        _ names: [String] = ["work"], passphrase: String = "", _ body: (TestHome, [TestStore]) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: passphrase)
            let stores = try names.map { try home.makeStore($0, recipients: [key]) }
            try home.addStores(stores)
            try body(home, stores)
        }
    }
}
