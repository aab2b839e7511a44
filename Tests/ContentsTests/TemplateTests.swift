import Contents
import System
import Testing

@Suite struct TemplateTests {
    private func template(_ text: String) throws -> Template { try text.withBytes { try Template($0) } }

    private func render(
        _ text: String, for kind: Escaping = .raw, _ values: [String: String] = [:]
    ) throws -> String {
        try template(text).render(for: kind) { reference in
            guard let value = values[reference.target.path] else {
                throw ContentsError(.missing, "nothing is called \(reference.target.path)")
            }
            return try SecretBytes.of(value)
        }.text
    }

    @Test func referencesAreRead() throws {
        let text = """
            a=passdir://work/web/me@example.org
            b="passdir://work/a#user", passdir://work/a?otp;'passdir://x/y#first'
            c=passdir://work/with%20space#two%20words) (passdir://{my store/p:q, "r"#a b})passdir://x/%7Bz%7D#First
            mypassdir://no/reference Bearerpassdir://{x/y?otp}z
            """
        let references = try template(text).references
        let targets: [(String, String, TemplateReference.Part, Int)] = [
            ("work", "web/me@example.org", .whole, 1), ("work", "a", .field("user"), 2),
            ("work", "a", .oneTimeCode, 2),
            ("x", "y", .first, 2), ("work", "with space", .field("two words"), 3),
            ("my store", "p:q, \"r\"", .field("a b"), 3), ("x", "{z}", .field("First"), 3),
            ("x", "y", .oneTimeCode, 4),
        ]
        try #require(references.count == targets.count)
        for (reference, expected) in zip(references, targets) {
            #expect(reference.target.store == expected.0)
            #expect(reference.target.path == expected.1)
            #expect(reference.target.part == expected.2)
            #expect(reference.line == expected.3)
            #expect(text[reference.range] == reference.text)
        }
        #expect(references[0].range == 2..<35)
    }

    @Test(arguments: [
        (
            "\npassdir://work",
            "the reference passdir://work in line 2 names no secret: it wants a store, a slash and a path"
        ),
        (
            "passdir://work/",
            "the reference passdir://work/ in line 1 names no secret: it wants a store, a slash and a path"
        ),
        (
            "passdir:///a",
            "the reference passdir:///a in line 1 names no secret: it wants a store, a slash and a path"
        ),
        (
            "passdir://",
            "the reference passdir:// in line 1 names no secret: it wants a store, a slash and a path"
        ),
        ("passdir://a/b#", "the reference passdir://a/b# in line 1 names no field"),
        ("passdir://a/b?x", "the reference passdir://a/b?x in line 1 asks for something else than ?otp"),
        ("passdir://a/%00", "the reference passdir://a/%00 in line 1 holds a NUL"),
        (
            "passdir://a/%ff",
            "the reference passdir://a/%ff in line 1 has a percent sign that stands for no character, or is no UTF-8"
        ),
        (
            "passdir://a/%4",
            "the reference passdir://a/%4 in line 1 has a percent sign that stands for no character, or is no UTF-8"
        ),
        ("x\ny passdir://{a/b\n}", "the reference passdir://{ in line 2 has no closing brace in its line"),
        ("passdir://{", "the reference passdir://{ in line 1 has no closing brace in its line"),
        (
            "\npassdir://{a/b}#first",
            "the reference passdir://{a/b} in line 2 ends before \"#\": what belongs to it stands inside the braces, "
                + "as in passdir://{a/b#first}"
        ),
        (
            "passdir://{a/b}?otp",
            "the reference passdir://{a/b} in line 1 ends before \"?\": what belongs to it stands inside the braces, "
                + "as in passdir://{a/b?otp}"
        ),
    ])
    func wrongReferencesAreErrors(_ text: String, _ sentence: String) {
        #expect(failure { _ = try template(text) } == ContentsError(.invalid, sentence))
    }

    /// The rest of a name would be printed as text, behind another secret.
    @Test(arguments: [
        ("passdir://t/R&D#first", "&"), ("passdir://t/Rü#first", "ü"), ("'passdir://t/O'Neil'", nil),
        ("passdir://t/R'Neil", "'"), ("\"it's passdir://t/R'Neil\"", "'"), ("passdir://t/R(x)", "("),
        ("passdir://t/R[0]", "["),
        ("passdir://t/R\\n", "\\"), ("passdir://t/R^", "^"), ("passdir://t/R|D", "|"),
        ("passdir://t/R{x}", "{"),
        ("passdir://t/R,D", ","), ("passdir://t/R,#first", ","), ("passdir://t/R>?otp", ">"),
        ("passdir://t/R;1", ";"), ("passdir://t/R&é", "&"), ("passdir://t/R\u{a0}x", "\u{a0}"),
        ("passdir://t/R\u{1}", "\u{1}"), ("\"\npassdir://t/R\"D", "\""), ("<p>passdir://t/R<b/>", "<"),
        ("\"passdir://t/R\",", nil), ("[\"passdir://t/R\",\"passdir://t/R\"]", nil),
        ("<p>passdir://t/R</p>", nil),
        ("A=\"passdir://t/R\"; B", nil), ("A=\"passdir://t/R\"B", nil), ("passdir://t/R,passdir://t/R;", nil),
        ("(passdir://t/R)", nil), ("{a: passdir://t/R}", nil), ("`passdir://t/R`", nil),
        ("passdir://t/R|", nil),
        ("passdir://t/R&&x", nil), ("passdir://t/R\tx\npassdir://t/R", nil), ("passdir://{t/R}&D", nil),
    ])
    func aNameIsNotCutShort(_ text: String, _ character: String?) throws {
        let error = failure { _ = try template(text) }
        guard let character else {
            #expect(error == nil)
            return
        }
        let name = character == "\u{1}" ? "\\u{1}" : character
        #expect(error?.code == .invalid)
        let sentence =
            " ends before \"\(name)\": write passdir://{t/R} if it is to end there, and passdir://{…} around the whole "
            + "name if it is not"
        #expect(error?.message.hasPrefix("the reference passdir://t/R in line ") == true)
        #expect(error?.message.hasSuffix(sentence) == true, "\(error?.message ?? "")")
    }

    @Test func valuesArePutInOnce() throws {
        #expect(
            try render("passdir://s/a,passdir://s/b.", ["a": "passdir://s/b", "b.": "passdir://{", "b": "x"])
                == "passdir://s/b,passdir://{")
        #expect(try render("no reference") == "no reference")
        #expect(try render("") == "")
    }

    @Test func aTargetIsResolvedOnce() throws {
        var asked: [String] = []
        let result = try template("passdir://s/a passdir://s/a#x passdir://{s/a}").render(for: .raw) {
            asked.append($0.text)
            return try SecretBytes.of("\(asked.count)")
        }
        #expect(result.text == "1 2 1")
        #expect(asked == ["passdir://s/a", "passdir://s/a#x"])
    }

    @Test func aMissingReferenceFailsTheWhole() {
        #expect(
            failure { _ = try render("a\npassdir://s/a\npassdir://s/none", ["a": "x"]) }
                == ContentsError(
                    .missing, "there is no value for passdir://s/none in line 3: nothing is called none"))
    }

    @Test func bytesOfTheTemplateStay() throws {
        let bytes: [UInt8] = [0, 0xff, 0x0d, 0x0a] + Array("passdir://{s/a}".utf8) + [0xfe]
        let result = try bytes.withUnsafeBytes { try Template($0) }.render(for: .raw) { _ in
            try SecretBytes.of([0, 0xc0])
        }
        #expect(result.array == [0, 0xff, 0x0d, 0x0a, 0, 0xc0, 0xfe])
    }

    @Test func kindsAreKnownByNames() {
        let names: [(String, Escaping)] = [
            (".env", .dotenv), ("prod.env", .dotenv), (".env.local", .dotenv), ("a/b/.env.tpl", .dotenv),
            ("x.JSON", .json), ("x.yaml", .yaml), ("x.yml.tmpl", .yaml), ("x.sh", .shell), ("x.ini", .ini),
            ("x.cfg", .ini), ("x.conf", .ini), ("x.xml", .xml), ("x", .raw), ("json", .raw), ("", .raw),
            ("x.tpl", .raw), ("x.json/y", .raw), (".envrc", .raw),
        ]
        for (name, kind) in names { #expect(Escaping(fileName: name) == kind, "\(name)") }
        #expect(Escaping(rawValue: "shell") == .shell)
    }
}
