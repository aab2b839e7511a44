import SystemPackage
import Testing

@testable import Stores

@Suite struct PathBoundsTests {
    /// What the mount and the committer go by.
    @Test(arguments: [
        (String(repeating: "d/", count: 99) + "s.gpg", false),
        (String(repeating: "d/", count: 100) + "s.gpg", true),
        (
            String(repeating: String(repeating: "d", count: 200) + "/", count: 20)
                + String(repeating: "s", count: 75), false
        ),
        (
            String(repeating: String(repeating: "d", count: 200) + "/", count: 20)
                + String(repeating: "s", count: 76), true
        ),
    ])
    func theBoundIsThatOfOthers(_ path: String, _ isTooLong: Bool) {
        #expect(Store.isTooLong(FilePath(path)) == isTooLong)
    }
}
