import SystemPackage
import TestKit
import Testing

/// Which file `d.gpg` stands for goes by what else is there (`d`, `d.gpg`, `d.gpg.gpg`), and others may change that at any
/// time. One name, one file: none is reached by two names, none by no name.
@Suite struct NamesChangedOutsideTests {
    /// What is shown where these files are, each name with the text of its file, sorted.
    private func shown(_ there: [String]) -> [String] {
        there.map { file in
            switch file {
            case "d/x.gpg": "d/x=d/x.gpg"
            case "d.gpg": there.contains("d/x.gpg") ? "d.gpg=d.gpg" : "d=d.gpg"
            default:
                there.contains("d/x.gpg") && there.contains("d.gpg")
                    ? "d.gpg.gpg=d.gpg.gpg" : "d.gpg=d.gpg.gpg"
            }
        }.sorted()
    }

    /// From each set of files to each other one.
    @Test(.slow) func everyNameLeadsToOneFile() throws {
        let files = ["d/x.gpg", "d.gpg", "d.gpg.gpg"]
        let sets = (1..<8).map { set in files.indices.filter { set >> $0 & 1 == 1 }.map { files[$0] } }
        try Mounted.with { mounted in
            for file in files { try mounted.store.insert("made/\(file)", file) }
            var steps: [[String]] = []
            for from in sets { for to in sets where to != from { steps += [from, to] } }
            let script = steps.map { set in
                let copies = set.map { "cp ../made/\($0).gpg \($0)" }.joined(separator: "; ")
                return """
                    (cd $S/n; rm -rf d d.gpg d.gpg.gpg; mkdir d; \(copies); rmdir d 2>/dev/null)
                    for name in $(find . -type f); do echo "${name#./}=$(cat $name)"; done | LC_ALL=C sort; echo --
                    """
            }
            let output = try mounted.run(
                "mkdir n; cd n\n" + script.joined(separator: "\n"), limit: .seconds(180))
            #expect(output.errors == "")
            let seen = output.output.split(separator: "--\n", omittingEmptySubsequences: false).dropLast()
                .map { $0.split(separator: "\n").map(String.init) }
            for (number, set) in steps.enumerated() where number < seen.count {
                #expect(seen[number] == shown(set), "\(number == 0 ? [] : steps[number - 1]) to \(set)")
            }
            #expect(seen.count == steps.count)
        }
    }

    /// What a program has open is saved to the file that it opened.
    @Test(.slow) func whatIsOpenKeepsItsFile() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("n/d/x", "x")
            try mounted.store.insert("n/d.gpg", "two")
            try mounted.store.insert("one", "one")
            let texts = try mounted.bash(
                """
                cd n; cat d.gpg; exec 3<>d.gpg
                cp $S/one.gpg $S/n/d.gpg; cat d.gpg d.gpg.gpg
                printf edited >&3; exec 3>&-; cat d.gpg d.gpg.gpg
                printf a >d.gpg; printf b >d.gpg.gpg; cat d.gpg d.gpg.gpg
                rm $S/n/d.gpg; cat d.gpg
                """)
            #expect(texts == "two" + "one" + "two" + "one" + "edited" + "ab" + "b")
            #expect(try mounted.names(in: "n") == ["d", "d.gpg"])
            try mounted.waitUntilCommitted()
            #expect(try mounted.show("n/d.gpg") == "b")
        }
    }

    /// A link has the name of its secret, or one of its own.
    @Test func aLinkTakesAndGivesUpItsName() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("n/d/x", "in d")
            try mounted.store.insert("n/e/x", "in e")
            try mounted.store.insert("n/one", "one")
            let texts = try mounted.bash(
                """
                cd n; ln -s d $S/n/a; cat a/x
                rm $S/n/a; ln -s one.gpg $S/n/a.gpg; cat a
                rm $S/n/a.gpg; ln -s e $S/n/a; cat a/x
                rm $S/n/a; cp $S/n/one.gpg $S/n/a.gpg; cat a
                """)
            #expect(texts == "in d" + "one" + "in e" + "one")
        }
    }

    /// A program that makes the file if it is missing has one, however lately others removed it on disk; who only reads finds none.
    @Test func whatOthersHaveJustRemovedIsMadeAnew() throws {
        try Mounted.with { mounted in
            let disk = mounted.store.path.string
            let made = try mounted.bash(
                """
                for n in $(seq 30); do
                    echo old >s; cat s >/dev/null; rm \(disk)/s.gpg; echo "new $n" >s; cat s
                    rm \(disk)/s.gpg; ! cat s 2>>errors || echo there
                done
                rm -f s; sort errors | uniq -c
                """)
            let lines = made.split(separator: "\n")
            #expect(lines.dropLast().map(String.init) == (1...30).map { "new \($0)" }, "\(made)")
            #expect(lines.last?.contains("30 cat: s: No such file or directory") == true, "\(made)")
        }
    }
}
