import Stores
import SystemPackage
import Testing

@testable import Mount

/// By whose rules a second version of a secret is judged.
@Suite struct JudgedPlaceTests {
    private static let long = String(repeating: "L", count: 230)

    private static func cut(_ name: String) throws -> String {
        let conflict = ConflictName.path(beside: FilePath("\(name).gpg"), at: 0, attempt: 0)
        return try #require(conflict.lastComponent?.strippingSuffix()).string
    }

    private static func places(_ place: String, ruled: [String]) -> [String] {
        JudgedPlaces.of(place, ruled: { _ in ruled }, isRuled: ruled.contains)
    }

    /// A folder beside it changes the name by which a secret is shown, and who made the folder must not gain by that.
    @Test func aSecretIsJudgedByBothItsNames() throws {
        #expect(Self.places("work/a.gpg", ruled: []) == ["work/a.gpg", "work/a"])
        #expect(Self.places("work/a", ruled: ["work/a.gpg"]) == ["work/a", "work/a.gpg"])
        #expect(Self.places("work/a", ruled: ["work/a"]) == ["work/a"])
        #expect(Self.places("work/a.conflict-h-1Z.gpg", ruled: []).contains("work/a"))
    }

    @Test func aVersionIsJudgedAsItsSecret() throws {
        #expect(Self.places("work/a/b", ruled: []) == ["work/a/b"])
        #expect(Self.places("work/a/b.conflict-h-1Z", ruled: []) == ["work/a/b"])
        #expect(Self.places("work", ruled: []) == ["work"])
    }

    /// Holds:
    /// - Of a name that was cut, every secret with rules counts to which it may belong, whatever else lies or does not lie in the
    ///   folder; none counts that only begins alike.
    @Test func aCutVersionIsJudgedByAllRulesItMayBeUnder() throws {
        let (one, other) = (Self.long + "1", Self.long + "2")
        let conflict = try Self.cut(one)
        let stem = try #require(ConflictName.original(of: FilePath(conflict))).string
        let ruled = ["work/p/\(one)", "work/p/\(other)", "work/p/L", "work/q/\(one)", "work/p/\(one)/x"]
        let judged = JudgedPlaces.of(
            "work/p/\(conflict)",
            ruled: { folder in
                #expect(folder == "work/p")
                return ruled
            }, isRuled: { _ in false })
        #expect(judged == ["work/p/\(stem)", "work/p/\(one)", "work/p/\(other)"])
        // Long for another reason than that it was cut.
        let made = "a.conflict-\(String(repeating: "h", count: 233))-1Z"
        #expect(Self.places("work/p/\(made)", ruled: ["work/p/aws"]) == ["work/p/a"])
    }
}
