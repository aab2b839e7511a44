import Contents
import System
import Testing

/// Where in a file references stand, and what is made of them there.
@Suite struct EscapingPlaceTests {
    private static let value = "a'b\"c\\d$e`<&"

    private func render(_ text: String, _ kind: Escaping, _ value: String = value) throws -> String {
        try text.replacing("@", with: "passdir://{s/x}").withBytes { try Template($0) }.render(for: kind) {
            _ in
            try SecretBytes.of(value)
        }.text
    }

    @Test(arguments: [
        (Escaping.json, "{\"k\": @}", "{\"k\": \"a'b\\\"c\\\\d$e`<&\"}"),
        (.json, "{\"k\\\"\": \"x@y\"}", "{\"k\\\"\": \"xa'b\\\"c\\\\d$e`<&y\"}"),
        (.yaml, "k: @", "k: \"a'b\\\"c\\\\d$e`<&\""),
        (.yaml, "k: @ # @", "k: \"a'b\\\"c\\\\d$e`<&\" # passdir://{s/x}"),
        (.yaml, "- [x, @, {y: @}]", "- [x, \"a'b\\\"c\\\\d$e`<&\", {y: \"a'b\\\"c\\\\d$e`<&\"}]"),
        (.yaml, "k: 'it''s @'", "k: 'it''s a''b\"c\\d$e`<&'"),
        (.yaml, "k: \"\\\"@\"", "k: \"\\\"a'b\\\"c\\\\d$e`<&\""),
        (.yaml, "---\n- @\n", "---\n- \"a'b\\\"c\\\\d$e`<&\"\n"),
        (.yaml, "k: !!str @", "k: !!str \"a'b\\\"c\\\\d$e`<&\""),
        (.yaml, "a: b's c\nk: @", "a: b's c\nk: \"a'b\\\"c\\\\d$e`<&\""),
        (
            .yaml, "k: |\n  @\n\n  @\nl: @",
            "k: |\n  a'b\"c\\d$e`<&\n\n  a'b\"c\\d$e`<&\nl: \"a'b\\\"c\\\\d$e`<&\""
        ),
        (.yaml, "- k: |\n    @\n  l: @", "- k: |\n    a'b\"c\\d$e`<&\n  l: \"a'b\\\"c\\\\d$e`<&\""),
        (.yaml, "- |\n  @\n- @", "- |\n  a'b\"c\\d$e`<&\n- \"a'b\\\"c\\\\d$e`<&\""),
        (.shell, "X=@y", "X='a'\\''b\"c\\d$e`<&'y"),
        (.shell, "X='x@'", "X='xa'\\''b\"c\\d$e`<&'"),
        (.shell, "X=\"x\\\"@\" # @", "X=\"x\\\"a'b\\\"c\\\\d\\$e\\`<&\" # passdir://{s/x}"),
        (.shell, "\"${HOME}/$(id -u)\"@", "\"${HOME}/$(id -u)\"'a'\\''b\"c\\d$e`<&'"),
        (.ini, "[s]\nk = @", "[s]\nk = a'b\"c\\d$e`<&"),
        (.ini, "[s]\nk = \"@\"", "[s]\nk = \"a'b\\\"c\\\\d$e`<&\""),
        (.ini, "; @\n# @\nk: x@ y", "; passdir://{s/x}\n# passdir://{s/x}\nk: xa'b\"c\\d$e`<& y"),
        (.xml, "<a b='@'>@</a>", "<a b='a&#39;b&quot;c\\d$e`&lt;&amp;'>a&#39;b&quot;c\\d$e`&lt;&amp;</a>"),
        (
            .xml, "<a b=@ /><!-- @ > --><c>@</c>",
            "<a b=\"a&#39;b&quot;c\\d$e`&lt;&amp;\" /><!-- passdir://{s/x} > --><c>a&#39;b&quot;c\\d$e`&lt;&amp;</c>"
        ),
        (.raw, "# @", "# a'b\"c\\d$e`<&"),
    ])
    func valuesAreWrittenForTheirPlace(_ kind: Escaping, _ text: String, _ result: String) throws {
        #expect(try render(text, kind) == result)
    }

    @Test(arguments: [
        ("A=@", "x y", "A='x y'"), ("A=@ # @", "x\ny", "A='x\ny' # passdir://{s/x}"),
        ("export A=@\nB=@", "", "export A=''\nB=''"),
        ("A=@", "it's", "A=\"it's\""), ("A=@", "a\\\\b", nil), ("A=@", "a\\b\"", "A='a\\b\"'"),
        ("A=@", "it's\"", nil), ("A=@", "it's \\n", nil), ("A=@", "$x", "A='$x'"),
        ("A=\"x @\"", "y\"z", nil), ("A=\"x @\"", "y\\nz", nil), ("A=\"x @\"", "it's\n#", "A=\"x it's\n#\""),
        ("A='x @'", "$", nil), ("A='x @'", "$y", "A='x $y'"),
        ("# @\nA='it\\'s @'", "z", "# passdir://{s/x}\nA='it\\'s z'"),
        ("A=@", "it's $x", nil), ("A=@", "${x}", nil), ("A='@'", "it's", nil), ("A=\"@\"", "$x", nil),
        ("A=x@", "y", nil), ("A=\"$@\"", "{HOME}", nil), ("A='$@'", "{HOME}", nil), ("A=\"\\$@\"", "x", nil),
        ("A=\"$HOME@\"", "x", nil), ("A=\"${@}\"", "HOME", nil), ("A='${X:-@}'", "x", nil),
        ("A=\"$(echo @)\"", "x", nil),
        ("A=\"`echo @`\"", "x", nil), ("A=\"${HOME}:@\"", "x", "A=\"${HOME}:x\""),
        ("A='$a @'", "x", "A='$a x'"),
        ("A=@x @", "y", nil), ("@=x", "y", nil), ("A=@", "a\rb", nil), ("A=@", "a\0b", nil),
    ])
    func valuesOfVariables(_ text: String, _ value: String, _ result: String?) throws {
        if let result {
            #expect(try render(text, .dotenv, value) == result)
        } else {
            #expect(failure { _ = try render(text, .dotenv, value) }?.code == .cannotHold)
        }
    }

    @Test(arguments: [
        (Escaping.json, "\"\\@\"", "x"), (.yaml, "k: x@", "x"), (.yaml, "k: @ x", "x"),
        (.yaml, "k: @: x", "x"),
        (.yaml, "k: x\n  @", "x"), (.yaml, "k: x\n\n  y\n  @", "x"), (.yaml, "'@'", "a\nb"),
        (.yaml, "k: >\n  @", "a\nb"), (.yaml, "k: |\n  @", " a"),
        (.yaml, "k: |\n  @", "\n a"), (.yaml, "k: |\n  @", "a\u{85}b"), (.yaml, "k: !@", "x"),
        (.shell, "cat <<E\n@\nE", "x"), (.shell, "\"$(echo @)\"", "x"), (.shell, "`@`", "x"),
        (.shell, "$'@'", "x"), (.shell, "\"${x:-@}\"", "x"), (.shell, "\\@", "x"), (.shell, "X=@", "a\0b"),
        (.ini, "k = @", "a\nb"), (.ini, "k = @", " a"), (.ini, "k = @", "a\u{a0}"), (.ini, "k = @", "a\0b"),
        (.ini, "@ = x", "x"),
        (.ini, "[@]", "x"), (.ini, "k =\n  @", "#x"), (.ini, "k = \"@\"", "a\nb"),
        (.xml, "<![CDATA[@]]>", "x"), (.xml, "<?x @ ?>", "x"), (.xml, "<a>@</a>", "a\u{1}b"),
        (.xml, "<a>@</a>", "\u{ffff}"),
    ])
    func whatCannotBeHeldIsAnError(_ kind: Escaping, _ text: String, _ value: String) throws {
        let error = try #require(failure { _ = try render(text, kind, value) }, "\(text)")
        #expect(error.code == .cannotHold)
        #expect(error.message.hasPrefix("the value of passdir://{s/x} in line "))
    }

    /// With a value, each of these is code or another word for a shell, in quotes and without.
    @Test(arguments: [
        "PRICE=\"$@\"", "X=$@", "\"a$@\"", "\"\\\\$@\"", "\"$HOME$@\"", "\"$$@\"", "\"$HOME@\"", "\"$1@\"",
        "$$@",
        "\"$[@]\"", "$[@]", "((X = @))", "if ((1+@)); then", "let X=@", "let \"X=@\"", "if let X=1 Y=@; then",
        "Y=2 let X=@", "{ let X=@", "command let X=@", "\\let X=@", "let 2>&1 X=@", "let \\\nX=@",
        "a) let X=@",
        ">/dev/null let X=@", "f() { let X=@", "let X=$(id) Y=@", "true && let X=@", "true # it's\nlet X=@",
        "declare -i X=\"@\"", "typeset -i X=@", "local -i X=@", "readonly -i X=@", "export -i X=@",
        "declare -ri X=@",
        "declare -i X\nX=@", "declare -n X=@", "integer X=@", "declare \"@=1\"", "export \"x[@]=1\"",
        "declare @",
        "[[ 1 -eq @ ]]", "[[ -v \"@\" ]]", "[[ a < b && ( @ -eq 1 ) ]]", "[[\n@ -lt 1 ]]", "test -v @",
        "[ -v @ ]",
        "[ @ -eq 1 ]", "printf -v @ x", "printf -v\"@\" x", "unset \"a[@]\"", "read @", "a[@]=1", "a[ @ ]=1",
        "a=([@]=1)", "a=( [ @ ]=1)", "eval @", "eval \"echo @\"", "trap \"@\" EXIT", "source @", ". @",
        "bash -c \"echo @\"", "/bin/sh -ec \"@\"", "bash -c \\\n\"@\"", "X=$(case a in a) let X=@ ;; esac)",
        "echo a\\\n#it's\n@", "alias x=\"@\"", "declare -a 'x=(@)'", "f() { return @; }", "compgen -W \"@\"",
        "su me -c \"@\"",
    ])
    func whatAShellRunsHoldsNoReference(_ text: String) throws {
        let error = try #require(failure { _ = try render(text, .shell, "(touch PWNED)") }, "\(text)")
        #expect(error.code == .cannotHold)
        #expect(error.message.hasPrefix("the value of passdir://{s/x} in line "))
    }

    @Test(arguments: [
        ("\"\\$@\"", "\"\\$v\""), ("'$@'", "'$v'"), ("X=\\$@", "X=\\$'v'"), ("\"${HOME}@\"", "\"${HOME}v\""),
        ("$HOME@", "$HOME'v'"), ("\"$HOME/@\"", "\"$HOME/v\""), ("\"$\"@", "\"$\"'v'"),
        ("export X=\"@\" Y=@", "export X=\"v\" Y='v'"), ("declare -x X=@", "declare -x X='v'"),
        ("if [ -n @ ]; then", "if [ -n 'v' ]; then"), ("[ 1 -eq 2 ]; echo @", "[ 1 -eq 2 ]; echo 'v'"),
        ("[[ a == b ]] && echo @", "[[ a == b ]] && echo 'v'"),
        ("[[ a > b ]]; echo @", "[[ a > b ]]; echo 'v'"),
        ("for ((i=0; i<3; i++)); do echo @", "for ((i=0; i<3; i++)); do echo 'v'"), ("x[$i]=@", "x[$i]='v'"),
        ("a=(@ @\n@)", "a=('v' 'v'\n'v')"), ("echo let @", "echo let 'v'"),
        ("let X=1\nY=@", "let X=1\nY='v'"),
        ("let X=1; Y=@", "let X=1; Y='v'"), ("echo \\ #it's\n@", "echo \\ #it's\nv"),
        ("let X=1 # it's\nY=@", "let X=1 # it's\nY='v'"),
        ("bash -c 'echo \"$1\"' sh @", "bash -c 'echo \"$1\"' sh 'v'"), ("sh -e @", "sh -e 'v'"),
        ("declare -a x=(@)", "declare -a x=('v')"), ("bash --norc @", "bash --norc 'v'"),
        ("printf %s @", "printf %s 'v'"),
        ("curl -u \"me:@\" <x >y 2>&1 | cat @", "curl -u \"me:v\" <x >y 2>&1 | cat 'v'"),
        ("psql \\\n  -p @", "psql \\\n  -p 'v'"),
        ("case a in [Yy]*) X=@ ;; esac", "case a in [Yy]*) X='v' ;; esac"),
    ])
    func aShellTakesOthersAsTheyAre(_ text: String, _ result: String) throws {
        #expect(try render(text, .shell, "v") == result)
    }

    @Test(arguments: [Escaping.json, .yaml, .dotenv, .ini, .xml])
    func textIsUTF8(_ kind: Escaping) throws {
        let text =
            kind == .xml
            ? "<a>passdir://s/x</a>"
            : "k = passdir://s/x".replacing(" = ", with: kind == .ini ? " = " : kind == .dotenv ? "=" : ": ")
        let error = try #require(
            failure {
                _ = try text.withBytes { try Template($0) }.render(for: kind) { _ in
                    try SecretBytes.of([0x61, 0xff])
                }
            })
        #expect(
            error.message
                == "the value of passdir://s/x in line 1 is no UTF-8, which a file of this kind cannot hold")
    }

    /// What stands around a value makes nothing else of it.
    @Test(arguments: [
        (Escaping.json, "\"\\u00@\"", "41", nil), (.json, "\"\\u0041@\"", "1", "\"\\u00411\""),
        (.json, "\"\\\\u@\"", "1", "\"\\\\u1\""), (.yaml, "\"\\x4@\"", "1", nil),
        (.yaml, "\"\\U0001@\"", "1", nil),
        (.yaml, "\"a\n  @\"", "  two", "\"a\n  \\x20 two\""),
        (.yaml, "\"@\n b\"", "two  ", "\"two \\x20\n b\""),
        (.yaml, "\"@\"", " ", "\"\\x20\""), (.yaml, "k: @", " a ", "k: \" a \""),
        (.yaml, "'a\n  @'", "  two", nil), (.yaml, "'@\n b'", "two  ", nil), (.yaml, "'@'", " a ", "' a '"),
        (.yaml, "'@\n b'", "a b", "'a b\n b'"), (.yaml, "k: |\n  @@", "", "k: |\n  "),
        (.yaml, "k: |\n  @ x", "", nil),
        (.yaml, "k: >-\n  @@", "\n a", nil), (.yaml, "--- |\n@", "a\n--- b", nil),
        (.xml, "<a>&@</a>", "lt;", nil), (.xml, "<a b='&am@'/>", "p;", nil),
        (.xml, "<a>&amp;@</a>", "lt;", "<a>&amp;lt;</a>"),
        (.xml, "<@>", "x", nil), (.xml, "<a @=''>", "x", nil), (.xml, "<a b = @/>", "x", "<a b = \"x\"/>"),
        (.xml, "<!DOCTYPE a [<!ENTITY b '@'>]><a/>", "x", nil),
        (.xml, "<!DOCTYPE a [<!ENTITY b 'x>'>]><a>@</a>", "x", "<!DOCTYPE a [<!ENTITY b 'x>'>]><a>x</a>"),
    ])
    func whatStandsAroundAValue(
        _ kind: Escaping, _ text: String, _ value: String, _ result: String?
    ) throws {
        if let result {
            #expect(try render(text, kind, value) == result)
        } else {
            #expect(failure { _ = try render(text, kind, value) }?.code == .cannotHold)
        }
    }

    @Test(arguments: ["k: |\n  @#", "k: >-\n  @#"]) func anEmptyValueBeginsNoLine(_ text: String) throws {
        let template = text.replacing("@", with: "passdir://{s/none}").replacing("#", with: "passdir://{s/x}")
        func render(_ value: String) throws -> String {
            try template.withBytes { try Template($0) }.render(for: .yaml) {
                try SecretBytes.of($0.target.path == "none" ? "" : value)
            }.text
        }
        #expect(failure { _ = try render(" two") }?.code == .cannotHold)
        #expect(try render("two").hasSuffix("\n  two"))
    }

    @Test func blocksAreIndented() throws {
        #expect(
            try render("a:\n    k: |\n      @\n    l: 1\n", .yaml, "x\n\n  y\nz")
                == "a:\n    k: |\n      x\n\n        y\n      z\n    l: 1\n")
        #expect(try render("k: |\n  a: @)\n", .yaml, "x\n") == "k: |\n  a: x\n  )\n")
    }
}
