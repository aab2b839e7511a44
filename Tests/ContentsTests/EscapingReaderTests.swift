import Contents
import Glibc
import System
import Testing

/// Values go through a rendered file and come back from the parsers that read such files.
///
/// `PASSDIR_SOAK` says how many random values for each kind; `PASSDIR_ESCAPING_SEED` repeats a run.
@Suite struct EscapingReaderTests {
    private static let seed = number("PASSDIR_ESCAPING_SEED") ?? Int.random(in: 1...999_999_999)
    private static let count = number("PASSDIR_SOAK") ?? 200

    /// A way to write a file of many values, and a program that reads it and prints each of them in hexadecimal, a line each.
    struct Reader: Sendable, CustomTestStringConvertible {
        let kind: Escaping
        let name: String
        /// The lines of the file for a value, `N` being its number and `@` its reference.
        let line: String
        var head = ""
        var tail = ""
        let program: [String]
        /// How many of a hundred random values at least can be written so.
        let least: Int

        var testDescription: String { "\(kind) \(name)" }
    }

    private static let printer = "\nfor n in range(len(d)): print(d['K%d' % n].encode().hex())"
    private static let shell = [
        "sh", "-c",
        "cat >\"$0\"; . \"$0\"; n=0; while [ $n -lt $1 ]; do eval \"printf %s \\\"\\$K$n\\\"\" | od -An -v -tx1 | tr -d ' \\n'; echo; n=$((n + 1)); done",
    ]

    private static func python(_ script: String) -> [String] {
        ["python3", "-c", "import sys\n" + script + printer]
    }

    /// dotenv of node's packages where it is installed; else what node itself has for `--env-file`.
    private static let node = Reader(
        kind: .dotenv, name: "node", line: "KN=@\n",
        program: [
            "node", "-e",
            "let p; try { p = require('dotenv').parse } catch { p = require('util').parseEnv }\n"
                + "const d = p(require('fs').readFileSync(0, 'utf8'))\n"
                + "for (let n = 0; 'K' + n in d; n++) console.log(Buffer.from(d['K' + n]).toString('hex'))",
        ], least: 20)

    private static let readers: [Reader] =
        [
            Reader(
                kind: .json, name: "token", line: "\"KN\": @,\n", head: "{", tail: "\"z\": 0}",
                program: python("import json; d = json.load(sys.stdin); del d['z']"), least: 100),
            Reader(
                kind: .json, name: "inside", line: "\"KN\": \"<@>\",\n", head: "{", tail: "\"z\": 0}",
                program: python(
                    "import json; d = {k: v[1:-1] for k, v in json.load(sys.stdin).items() if k != 'z'}"),
                least: 100),
            Reader(
                kind: .yaml, name: "token", line: "KN: @\n",
                program: python("import yaml; d = yaml.safe_load(sys.stdin.buffer)"), least: 100),
            Reader(
                kind: .yaml, name: "double", line: "KN: \"<@>\"\n",
                program: python(
                    "import yaml; d = {k: v[1:-1] for k, v in yaml.safe_load(sys.stdin.buffer).items()}"),
                least: 100),
            Reader(
                kind: .yaml, name: "single", line: "KN: '<@>'\n",
                program: python(
                    "import yaml; d = {k: v[1:-1] for k, v in yaml.safe_load(sys.stdin.buffer).items()}"),
                least: 30),
            Reader(
                kind: .yaml, name: "flow", line: "KN: @,\n", head: "{", tail: "}",
                program: python("import yaml; d = yaml.safe_load(sys.stdin.buffer)"), least: 100),
            Reader(
                kind: .yaml, name: "block", line: "KN: |-\n  <@>\n",
                program: python(
                    "import yaml; d = {k: v[1:-1] for k, v in yaml.safe_load(sys.stdin.buffer).items()}"),
                least: 30),
            Reader(
                kind: .dotenv, name: "python-dotenv", line: "KN=@\n",
                program: python(
                    "import dotenv, io; d = dotenv.dotenv_values(stream=io.StringIO(sys.stdin.buffer.read().decode()))"
                ),
                least: 30),
            Reader(
                kind: .dotenv, name: "python-dotenv double", line: "KN=\"<@>\"\n",
                program: python(
                    "import dotenv, io; d = dotenv.dotenv_values(stream=io.StringIO(sys.stdin.buffer.read().decode()))\n"
                        + "d = {k: v[1:-1] for k, v in d.items()}"), least: 20),
            Reader(kind: .dotenv, name: "shell", line: "KN=@\n", program: shell, least: 30),
            Reader(kind: .shell, name: "bare", line: "KN=@\n", program: shell, least: 100),
            Reader(kind: .shell, name: "double", line: "KN=\"\"\"@\"\n", program: shell, least: 100),
            Reader(kind: .shell, name: "single", line: "KN=''\"\"'@'\n", program: shell, least: 100),
            Reader(
                kind: .ini, name: "configparser", line: "KN = @\n", head: "[s]\n",
                program: python(
                    "import configparser, io; p = configparser.RawConfigParser(); p.optionxform = str\n"
                        + "p.read_file(io.StringIO(sys.stdin.buffer.read().decode(), newline=None)); d = p['s']"
                ),
                least: 30),
            Reader(
                kind: .ini, name: "git", line: "KN = \"@\"\n", head: "[s]\n",
                program: python(
                    "import subprocess; o = subprocess.run(['git', 'config', '-z', '-f', '-', '-l'], "
                        + "input=sys.stdin.buffer.read(), capture_output=True, check=True).stdout.decode()\n"
                        + "d = {k[2:].upper(): v for k, v in (e.split('\\n', 1) for e in o.split('\\0') if e)}"
                ),
                least: 30),
            Reader(
                kind: .xml, name: "text", line: "<v>@</v>\n", head: "<r>", tail: "</r>",
                program: python(
                    "import xml.etree.ElementTree as E; d = {'K%d' % n: e.text or '' for n, e in enumerate(E.fromstring(sys.stdin.buffer.read()))}"
                ), least: 90),
            Reader(
                kind: .xml, name: "attribute", line: "<v a='@'/>\n", head: "<r>", tail: "</r>",
                program: python(
                    "import xml.etree.ElementTree as E; d = {'K%d' % n: e.get('a') for n, e in enumerate(E.fromstring(sys.stdin.buffer.read()))}"
                ), least: 90),
        ] + (access("/usr/bin/node", X_OK) == 0 ? [node] : [])

    /// Words that mean something somewhere, and all else.
    private static func randomValue(_ numbers: inout SeededNumbers) -> String {
        let pieces = [
            "'", "\"", "\\", "$", "`", "{", "}", "${x}", "$(x)", "#", " #", ": ", ":", "- ", ";", "%", "%s",
            "&", "&amp;", "<", ">", "]]>",
            "|", "\n", "\t", " ", "!", "*", "?", "[", "]", ",", "é", "😀", "\u{85}", "\u{a0}", "\u{2028}",
            "\u{feff}", "\u{7f}", "\u{1b}", "=",
            "@", "~", "null", "007", "passdir://s/1", "\\n", "''", "--", "---", "...",
        ]
        return (0..<Int.random(in: 0...6, using: &numbers)).map { _ in
            Int.random(in: 0..<3, using: &numbers) > 0
                ? pieces.randomElement(using: &numbers)!
                : ["a", "Zz", "0", "x y"].randomElement(using: &numbers)!
        }.joined()
    }

    private func render(_ lines: String, _ kind: Escaping, _ values: [String]) throws -> SecretBytes {
        try lines.withBytes { try Template($0) }.render(for: kind) { reference in
            try SecretBytes.of(values[Int(reference.target.path)!])
        }
    }

    @Test(arguments: readers)
    func valuesComeBack(_ reader: Reader) throws {
        var numbers = SeededNumbers(Self.seed)
        let all = (0..<Self.count).map { _ in Self.randomValue(&numbers) }
        func line(_ index: Int) -> String {
            reader.line.replacing("N", with: "\(index)").replacing("@", with: "passdir://s/\(index)")
        }
        let values = all.filter { value in
            failure { _ = try render(reader.head + line(0) + reader.tail, reader.kind, [value]) } == nil
        }
        #expect(values.count * 100 >= reader.least * all.count, "\(values.count) of \(all.count)")
        let lines = values.indices.map(line).joined()
        let file = try render(reader.head + lines + reader.tail, reader.kind, values)
        let folder = try TestFolder()
        let words = reader.program[0] == "sh" ? [folder.path + "/script", "\(values.count)"] : []
        let read = try run(reader.program + words, input: file.array).split(
            separator: "\n", omittingEmptySubsequences: false
        ).dropLast()
        let expected = values.map { value in
            value.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        #expect(read.count == expected.count)
        for (index, pair) in zip(read, expected).enumerated() where pair.0 != pair.1 {
            Issue.record("\(values[index].debugDescription) came back as \(pair.0), seed \(Self.seed)")
        }
    }
}
