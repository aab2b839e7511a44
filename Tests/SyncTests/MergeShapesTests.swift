import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Two machines change the shape of the tree: copies, renames, folders, links and plain files of one name. Whatever they
/// do, nothing is stuck, both end equal, and every text is in the end somewhere on both.
@Suite(.serialized) struct MergeShapesTests {
    /// What one machine does. Secrets are written by what they hold.
    enum Step: Sendable, CustomTestStringConvertible {
        case save(String, String)
        case remove(String)
        case rename(String, String)
        case copy(String, String)
        case link(String, String)
        case plain(String, String)
        /// A secret in a folder by its name on disk, such as `sub.gpg/x`.
        case folder(String, String)

        var testDescription: String {
            switch self {
            case .save(let name, let text): "\(name)=\(text)"
            case .remove(let name): "rm \(name)"
            case .rename(let from, let to): "mv \(from) \(to)"
            case .copy(let from, let to): "cp \(from) \(to)"
            case .link(let name, let target): "ln -s \(target) \(name)"
            case .plain(let name, let text): "plain \(name)=\(text)"
            case .folder(let name, let text): "\(name)=\(text)"
            }
        }
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        var name: String
        var base: [Step] = []
        var one: [Step]
        var two: [Step]
        /// Texts that must be in a secret at the end.
        var kept: [String]
        var testDescription: String { name }
    }

    static let shapes: [Shape] = [
        Shape(
            name: "a copy, both edited, one removed and one renamed",
            base: [.save("a", "old"), .copy("a", "b")], one: [.save("a", "A"), .save("b", "B")],
            two: [.remove("b"), .rename("a", "c")], kept: ["A", "B"]),
        Shape(
            name: "a copy, both renamed, both edited",
            base: [.save("a", "old"), .copy("a", "b")], one: [.save("a", "A"), .save("b", "B")],
            two: [.rename("a", "x/c"), .rename("b", "x/d")], kept: ["A", "B"]),
        Shape(
            name: "two copied onto one name",
            base: [.save("a", "old")], one: [.rename("a", "c"), .save("b", "B")],
            two: [.save("a", "A"), .save("c", "C")], kept: ["A", "B", "C"]),
        Shape(
            name: "a folder against a link", one: [.save("d/x", "X"), .save("d/y", "Y")],
            two: [.save("t", "T"), .link("d", "t.gpg")], kept: ["X", "Y", "T"]),
        Shape(
            name: "a folder against a plain file", one: [.save("d/x", "X"), .save("d/y", "Y")],
            two: [.plain("d", "text")], kept: ["X", "Y"]),
        Shape(
            name: "a deep folder against a plain file",
            one: [.save("d/e/f/x", "X"), .save("d/e/y", "Y"), .save("d/z", "Z")],
            two: [.plain("d", "text")], kept: ["X", "Y", "Z"]),
        Shape(
            name: "a folder with .gpg against a secret",
            one: [.folder("s.gpg/x.gpg", "X"), .folder("s.gpg/y.gpg", "Y")],
            two: [.save("s", "S")], kept: ["X", "Y", "S"]),
        Shape(
            name: "a secret becomes a folder, and is edited", base: [.save("s", "old")],
            one: [.remove("s"), .folder("s.gpg/x.gpg", "X"), .folder("s.gpg/y.gpg", "Y")],
            two: [.save("s", "S")], kept: ["X", "Y", "S"]),
        Shape(
            name: "a folder becomes a plain file, and grows", base: [.save("d/x", "X"), .save("d/y", "Y")],
            one: [.remove("d/x"), .remove("d/y"), .plain("d", "text")],
            two: [.save("d/z", "Z"), .save("d/w", "W")], kept: ["Z", "W"]),
        Shape(
            name: "a folder becomes a plain file, nobody else cares",
            base: [.save("d/x", "X"), .save("d/y", "Y"), .save("k", "K")],
            one: [.remove("d/x"), .remove("d/y"), .plain("d", "text")], two: [.save("k", "K2")],
            kept: ["K2"]),
        Shape(
            name: "a secret moves into a folder of its name", base: [.save("s", "old")],
            one: [.rename("s", "s/s")], two: [.save("s", "S")], kept: ["S"]),
        Shape(
            name: "folders renamed onto each other", base: [.save("a/x", "AX"), .save("b/y", "BY")],
            one: [.rename("a/x", "b/x"), .save("b/y", "BY1")],
            two: [.rename("b/y", "a/y"), .save("a/x", "AX1")],
            kept: ["AX1", "BY1"]),
        Shape(
            name: "an empty secret renamed and edited", base: [.save("a", ""), .save("b", "")],
            one: [.rename("a", "c"), .rename("b", "d")], two: [.save("a", "A"), .save("b", "B")],
            kept: ["A", "B"]),
    ]

    private func perform(_ steps: [Step], on machine: Machine) throws {
        func disk(_ name: String) -> String { machine.path.pushing(FilePath(name)).string }
        for step in steps {
            switch step {
            case .save(let name, let text): try machine.write(name, text)
            case .remove(let name): try machine.git("rm", "-q", "--", name + ".gpg")
            case .rename(let from, let to):
                try machine.home.succeed(
                    ["sh", "-c", "mkdir -p \"$(dirname \(to))\" && mv \(from).gpg \(to).gpg"],
                    in: machine.path)
            case .copy(let from, let to):
                try machine.home.succeed(["cp", disk(from + ".gpg"), disk(to + ".gpg")])
            case .link(let name, let target): try machine.home.succeed(["ln", "-s", target, disk(name)])
            case .plain(let name, let text):
                try machine.home.succeed(["sh", "-c", "printf %s \(text) > \(name)"], in: machine.path)
            case .folder(let name, let text):
                try machine.write(String(name.dropLast(4)), text)
            }
            try machine.git("add", "-A")
        }
        if try !machine.dirt.isEmpty { try machine.git("commit", "-qm", "Change the shape") }
    }

    @Test(arguments: sampled(tableCases(shapes, [false, true]), 1))
    func nothingIsStuck(_ shape: Shape, rebases: Bool) async throws {
        for isTurned in [false, true] {
            try await TestHome.with { home in
                let machines = try home.machines(2) { $0.rebases = rebases }
                try perform(shape.base, on: machines[0])
                for machine in machines {
                    #expect(await machine.committer.synchronizeNow() == nil)
                }
                try perform(isTurned ? shape.two : shape.one, on: machines[0])
                try perform(isTurned ? shape.one : shape.two, on: machines[1])
                for machine in [machines[0], machines[1], machines[0]] {
                    #expect(await machine.committer.synchronizeNow() == nil)
                }
                let tip = try machines[0].git("rev-parse", "HEAD")
                for machine in machines {
                    #expect(try machine.git("rev-parse", "HEAD") == tip)
                    #expect(try machine.dirt == "")
                    try machine.git("fsck", "--strict")
                    let names = try machine.names
                    let texts = try names.map { try machine.read($0) ?? "" }
                    #expect(Set(texts).isSuperset(of: shape.kept), "\(names): \(texts)")
                }
            }
        }
    }
}
