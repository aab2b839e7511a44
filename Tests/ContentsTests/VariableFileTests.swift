import Contents
import System
import Testing

@Suite struct VariableFileTests {
    /// Name and value of each variable; the value of a reference is what stands for it, between `<` and `>`.
    private func read(_ text: String) throws -> [String] {
        try text.withBytes { try VariableFile.read($0) }.map { variable in
            let value = try variable.value { reference in
                try SecretBytes.of("<\(reference.target.path) passdir://no/reference ${A}>")
            }.text
            return "\(variable.name)=" + value.replacing(" passdir://no/reference ${A}", with: "")
        }
    }

    @Test func linesAreRead() throws {
        let text = """
            # A comment with passdir://work/none, and 'quotes

            A=plain text   # comment
             export B = a#b 'c' "d"
            C=
            D=   # nothing
            E='single "$A" ${A} \\n # text' # comment
            F="double \\"q\\" \\\\ \\$A \\n \\x ' #"
            G='two
            lines'
            spring.data-source_1="passdir://work/a b"
            H=postgres://me:passdir://{work/b#first}@host/x passdir://work/c?otp
            I='passdir://{work/q'"q}'
            J=passdir://work/d=e
            """
        #expect(
            try read(text) == [
                "A=plain text", "B=a#b 'c' \"d\"", "C=", "D=", "E=single \"$A\" ${A} \\n # text",
                "F=double \"q\" \\ $A \n \\x ' #", "G=two\nlines", "spring.data-source_1=<a> b",
                "H=postgres://me:<b>@host/x <c>", "I=<q'\"q>", "J=<d=e>",
            ])
        #expect(try read("").isEmpty && read("\n#").isEmpty)
        #expect(try read("A=1\r\nB=2\r\nexport=3") == ["A=1", "B=2", "export=3"])
    }

    @Test(arguments: [
        ("A=1\nsecret", "line 2 is no NAME=VALUE"), ("=secret", "line 1 is no NAME=VALUE"),
        ("1A=secret", "line 1 is no NAME=VALUE"), ("A B=secret", "line 1 is no NAME=VALUE"),
        ("A='x\n\n'\nB='secret", "line 4 has a quote that is never closed"),
        ("A=\"secret\\\"", "line 1 has a quote that is never closed"),
        ("A=\"x\n\" secret", "line 2 has text behind a closing quote"),
        ("A='secret\\'", "line 1 has a backslash before a single quote: use double quotes"),
        ("A=secret${B}", "line 1 has ${, and no variable is put in here: write it in single quotes"),
        ("A=\"\n${B}\"", "line 2 has ${, and no variable is put in here: write it in single quotes"),
        ("A='secret\0'", "line 1 has a NUL, which no variable can hold"),
        (
            "A=passdir://work",
            "the reference passdir://work in line 1 names no secret: it wants a store, a slash and a path"
        ),
    ])
    func whatIsUnclearIsRefused(text: String, sentence: String) {
        #expect(failure { _ = try read(text) } == ContentsError(.invalid, sentence))
    }

    @Test func anArgumentIsAReferenceOnly() throws {
        let variable = try VariableTemplate(argument: "A_1=passdir://work/a=b#x=y")
        #expect(variable.name == "A_1")
        #expect(
            try variable.value { try SecretBytes.of("\($0.target)\n") }.text.hasSuffix("field(\"x=y\"))\n"))
        for (argument, sentence) in [
            ("A", "\"A\" is no NAME=REFERENCE"), ("=passdir://a/b", "\"\" cannot be the name of a variable"),
            ("A=secret", "the value of A is no reference, as passdir://STORE/PATH#first is one"),
            ("A=x passdir://a/b", "the value of A is no reference, as passdir://STORE/PATH#first is one"),
            (
                "A=passdir://a/b c",
                "the reference in the value of A ends before \" \": write passdir://{a/b c}"
            ),
            (
                "A=passdir://t/R&D#first",
                "the reference in the value of A ends before \"&\": write passdir://{t/R&D#first}"
            ),
            (
                "A=passdir://private/ünï",
                "the reference in the value of A ends before \"ü\": write passdir://{private/ünï}"
            ),
            (
                "A=passdir://{a/b}#first",
                "the reference in the value of A ends before \"#\": write passdir://{a/b#first}"
            ),
            ("A=passdir://a/b {c}", "the reference in the value of A ends before \" \""),
        ] {
            #expect(
                failure { _ = try VariableTemplate(argument: argument) } == ContentsError(.invalid, sentence))
        }
    }

    @Test func aValueThatNoVariableHoldsIsRefused() throws {
        let variables = try "\nA=x\nB=passdir://work/a".withBytes { try VariableFile.read($0) }
        #expect(
            failure { _ = try variables[1].value { _ in try SecretBytes.of("secret\0") } }
                == ContentsError(
                    .cannotHold,
                    "the value of passdir://work/a in line 3 has a NUL, which no variable can hold"))
        #expect(
            failure { _ = try variables[1].value { _ in throw ContentsError(.missing, "it is away") } }
                == ContentsError(
                    .missing, "there is no value for passdir://work/a in line 3: it is away"))
    }

    /// Other readers make the same of what is read here.
    @Test func pythonReadsTheSame() throws {
        let text = """
            # comment
            A=plain text   # comment
            export B=a#b
            C=
            E='single "$A" \\n # text' # comment
            F="double \\"q\\" \\\\ \\n ' #"
            G='two
            lines'
            """
        let script = """
            import io, sys, dotenv
            for name, value in dotenv.dotenv_values(stream=io.StringIO(sys.stdin.read())).items():
                print(name + "=" + value, end="\\0")
            """
        let theirs = try run(["python3", "-c", script], input: Array(text.utf8))
        #expect(try read(text).map { $0 + "\0" }.joined() == theirs)
    }
}
