import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// What is shown of each state and each version of a store is what git and gpg say of it.
@Suite struct PastEditsTests {
    /// `scripts/soak at COUNT` says how many.
    private static let count = getenv("PASSDIR_SOAK").flatMap { Int(String(cString: $0)) }
    private static let seed =
        getenv("PASSDIR_AT_SEED").flatMap { UInt64(String(cString: $0)) }
        ?? (count == nil ? 1 : UInt64.random(in: 2...99_999))

    /// What the model knows of a store: of each name the texts that its secret had, oldest first. Of a removed one they are kept, as a
    /// later secret of that name has them in its history.
    private struct Model {
        var texts: [String: [String]] = [:]
        var present: Set<String> = []
    }

    @Test func everyVersionIsWhatGitAndGpgSay() throws {
        try TestMount.withHistory { mount in
            if Self.count != nil { print("soak: seed \(Self.seed)") }
            var random = SeededGenerator(state: Self.seed)
            var model = Model()
            let folders = ["", "a/", "a/b/", "c.gpg/"]
            for folder in ["a", "a/b", "c.gpg"] { try mount.makeDirectory("work/\(folder)") }
            var commits: [String] = []
            for step in 0..<(Self.count ?? 12) {
                try Self.edit(mount, &model, folders, step, &random)
                commits.append(try mount.commit(at: Int64(step) * 600))
            }
            var plaintexts: [String: String] = [:]
            for (step, commit) in commits.enumerated() {
                let expected = try Self.expected(mount, commit, &plaintexts)
                let time = "@\(TestMount.firstTime + Int64(step) * 600 + 599)"
                let when = step % 2 == 0 ? commit : time
                let shown = try mount.tree(".passdir/at/\(when)/work").filter { !$0.key.hasSuffix("/") }
                #expect(shown == expected, "\(when), seed \(Self.seed)")
            }
            for name in model.present {
                let folder = ".passdir/history/work/\(name)"
                let texts = try mount.names(folder).map { try mount.read("\(folder)/\($0)") }
                #expect(texts == model.texts[name], "\(name), seed \(Self.seed)")
            }
        }
    }

    /// Saves, renames or removes a secret.
    private static func edit(
        _ mount: TestMount, _ model: inout Model, _ folders: [String], _ step: Int,
        _ random: inout SeededGenerator
    ) throws {
        func anyName() -> String {
            folders.randomElement(using: &random)! + "s\(Int.random(in: 0..<6, using: &random))"
        }
        let name = model.present.sorted().randomElement(using: &random) ?? anyName()
        switch Int.random(in: 0..<10, using: &random) {
        case 0 where model.present.contains(name):
            try mount.unlink("work/\(name)")
            model.present.remove(name)
        case 1...2 where model.present.contains(name):
            let other = anyName()
            guard model.texts[other] == nil else { fallthrough }
            try mount.rename("work/\(name)", "work/\(other)")
            model.present = model.present.subtracting([name]).union([other])
            model.texts[other] = model.texts[name]
        default:
            let saved = Bool.random(using: &random) ? name : anyName()
            let text = "text \(step) of \(saved)\n" + String(repeating: "x", count: step * 7 % 300)
            try mount.save(text, "work/\(saved)")
            model.present.insert(saved)
            model.texts[saved, default: []].append(text)
        }
    }

    /// What a commit holds, by names in the mount: each file as `git show` gives it, and a secret as gpg decrypts that.
    private static func expected(
        _ mount: TestMount, _ commit: String, _ plaintexts: inout [String: String]
    ) throws -> [String: String] {
        var expected: [String: String] = [:]
        for line in try mount.git(["ls-tree", "-r", commit]).split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            let (blob, path) = (String(parts[0].split(separator: " ")[2]), String(parts[1]))
            guard path.hasSuffix(".gpg") else {
                expected[path] = try mount.git(["show", "\(commit):\(path)"]) + "\n"
                continue
            }
            if plaintexts[blob] == nil {
                let ciphertext = try mount.keys.home.succeed(
                    ["git", "show", "\(commit):\(path)"], in: mount.disk("work"))
                let text = try mount.keys.home.succeed(["gpg", "--batch", "-q", "-d"], input: ciphertext)
                plaintexts[blob] = String(decoding: text, as: UTF8.self)
            }
            expected[String(path.dropLast(4))] = plaintexts[blob]
        }
        return expected
    }
}
