import Contents
import System
import Testing

@Suite struct PasswordCharactersTests {
    /// What is in a set, by what comes out of it.
    private func members(_ text: String) throws -> Set<UInt8> {
        let set = try PasswordCharacters(text)
        let members = Set(try PasswordGenerator().characters(4096, from: set).text.array)
        try #require(members.count == set.count, "one of 95 at most comes out 43 times on the average")
        return members
    }

    /// tr itself keeps the same of all printable characters.
    @Test(arguments: [
        "a-z", "a-", "-a", "a-c-e", "[:alnum:]", "[:punct:]_", "[:xdigit:]", "[:upper:]x", "[:lower:]",
        "[:digit:]-",
        "[:alpha:]", "[:graph:]", "[:print:]", "\\101-\\103", "\\60\\0621", "a\\-z", "\\\\", "x\\", "[a-c]",
        "[=a=]b", "[=-=]",
        "[===]", "[:alnum", "[:]", "[]", "a[", "\\[:alnum:]", "[x*", "[x*8]y*]", "[x*12]", "a[x*010]",
        "ab[x*y]", "!-~", " -~",
        "[\\x*", "\\q", "[a", "[=a", "\\477",
    ])
    func setsAreThoseOfTr(_ text: String) throws {
        let printable = (0x20...0x7e).map { UInt8($0) }
        // What tr refuses keeps nothing.
        let kept = try run(
            ["sh", "-c", "LC_ALL=C tr -dc -- \"$1\" 2>/dev/null || true", "sh", text], input: printable)
        if kept.isEmpty {
            #expect(failure { _ = try PasswordCharacters(text) }?.code == .invalid)
        } else {
            #expect(try members(text) == Set(kept.utf8))
        }
    }

    @Test(arguments: [
        "", "z-a", "[:none:]", "[=ab=]", "[x*]", "[x*0]", "[x*08]", "\\n", "a\\0", "[:space:]", "[:cntrl:]",
        "ä",
        "\\377", "[:blank:]",
    ])
    func whatNoPasswordCanHaveIsRefused(_ text: String) {
        #expect(failure { _ = try PasswordCharacters(text) }?.code == .invalid)
    }
}
