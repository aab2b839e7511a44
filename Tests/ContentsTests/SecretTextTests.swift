import Contents
import Testing

@Suite struct SecretTextTests {
    private func read(_ text: String) -> SecretText { text.withBytes { SecretText($0) } }

    /// The fields as `name=value`.
    private func fields(_ text: String) -> [String] {
        read(text).fields.map { "\($0.name)=\(text[$0.value])" }
    }

    @Test(arguments: [
        ("", ""), ("\n", ""), ("a", "a"), ("a\n", "a"), ("a\r\nb", "a"), ("\nb", ""), (" a \n", " a "),
        ("user: x\n", "user: x"), ("---\nb: c", "---"),
    ])
    func firstLine(_ text: String, _ line: String) {
        #expect(text[read(text).firstLine] == line)
    }

    @Test func linesWithAColonAreFields() {
        let text = """
            user: nobody
            user:  ann \t
            two words : x: y
            empty:
            tight:x
            just text
            : no name
            https://example.org/a:b
            url: https://example.org
            note//: x

            """
        #expect(
            fields(text) == [
                "user=ann", "two words=x: y", "empty=", "tight=x", "url=https://example.org", "note//=x",
            ])
        #expect(fields("p\r\nuser: ann\r\nempty:\r\n") == ["user=ann", "empty="])
    }

    @Test func namesThatAreNoNamesOfFiles() {
        let text = "p\na/b: 1\n.: 2\n..: 3\n\0: 4\n...: 5\nc d: 6\n"
        #expect(read(text).fields.filter(\.isFileName).map(\.name) == ["...", "c d"])
        #expect(read(text).fields.count == 6)
    }

    @Test func bytesThatAreNoTextAreBorne() {
        let bytes: [UInt8] = Array("p\nna".utf8) + [0xff] + Array("me: x\nuser: ".utf8) + [0xfe, 0xff, 0x0a]
        let text = bytes.withUnsafeBytes { SecretText($0) }
        #expect(text.fields.map(\.name) == ["user"])
        #expect(text.fields.map { Array(bytes[$0.value]) } == [[0xfe, 0xff]])
    }

    /// Whatever comes, all ranges lie in the text.
    @Test func randomBytesAreBorne() {
        var numbers = SeededNumbers(1)
        let pieces = [
            "---\n", "a: ", "\"", "'", "\n", "\r\n", ":", "GOPASS-SECRET-1.0\n", "Password: ", "otpauth://",
            "\u{0}", "#",
        ]
        for _ in 0..<5000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &numbers) {
                bytes +=
                    Bool.random(using: &numbers)
                    ? Array(pieces.randomElement(using: &numbers)!.utf8)
                    : [UInt8.random(in: .min ... .max, using: &numbers)]
            }
            let text = bytes.withUnsafeBytes { SecretText($0) }
            for range in [text.firstLine] + text.fields.map(\.value) + [text.oneTimeURI ?? 0..<0] {
                #expect(range.lowerBound >= 0 && range.upperBound <= bytes.count)
            }
        }
    }

    @Test func boundsHold() {
        let long = String(repeating: "n", count: 255)
        #expect(fields("p\n\(long): 1\n\(long)n: 2\n") == ["\(long)=1"])
        let many = "p\n" + String(repeating: "a: b\n", count: SecretText.fieldLimit + 5)
        #expect(read(many).fields.count == SecretText.fieldLimit)
    }

    @Test func fieldsAreFoundByName() {
        let text = "p\nURL: 1\nUser: 2\nuser: 3\nuser: 4\nÄ: 5\n"
        func value(_ name: String) -> String? { read(text).field(named: name).map { text[$0.value] } }
        #expect(value("user") == "3")
        #expect(value("USER") == "2")
        #expect(value("url") == "1")
        #expect(value("ä") == nil)
        #expect(value("none") == nil)
    }

    @Test func browserpassNamesServe() {
        let text = "p\nEmail: e\nUSER: u\nwebsite: w\nuri: i\n"
        #expect(read(text).userName.map { text[$0.value] } == "u")
        #expect(read(text).webAddress.map { text[$0.value] } == "i")
        #expect(read("p\nlogin: x\n").userName?.name == "login")
        #expect(read("p\n").userName == nil)
    }

    @Test(arguments: [
        ("otpauth://totp/a?secret=A", "otpauth://totp/a?secret=A"),
        ("p\nuser: x\n  OTPAUTH://totp/b \nmore", "OTPAUTH://totp/b"),
        ("p\ntotp: otpauth://totp/c\notpauth://totp/d", "otpauth://totp/c"),
        ("p\nOTPAuth:otpauth://hotp/e\r\n", "otpauth://hotp/e"),
        ("p\n---\na: b\ntotp: 'otpauth://totp/f'\n", "otpauth://totp/f"),
        ("GOPASS-SECRET-1.0\nPassword: otpauth://totp/g\n\n", "otpauth://totp/g"),
        ("GOPASS-SECRET-1.0\nPassword: p\n\ntext\notpauth://totp/h\n", "otpauth://totp/h"),
    ])
    func theOneTimeURIIsFound(_ text: String, _ uri: String) {
        #expect(read(text).oneTimeURI.map { text[$0] } == uri)
    }

    @Test func otherTextIsNoOneTimeURI() {
        #expect(read("p\nnote: otpauth://totp/a\nsee otpauth://totp/b\n").oneTimeURI == nil)
        #expect(fields("p\notpauth://totp/a:b?secret=C\n") == [])
    }

    @Test func flatFieldsOfADocumentAreRead() {
        let text = """
            p
            before: 1
            ---
            # a comment
            plain: some text # a comment
            single: 'a # b'
            double: "c: d"  # a comment
            "quoted key": e
            empty:
            hash: a#b
            tight:x
            url: http://example.org:80/
            escaped: "a\\n"
            doubled: 'it''s'
            list:
            - x
            - y: z
            map:
              inner: 1
            block: |
              inner: 2

              inner: 3
            folded: >-
              x
            flow: {a: b}
            tag: !!str x
            anchor: &a x
            long: one
              two
            last: 4
            ---
            after: 5

            """
        #expect(
            fields(text) == [
                "before=1", "plain=some text", "single=a # b", "double=c: d", "quoted key=e", "empty=",
                "hash=a#b",
                "url=http://example.org:80/", "last=4",
            ])
        #expect(read(text).form == .yaml(from: 12))
        #expect(fields("p\n ---\nuser:x\n") == ["user=x"])
    }

    @Test func oldSecretsOfGopassAreRead() {
        let text = "GOPASS-SECRET-1.0\nUser: ann\nPassword: pa ss \nNote: a\n b: c\n\nuser: body\n"
        #expect(fields(text) == ["User=ann", "Note=a"])
        #expect(text[read(text).firstLine] == "pa ss")
        #expect(read(text).form == .headed(headers: 18, hasPassword: true))
        let without = "GOPASS-SECRET-1.0\nUser: ann\n"
        #expect(read(without).firstLine == 18..<18)
    }
}
