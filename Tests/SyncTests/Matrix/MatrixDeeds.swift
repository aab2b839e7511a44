import Glibc

/// What one machine does in a cell of the matrix: steps, each committed by itself.
struct MatrixDeed: Sendable {
    /// What lies in the cell at first, where a deed needs it.
    enum Need: CaseIterable {
        case a, b, crlf, binary, empty, dotted, plain, program, folder, otherFolder, link, list
    }

    let name: String
    let needs: Set<Need>
    let steps: [@Sendable (MatrixHand) throws -> Void]

    init(_ name: String, _ needs: Need..., steps: (@Sendable (MatrixHand) throws -> Void)...) {
        (self.name, self.needs, self.steps) = (name, Set(needs), steps)
    }
}

extension MatrixHand {
    /// Makes what deeds need.
    func begin(_ needs: Set<MatrixDeed.Need>) throws {
        if needs.contains(.list) { try plain(".gpg-id", text(Array(keys[0..<2]))) }
        for need in MatrixDeed.Need.allCases where needs.contains(need) {
            switch need {
            case .list: break
            case .a: try save("a", text(lines("a")))
            case .b: try save("b", text(lines("b")))
            case .crlf: try save("crlf", text(lines("crlf"), "\r\n"))
            case .binary: try save("bin", binary("bin"))
            case .empty: try save("empty", "")
            case .dotted: try save("k.gpg", text(lines("k.gpg")))
            case .plain: try plain("n", text(lines("n")))
            case .program: try plain("run", text(lines("run")), mode: 0o755)
            case .folder:
                for name in ["d/x", "d/y", "d/sub/z"] { try save(name, text(lines(name))) }
            case .otherFolder:
                for name in ["e/x", "e/w"] { try save(name, text(lines(name))) }
            case .link: try link("l.gpg", to: "a.gpg")
            }
        }
    }
}

extension MatrixDeed {
    static let all: [MatrixDeed] = contents + names + folders + shapes + links + plainFiles + lists

    private static let contents = [
        MatrixDeed("edit the first line", .a, steps: { try $0.edit("a", 0) }),
        MatrixDeed("edit the last line", .a, steps: { try $0.edit("a", 4) }),
        MatrixDeed("write anew", .a, steps: { try $0.save("a", $0.own("a")) }),
        MatrixDeed("make CRLF of it", .a, steps: { try $0.save("a", $0.text($0.lines("a"), "\r\n")) }),
        MatrixDeed("make it binary", .a, steps: { try $0.save("a", $0.binary("a")) }),
        MatrixDeed("empty it", .a, steps: { try $0.save("a", "") }),
        MatrixDeed("edit twice", .a, steps: { try $0.edit("a", 0) }, { try $0.save("a", $0.own("a")) }),
        MatrixDeed(
            "edit and take back", .a, steps: { try $0.edit("a", 2) },
            { try $0.save("a", $0.text($0.lines("a"))) }),
        MatrixDeed(
            "edit a CRLF text", .crlf,
            steps: { try $0.save("crlf", $0.changed("crlf", 0).replacing("\n", with: "\r\n")) }),
        MatrixDeed(
            "edit a CRLF text's end", .crlf,
            steps: { try $0.save("crlf", $0.changed("crlf", 4).replacing("\n", with: "\r\n")) }),
        MatrixDeed("write a binary anew", .binary, steps: { try $0.save("bin", $0.binary("bin")) }),
        MatrixDeed("fill an empty one", .empty, steps: { try $0.save("empty", $0.own("empty")) }),
        MatrixDeed("edit k.gpg", .dotted, steps: { try $0.edit("k.gpg", 0) }),
        MatrixDeed("remove", .a, steps: { try $0.remove("a.gpg") }),
        MatrixDeed("edit, then remove", .a, steps: { try $0.edit("a", 1) }, { try $0.remove("a.gpg") }),
        MatrixDeed(
            "remove and make anew", .a, steps: { try $0.remove("a.gpg") }, { try $0.save("a", $0.own("a")) }),
        MatrixDeed("make c", steps: { try $0.save("c", $0.own("c")) }),
    ]

    private static let names = [
        MatrixDeed("rename a to c", .a, steps: { try $0.rename("a.gpg", to: "c.gpg") }),
        MatrixDeed("rename a to A", .a, steps: { try $0.rename("a.gpg", to: "A.gpg") }),
        MatrixDeed("rename a over b", .a, .b, steps: { try $0.rename("a.gpg", to: "b.gpg") }),
        MatrixDeed("rename b over a", .a, .b, steps: { try $0.rename("b.gpg", to: "a.gpg") }),
        MatrixDeed("rename a into d", .a, .folder, steps: { try $0.rename("a.gpg", to: "d/a.gpg") }),
        MatrixDeed(
            "rename, then edit", .a, steps: { try $0.rename("a.gpg", to: "c.gpg") },
            { try $0.edit("c", of: "a", 0) }),
        MatrixDeed(
            "edit, then rename", .a, steps: { try $0.edit("a", 0) }, { try $0.rename("a.gpg", to: "c.gpg") }),
        MatrixDeed(
            "rename and edit at once", .a,
            steps: {
                try $0.rename("a.gpg", to: "c.gpg"); try $0.edit("c", of: "a", 0)
            }),
        MatrixDeed(
            "there and back", .a, steps: { try $0.rename("a.gpg", to: "c.gpg") },
            {
                try $0.rename("c.gpg", to: "a.gpg"); try $0.edit("a", 0)
            }),
        MatrixDeed(
            "b takes the name of a", .a, .b,
            steps: {
                try $0.rename("a.gpg", to: "c.gpg"); try $0.rename("b.gpg", to: "a.gpg")
            }),
        MatrixDeed("rename k.gpg to k", .dotted, steps: { try $0.rename("k.gpg.gpg", to: "k.gpg") }),
        MatrixDeed("rename a to a.gpg", .a, steps: { try $0.rename("a.gpg", to: "a.gpg.gpg") }),
        MatrixDeed("rename a to k.gpg", .a, .dotted, steps: { try $0.rename("a.gpg", to: "k.gpg.gpg") }),
        MatrixDeed("rename an empty one", .empty, steps: { try $0.rename("empty.gpg", to: "c.gpg") }),
        MatrixDeed("rename a binary", .binary, steps: { try $0.rename("bin.gpg", to: "c.gpg") }),
        MatrixDeed("exchange a and b", .a, .b, steps: { try $0.exchange("a.gpg", "b.gpg") }),
        MatrixDeed(
            "exchange, then edit", .a, .b, steps: { try $0.exchange("a.gpg", "b.gpg") },
            { try $0.edit("a", of: "b", 0) }),
        MatrixDeed("copy a to c", .a, steps: { try $0.copy("a.gpg", to: "c.gpg") }),
        MatrixDeed("copy a to b's name", .a, .b, steps: { try $0.copy("a.gpg", to: "b.gpg") }),
        MatrixDeed(
            "copy and edit the copy", .a, steps: { try $0.copy("a.gpg", to: "c.gpg") },
            { try $0.edit("c", of: "a", 4) }),
        MatrixDeed(
            "copy and edit the original", .a, steps: { try $0.copy("a.gpg", to: "c.gpg") },
            { try $0.edit("a", 4) }),
        MatrixDeed(
            "copy and remove the original", .a, steps: { try $0.copy("a.gpg", to: "c.gpg") },
            { try $0.remove("a.gpg") }),
    ]

    private static let folders = [
        MatrixDeed("edit in d", .folder, steps: { try $0.edit("d/x", 0) }),
        MatrixDeed("add to d", .folder, steps: { try $0.save("d/new", $0.own("new")) }),
        MatrixDeed("remove d", .folder, steps: { try $0.removeFolder("d") }),
        MatrixDeed("rename d to g", .folder, steps: { try $0.rename("d", to: "g") }),
        MatrixDeed(
            "rename d to g, then edit", .folder, steps: { try $0.rename("d", to: "g") },
            { try $0.edit("g/x", of: "d/x", 4) }),
        MatrixDeed("rename d to d.gpg", .folder, steps: { try $0.rename("d", to: "d.gpg") }),
        MatrixDeed("move d into e", .folder, .otherFolder, steps: { try $0.rename("d", to: "e/d") }),
        MatrixDeed("move e into d", .folder, .otherFolder, steps: { try $0.rename("e", to: "d/e") }),
        MatrixDeed("exchange d and e", .folder, .otherFolder, steps: { try $0.exchange("d", "e") }),
        MatrixDeed(
            "exchange d and its sub", .folder,
            steps: {
                try $0.rename("d/sub", to: "s"); try $0.rename("d", to: "s/d")
            }),
        MatrixDeed(
            "the name of d comes back", .folder,
            steps: {
                try $0.rename("d", to: "old"); try $0.save("d/x", $0.own("d/x"))
            }),
        MatrixDeed(
            "e takes the name of d", .folder, .otherFolder,
            steps: {
                try $0.removeFolder("d"); try $0.rename("e", to: "d")
            }),
        MatrixDeed(
            "move d/x over e/x", .folder, .otherFolder, steps: { try $0.rename("d/x.gpg", to: "e/x.gpg") }),
        MatrixDeed("copy d to g", .folder, steps: { try $0.copy("d", to: "g") }),
        MatrixDeed("make a folder g", steps: { try $0.save("g/x", $0.own("g/x")) }),
    ]

    private static let shapes = [
        MatrixDeed(
            "a becomes a folder", .a,
            steps: {
                try $0.remove("a.gpg"); try $0.save("a.gpg/x", $0.own("x"))
            }),
        MatrixDeed(
            "a becomes a link", .a, .b,
            steps: {
                try $0.remove("a.gpg"); try $0.link("a.gpg", to: "b.gpg")
            }),
        MatrixDeed(
            "d becomes a file", .folder,
            steps: {
                try $0.removeFolder("d"); try $0.plain("d", $0.own("d"))
            }),
        MatrixDeed(
            "d becomes a link", .folder, .otherFolder,
            steps: {
                try $0.removeFolder("d"); try $0.link("d", to: "e")
            }),
        MatrixDeed(
            "d/x becomes a folder", .folder,
            steps: {
                try $0.remove("d/x.gpg"); try $0.save("d/x.gpg/deep/y", $0.own("y"))
            }),
        MatrixDeed(
            "n becomes a folder", .plain,
            steps: {
                try $0.remove("n"); try $0.save("n/x", $0.own("x"))
            }),
        MatrixDeed("exchange n and d", .plain, .folder, steps: { try $0.exchange("n", "d") }),
        MatrixDeed("exchange a and d", .a, .folder, steps: { try $0.exchange("a.gpg", "d") }),
        MatrixDeed("make a folder c.gpg", steps: { try $0.save("c.gpg/x", $0.own("x")) }),
        MatrixDeed("make a folder c", steps: { try $0.save("c/x", $0.own("x")) }),
        MatrixDeed("make a file c", steps: { try $0.plain("c", $0.own("c")) }),
        MatrixDeed("make a file g", steps: { try $0.plain("g", $0.own("g")) }),
    ]

    private static let links = [
        MatrixDeed("make a link c.gpg", .a, steps: { try $0.link("c.gpg", to: "a.gpg") }),
        MatrixDeed("make a link c", .folder, steps: { try $0.link("c", to: "d") }),
        MatrixDeed("make a link g", .folder, steps: { try $0.link("g", to: "d") }),
        MatrixDeed("remove a link", .a, .link, steps: { try $0.remove("l.gpg") }),
        MatrixDeed(
            "lead a link elsewhere", .a, .b, .link,
            steps: {
                try $0.remove("l.gpg"); try $0.link("l.gpg", to: "b.gpg")
            }),
        MatrixDeed(
            "lead a link to nothing", .a, .link,
            steps: {
                try $0.remove("l.gpg"); try $0.link("l.gpg", to: "none")
            }),
        MatrixDeed("rename a link", .a, .link, steps: { try $0.rename("l.gpg", to: "c.gpg") }),
        MatrixDeed(
            "a link becomes a secret", .a, .link,
            steps: {
                try $0.remove("l.gpg"); try $0.save("l", $0.own("l"))
            }),
    ]

    private static let plainFiles = [
        MatrixDeed("edit n", .plain, steps: { try $0.plain("n", $0.changed("n", 0)) }),
        MatrixDeed("edit the end of n", .plain, steps: { try $0.plain("n", $0.changed("n", 4)) }),
        MatrixDeed("make n binary", .plain, steps: { try $0.plain("n", $0.binary("n")) }),
        MatrixDeed("make n executable", .plain, steps: { try $0.mode("n", 0o755) }),
        MatrixDeed(
            "make n executable and edit", .plain, steps: { try $0.mode("n", 0o755) },
            { try $0.plain("n", $0.changed("n", 2)) }),
        MatrixDeed("make run a plain file", .program, steps: { try $0.mode("run", 0o644) }),
        MatrixDeed("edit run", .program, steps: { try $0.plain("run", $0.changed("run", 0)) }),
        MatrixDeed("write run anew", .program, steps: { try $0.plain("run", $0.own("run")) }),
        MatrixDeed("make a executable", .a, steps: { try $0.mode("a.gpg", 0o755) }),
        MatrixDeed("remove n", .plain, steps: { try $0.remove("n") }),
        MatrixDeed("rename n", .plain, steps: { try $0.rename("n", to: "o") }),
        MatrixDeed("rename n to c.gpg", .plain, steps: { try $0.rename("n", to: "c.gpg") }),
    ]

    private static let lists = [
        MatrixDeed("add a recipient", .a, .b, .list, steps: { try $0.recipients("", $0.keys, ["a", "b"]) }),
        MatrixDeed(
            "take a recipient out", .a, .b, .list, steps: { try $0.recipients("", [$0.keys[0]], ["a", "b"]) }),
        MatrixDeed("give d a list", .folder, steps: { try $0.recipients("d/", $0.keys, ["x", "y"]) }),
        MatrixDeed("take the list away", .list, steps: { try $0.remove(".gpg-id") }),
    ]
}
