import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import OpenPGP

@Suite struct ResolveTests {
    let keys: Keys
    let engine: OpenPGPEngine

    init() throws {
        keys = try Keys.shared.get()
        engine = try keys.home.engine
    }

    private func one(_ line: String) throws -> Fingerprint? {
        let found = try engine.resolve(line)
        #expect(found.count == 1)
        #expect(found.first?.named == line)
        return found.first?.key.fingerprint
    }

    @Test func everyKindOfName() throws { try expectEveryKindOfName() }

    /// Lists that others push hold any number of names that nobody bears. Once there were many, what answers is a list of all
    /// names, and gives the answers of gpg.
    @Test func afterManyUnknownNamesTheOthersAreStillFound() throws {
        for index in 0..<40 {
            let names = ["nobody\(index)", "no\(index)@example.org", "DEADBEEF000000\(index + 10)"]
            for name in names {
                let error = #expect(throws: OpenPGPError.self) { try engine.resolve(name) }
                #expect(error?.code == .missingKey, "\(name)")
            }
        }
        try expectEveryKindOfName()
        for part in ["oB", "bob", "ob <BOB", "Bob <"] { #expect(try one(part) == keys.bob, "\(part)") }
        #expect(try engine.resolve("rex@example.org").first?.encryptionState(at: 0) == .revoked)
    }

    /// What is said to be borne by nobody is nothing that gpg would find.
    @Test func namesThatNobodyBearsAreNoneForGpg() throws {
        let all = try engine.keys(matching: [], secretOnly: false)
        let names = BorneNames(all)
        for key in all {
            let bytes = key.userIDs.flatMap { Array($0.text.utf8) }
            let parts = bytes.indices.flatMap { start in
                [1, 3, 8].map { String(decoding: bytes[start...].prefix($0), as: UTF8.self) }
            }
            let hexadecimal = key.subkeys.map(\.fingerprint.description).flatMap {
                [$0, "0x" + $0.suffix(16), "\($0)!"]
            }
            for name in parts + hexadecimal where !name.contains("\u{fffd}") {
                // A mail address is not looked for as a part of one (`RecipientName`).
                if case .address(let address) = RecipientName(name),
                    !key.userIDs.contains(where: { $0.email == address })
                {
                    continue
                }
                #expect(names.mayHold(RecipientName(name)), "\(name)")
            }
        }
        #expect(!names.mayHold(RecipientName("nobody")) && !names.mayHold(RecipientName("no@example.org")))
        #expect(!names.mayHold(RecipientName("DEADBEEF")) && names.mayHold(RecipientName("=nobody")))
    }

    private func expectEveryKindOfName() throws {
        let long = String(keys.ann.description.suffix(16))
        let short = String(keys.ann.description.suffix(8))
        let spaced = stride(from: 0, to: 40, by: 4).map { index in
            String(keys.ann.description.dropFirst(index).prefix(4))
        }.joined(separator: " ")
        for line in [
            keys.ann.description, keys.ann.description.lowercased(), "0x" + keys.ann.description, long,
            "0x" + long,
            short, "0x" + short, spaced, "ann@example.org", "<ann@example.org>", "ANN@example.org",
            "Ann <ann@example.org>", "=Ann <ann@example.org>", keys.annOlder.description,
            String(keys.annNewer.description.suffix(16)),
        ] {
            #expect(try one(line) == keys.ann, "\(line)")
        }
        #expect(try one("Bob") == keys.bob)
        let exact = try #require(try engine.resolve("\(keys.annOlder.description.suffix(16))!").first)
        #expect(exact.subkey == keys.annOlder)
        #expect(exact.key.fingerprint == keys.ann)
    }

    @Test func withoutTheAgentNothingIsSecret() throws {
        let asked = try engine.resolve("ann@example.org")
        let found = try engine.resolve("ann@example.org", askingAgent: false)
        #expect(found.map(\.specification) == asked.map(\.specification))
        #expect(asked.allSatisfy(\.key.hasSecret) && !found.contains(where: \.key.hasSecret))
        #expect(found.first?.key.subkeys.map(\.keygrip) == asked.first?.key.subkeys.map(\.keygrip))
    }

    @Test func factsOfAKey() throws {
        let ann = try #require(try engine.resolve("ann@example.org").first).key
        #expect(ann.userIDs.map(\.text) == ["Ann <ann@example.org>"])
        #expect(ann.userIDs.map(\.name) == ["Ann"])
        #expect(ann.userIDs.map(\.email) == ["ann@example.org"])
        #expect(ann.userIDs.map(\.validity) == [.ultimate])
        #expect(ann.hasSecret && ann.canEncrypt && !ann.isRevoked && !ann.isExpired)
        #expect(ann.created == 1_577_836_800)
        #expect(ann.expires == nil)
        #expect(ann.subkeys.count == 3)
        #expect(ann.subkeys.allSatisfy { $0.hasSecret && $0.keygrip.count == 40 })
        let eve = try #require(try engine.resolve("eve@example.org").first).key
        #expect(eve.isExpired)
        let expiry = try #require(eve.expires)
        #expect(eve.encryptionState(at: expiry - 1) == .usable)
        #expect(eve.encryptionState(at: expiry) == .expired(since: expiry))
        #expect(try engine.resolve("rex@example.org").first?.encryptionState(at: 0) == .revoked)
        #expect(try engine.resolve("dis@example.org").first?.encryptionState(at: 0) == .disabled)
        #expect(try engine.resolve("sig@example.org").first?.encryptionState(at: 0) == .notForEncryption)
    }

    @Test func missingAndAmbiguousNamesSaySo() throws {
        for line in [
            "nobody@example.org", "deadbeefdeadbeef", "Nobody at all", "", "--version", "-r",
        ] {
            let error = #expect(throws: OpenPGPError.self) { try engine.resolve(line) }
            #expect(error?.code == .missingKey, "\(line)")
            #expect(error?.subject == line)
            #expect(error?.message == "there is no key for \(line) in the keyring")
        }
        let part = #expect(throws: OpenPGPError.self) { try engine.resolve("nn@example.org") }
        #expect(part?.code == .missingKey && part?.message.contains("gpg finds Joann") == true)
        let error = #expect(throws: OpenPGPError.self) { try engine.resolve("example.org") }
        #expect(error?.code == .ambiguousKey)
    }

    /// Two usable keys with one address, both as valid: anybody could have made one of them.
    @Test func ofTwoKeysWithOneAddressNoneIsTaken() throws {
        let error = #expect(throws: OpenPGPError.self) { try engine.resolve("twin@example.org") }
        #expect(error?.code == .ambiguousKey)
        let both = try engine.keys(matching: ["=twin@example.org", "twin@example.org"], secretOnly: false)
        #expect(both.count == 2)
        for key in both { #expect(error?.message.contains(key.fingerprint.description) == true) }
    }

    @Test func groupsGiveTheirMembers() throws {
        #expect(Set(try engine.resolve("Team").map(\.key.fingerprint)) == [keys.ann, keys.bob])
        #expect(Set(try engine.resolve("team").map(\.named)) == ["ann@example.org", "bob@example.org"])
        let error = #expect(throws: OpenPGPError.self) { try engine.resolve("nobody") }
        #expect(error?.subject == "nobody@example.org")
    }

    @Test func groupListingsAreRead() {
        let listing = "cfg:version:2\ncfg:group:a b:x;y%3az\ncfg:group:A b:w\ncfg:group\n"
        #expect(GnuPG.groups(inListing: listing) == ["a b": ["x", "y:z", "w"]])
        #expect(GnuPG.groups(inListing: "") == [:])
    }

    @Test func answersAreRememberedUntilTheKeyringChanges() throws {
        let home = try TestHome()
        defer { home.remove() }
        let first = try home.makeKey("New <new@example.org>")
        let engine = try home.engine
        #expect(try engine.resolve("new@example.org").first?.key.fingerprint == first)
        let clock = ContinuousClock()
        let listing = try clock.measure {
            _ = try engine.keys(matching: ["new@example.org"], secretOnly: false)
        }
        let remembered = try clock.measure {
            for _ in 0..<100 { _ = try engine.resolve("new@example.org") }
            for _ in 0..<100 { _ = try? engine.resolve("nobody@example.org") }
        }
        #expect(remembered < listing * 25, "a listing each time would take 100 times as long as one")
        #expect(throws: OpenPGPError.self) { try engine.resolve("late@example.org") }
        let late = try home.makeKey("Late <late@example.org>")
        #expect(try engine.resolve("late@example.org").first?.key.fingerprint == late)
        try File.write("group new@example.org = late@example.org\n", to: "\(home.path)/gpg.conf")
        #expect(try engine.resolve("new@example.org").first?.key.fingerprint == late)
    }

    @Test func listingImportAndExport() throws {
        #expect(try engine.keys(matching: [], secretOnly: false).count == 9)
        #expect(try engine.keys(matching: ["no such key"], secretOnly: false).isEmpty)
        let two = try engine.keys(
            matching: [keys.ann.description, "ann@example.org", "no such key"], secretOnly: true)
        #expect(Set(two.map(\.fingerprint)) == [keys.ann, keys.joann])
        let exported = try engine.exportKeys([keys.ann, keys.bob])
        #expect(exported.starts(with: Array("-----BEGIN PGP PUBLIC KEY BLOCK-----".utf8)))
        let other = try TestHome()
        defer { other.remove() }
        let otherEngine = try other.engine
        #expect(Set(try otherEngine.importKeys(exported)) == [keys.ann, keys.bob])
        #expect(Set(try otherEngine.importKeys(exported)) == [keys.ann, keys.bob])
        #expect(try otherEngine.keys(matching: [], secretOnly: false).allSatisfy { !$0.hasSecret })
        #expect(throws: OpenPGPError.self) { try otherEngine.importKeys(Array("no key".utf8)) }
        let missing = try #require(Fingerprint(String(repeating: "0", count: 40)))
        #expect(throws: OpenPGPError.self) { try engine.exportKeys([keys.ann, missing]) }
    }

    @Test func fingerprintsAreReadStrictly() {
        let digits = String(repeating: "aB", count: 20)
        #expect(Fingerprint(digits)?.description == digits.uppercased())
        #expect(Fingerprint("0x" + digits)?.keyID == 0xABAB_ABAB_ABAB_ABAB)
        for text in [
            "", "ab", digits + "0", String(digits.dropLast()), String(digits.dropLast()) + "g", digits + "!",
        ] {
            #expect(Fingerprint(text) == nil)
        }
    }
}
