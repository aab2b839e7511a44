import Testing

@testable import Git

@Suite struct ErrorTests {
    @Test(arguments: [
        ("https://me:secret@host/x", "https://me@host/x"), ("https://host/a:b@c", "https://host/a:b@c"),
        ("x ssh://u:p@w@h:22 and http://a:b@c", "x ssh://u@h:22 and http://a@c"), ("://", "://"),
        ("https://token@host", "https://token@host"),
    ])
    func passwordsAreTakenOut(_ text: String, _ cleaned: String) {
        #expect(GitError.withoutPasswords(text) == cleaned)
    }

    @Test func oneLine() {
        #expect(GitError.cleaned("a \n\n  b.\r\n: ") == "a; b")
    }
}
