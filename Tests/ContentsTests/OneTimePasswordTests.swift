import Contents
import System
import Testing

@Suite struct OneTimePasswordTests {
    private func password(_ uri: String) throws -> OneTimePassword {
        try uri.withBytes { try OneTimePassword(uri: $0) }
    }

    /// RFC 4226, appendix D.
    @Test func countedCodesOfTheRFC() throws {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
            "520489",
        ]
        for (counter, code) in codes.enumerated() {
            let hotp = try password(
                "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=\(counter)")
            #expect(try hotp.code(counter: UInt64(counter)).text == code)
            let next = try hotp.code(at: 0)
            #expect(next.text.text == code)
            #expect(next.validUntil == nil)
            #expect(hotp.movement == .counter(UInt64(counter)))
        }
    }

    /// RFC 6238, appendix B, with the keys of its errata: as many bytes as the hash.
    @Test(arguments: [
        ("SHA1", 20, ["94287082", "07081804", "14050471", "89005924", "69279037", "65353130"]),
        ("SHA256", 32, ["46119246", "68084774", "67062674", "91819424", "90698825", "77737706"]),
        ("SHA512", 64, ["90693936", "25091201", "99943326", "93441116", "38618901", "47863826"]),
    ])
    func timedCodesOfTheRFC(_ algorithm: String, _ length: Int, _ codes: [String]) throws {
        let key = Base32Text.encode((0..<length).map { UInt8(ascii: "0") + UInt8(($0 + 1) % 10) })
        let totp = try password("otpauth://totp/x?secret=\(key)&algorithm=\(algorithm)&digits=8")
        let times: [Int64] = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000]
        #expect(try times.map { try totp.code(at: $0).text.text } == codes)
    }

    /// Made by Python's hmac.
    @Test(arguments: [
        ("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&encoder=steam", 0, "GG5F5"),
        ("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&encoder=Steam&digits=5", 59, "PV9M4"),
        ("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Steam", 1_111_111_109, "PY4YB"),
        ("AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT&issuer=STEAM&digits=5", 1_700_000_000, "7MQGM"),
    ])
    func codesOfSteam(_ parameters: String, _ seconds: Int64, _ code: String) throws {
        let totp = try password("otpauth://totp/Steam:ann?secret=\(parameters)")
        #expect(totp.style == .steam)
        #expect(try totp.code(at: seconds).text.text == code)
    }

    @Test func anIssuerWithDigitsIsNotSteam() throws {
        #expect(try password("otpauth://totp/x?secret=GE&issuer=Steam&digits=6").style == .decimal(digits: 6))
    }

    @Test func aCodeServesToTheEndOfItsPeriod() throws {
        let totp = try password("otpauth://totp/x?secret=GEZDGNBV&period=60")
        let first = try totp.code(at: 119)
        #expect(first.validUntil == 120)
        #expect(try totp.code(at: 60).text.array == first.text.array)
        #expect(try totp.code(at: 120).text.array != first.text.array)
        #expect(try totp.code(at: 120).validUntil == 180)
        #expect(try totp.code(at: .max).validUntil == .max)
        #expect(failure { _ = try totp.code(at: -1) }?.code == .invalid)
    }

    @Test(arguments: [
        "gezd gnbv-gy3t qojq gezd gnbv gy3t qojq", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ======",
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ%3D%3D", "%47ezdgnbv%20gy3t+qojqgezdgnbvgy3tqojq",
    ])
    func keysAreWrittenInManyWays(_ secret: String) throws {
        for uri in [
            "otpauth://totp?secret=\(secret)", "OTPAUTH://TOTP/a:b?issuer=x&Secret=\(secret)&secret=AA#f",
        ] {
            #expect(try password(uri).code(at: 59).text.text == "287082", "\(uri)")
        }
    }

    /// An odd letter at the end is dropped, as phones do.
    @Test func lettersWithoutAWholeByteAreDropped() throws {
        let whole = try password("otpauth://totp/x?secret=GEZDGNBVGY").code(at: 0).text.text
        #expect(try password("otpauth://totp/x?secret=GEZDGNBVGYA").code(at: 0).text.text == whole)
    }

    @Test(arguments: [
        ("https://example.org", ContentsError.Code.invalid, "an otpauth URI begins with otpauth://"),
        ("otpauth://motp/x?secret=GE", .unsupported, "the otpauth URI is of another kind than totp and hotp"),
        ("otpauth://totp/x", .invalid, "the otpauth URI has no secret"),
        ("otpauth://totp/x?secret=", .invalid, "the secret of the otpauth URI is empty"),
        ("otpauth://totp/x?secret==", .invalid, "the secret of the otpauth URI is empty"),
        (
            "otpauth://totp/x?secret=GE1", .invalid,
            "the secret of the otpauth URI is not in base 32: see its character 3"
        ),
        (
            "otpauth://totp/x?secret=GE==GE", .invalid,
            "the secret of the otpauth URI is not in base 32: see its character 5"
        ),
        (
            "otpauth://totp/x?secret=GE%4", .invalid,
            "a percent sign of the URI has no two hexadecimal digits behind it"
        ),
        (
            "otpauth://totp/x?secret=GE&algorithm=MD5", .unsupported,
            "the algorithm of the otpauth URI is none of SHA1, SHA256 and SHA512"
        ),
        (
            "otpauth://totp/x?secret=GE&digits=5", .unsupported,
            "the digits of the otpauth URI are not 6, 7 or 8"
        ),
        (
            "otpauth://totp/x?secret=GE&digits=9", .unsupported,
            "the digits of the otpauth URI are not 6, 7 or 8"
        ),
        (
            "otpauth://totp/x?secret=GE&digits=six", .invalid,
            "the parameter digits of the otpauth URI is no number that fits"
        ),
        (
            "otpauth://totp/x?secret=GE&period=0", .invalid,
            "the period of the otpauth URI is not from 1 to 1000000000 seconds"
        ),
        (
            "otpauth://totp/x?secret=GE&period=-30", .invalid,
            "the parameter period of the otpauth URI is no number that fits"
        ),
        (
            "otpauth://totp/x?secret=GE&encoder=base64", .unsupported,
            "the encoder of the otpauth URI is another than steam"
        ),
        ("otpauth://hotp/x?secret=GE", .invalid, "the otpauth URI is of the kind hotp and has no counter"),
        (
            "otpauth://hotp/x?secret=GE&counter=18446744073709551616", .invalid,
            "the parameter counter of the otpauth URI is no number that fits"
        ),
    ])
    func wrongURIsAreToldApart(_ uri: String, _ code: ContentsError.Code, _ sentence: String) {
        #expect(failure { _ = try password(uri) } == ContentsError(code, sentence))
    }

    /// `PASSDIR_SOAK` says how many URIs; `PASSDIR_OTP_SEED` repeats a run.
    @Test func randomURIsGiveTheCodesOfOathtool() throws {
        let seed = number("PASSDIR_OTP_SEED") ?? Int.random(in: 1...999_999_999)
        var numbers = SeededNumbers(seed)
        var remaining = number("PASSDIR_SOAK") ?? 300
        while remaining > 0 {
            let samples = (0..<min(remaining, 100)).map { _ in RandomURI(&numbers) }
            remaining -= samples.count
            let theirs = try RandomURI.oathtoolCodes(of: samples)
            try #require(theirs.count == samples.count)
            for (sample, theirs) in zip(samples, theirs) {
                let maker = try password(sample.uri)
                let ours = try sample.counters.map { try maker.code(counter: $0).text }
                #expect(ours == theirs, "\(sample.uri), seed \(seed)")
                if let seconds = sample.seconds {
                    #expect(try maker.code(at: seconds).text.text == theirs[0], "\(sample.uri), seed \(seed)")
                }
            }
        }
    }
}
