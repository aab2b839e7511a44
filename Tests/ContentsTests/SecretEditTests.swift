import Contents
import System
import Testing

@Suite struct SecretEditTests {
    private static let uri = "otpauth://totp/x?secret=GEZDGNBV"

    @Test(arguments: [
        ("", "new\n"), ("old", "new"), ("old\n", "new\n"), ("\nuser: x\n", "new\nuser: x\n"),
        ("old\r\nuser: x\r\n", "new\r\nuser: x\r\n"), ("old\n---\na: b\n", "new\n---\na: b\n"),
        ("GOPASS-SECRET-1.0\nA: b\nPassword: old\n\nbody", "GOPASS-SECRET-1.0\nA: b\nPassword: new\n\nbody"),
        ("GOPASS-SECRET-1.0\nPassword:\n\n", "GOPASS-SECRET-1.0\nPassword: new\n\n"),
        ("GOPASS-SECRET-1.0\nPassword: \n\n", "GOPASS-SECRET-1.0\nPassword: new\n\n"),
        ("GOPASS-SECRET-1.0\nA: b\n\n", "GOPASS-SECRET-1.0\nPassword: new\nA: b\n\n"),
        ("GOPASS-SECRET-1.0", "GOPASS-SECRET-1.0\nPassword: new\n"),
    ])
    func theFirstLineIsReplaced(_ old: String, _ new: String) throws {
        let result = try old.withBytes { bytes in
            try "new".withBytes { try SecretEdit.replacingFirstLine(of: bytes, with: $0) }
        }
        #expect(result.text == new)
    }

    @Test(arguments: ["a\nb", "a\r", "a\0"])
    func aFirstLineIsOneLine(_ line: String) {
        let error = failure {
            _ = try "x".withBytes { bytes in
                try line.withBytes { try SecretEdit.replacingFirstLine(of: bytes, with: $0) }
            }
        }
        #expect(error?.code == .invalid)
    }

    @Test(arguments: [
        (
            "p\notpauth://hotp/x?secret=GE&counter=9&digits=6\nz\n",
            "p\notpauth://hotp/x?secret=GE&counter=10&digits=6\nz\n"
        ),
        (
            "otpauth://hotp/x?COUNTER=1&counter=5&secret=GE#f",
            "otpauth://hotp/x?COUNTER=10&counter=5&secret=GE#f"
        ),
        ("otpauth://hotp/x?counter=&secret=GE", "otpauth://hotp/x?counter=10&secret=GE"),
    ])
    func theCounterIsSet(_ old: String, _ new: String) throws {
        #expect(try old.withBytes { try SecretEdit.settingCounter(of: $0, to: 10) }.text == new)
    }

    @Test func onlyACounterIsSet() {
        #expect(
            failure { _ = try "p".withBytes { try SecretEdit.settingCounter(of: $0, to: 1) } }?.code
                == .missing)
        #expect(
            failure { _ = try Self.uri.withBytes { try SecretEdit.settingCounter(of: $0, to: 1) } }?.code
                == .invalid)
    }

    @Test(arguments: [
        ("", "@\n"), ("p", "p\n@\n"), ("p\n", "p\n@\n"), ("p\r\na: b", "p\r\na: b\r\n@\r\n"),
        ("p\notpauth://totp/old?secret=GE\nz", "p\n@\nz"), ("p\n totp: otpauth://x \nz", "p\n totp: @ \nz"),
        ("p\nx: y\n---\na: b\n", "p\nx: y\n@\n---\na: b\n"),
        ("GOPASS-SECRET-1.0\nPassword: p\n", "GOPASS-SECRET-1.0\nPassword: p\n\n@\n"),
        ("GOPASS-SECRET-1.0\nPassword: p\n\nbody", "GOPASS-SECRET-1.0\nPassword: p\n\nbody\n@\n"),
    ])
    func theURIIsSet(_ old: String, _ pattern: String) throws {
        let expected = pattern.replacing("@", with: Self.uri)
        let result = try old.withBytes { bytes in
            try Self.uri.withBytes { try SecretEdit.settingOneTimeURI(of: bytes, to: $0) }
        }
        #expect(result.text == expected)
        let place = result.withUnsafeBytes { SecretText($0).oneTimeURI }
        #expect(place.map { result.text[$0] } == Self.uri)
    }

    @Test(arguments: ["otpauth://totp/x", "otpauth://totp/x?secret=GE\n", "text"])
    func aWrongURIIsRefused(_ uri: String) {
        let error = failure {
            _ = try "p".withBytes { bytes in
                try uri.withBytes { try SecretEdit.settingOneTimeURI(of: bytes, to: $0) }
            }
        }
        #expect(error?.code == .invalid)
    }
}
