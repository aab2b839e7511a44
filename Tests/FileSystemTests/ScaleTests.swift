import SystemPackage
import TestKit
import Testing

/// Many secrets in many folders are all there, and can be read and saved. What they cost, `scripts/bench-scale` tells.
@Suite struct ScaleTests {
    @Test(.slow) func manySecretsAreAllThere() throws {
        let count = Soak.count(inSuite: 3000)
        let folders = max(count / 100, 1)
        try Mounted.with(limit: .seconds(300 + count / 50), isMounted: false) { mounted in
            try mounted.store.insert("one", mounted.marker)
            try mounted.home.succeed(
                [
                    "bash", "-c",
                    """
                    set -e
                    seq -f 'f%g' \(folders) | xargs mkdir
                    for n in $(seq \(count / folders)); do seq -f "f%g/s$n.gpg" \(folders); done |
                        xargs sh -c 'tee "$@" <one.gpg >/dev/null' tee
                    git add -A; git commit -qm Fill
                    """,
                ], in: mounted.store.path, limit: .seconds(200 + count / 100))
            try mounted.home.mount()
            let found = try mounted.bash(
                "find . -name 's*' -type f | wc -l; ls | wc -l", limit: .seconds(200 + count / 50))
            #expect(found == "\(count / folders * folders)\n\(folders + 1)\n")
            #expect(try mounted.names(in: "f\(folders)").count == count / folders)
            #expect(try mounted.read("f1/s1") == mounted.marker)
            try mounted.save("\(mounted.marker) saved", to: "f\(folders)/s1")
            #expect(try mounted.show("f\(folders)/s1") == "\(mounted.marker) saved")
            try mounted.waitUntilCommitted()
            #expect(
                try mounted.store.git("log", "-1", "--format=%s")
                    == "Edit password for f\(folders)/s1 using passdir.")
        }
    }

    /// Holds:
    /// - What a program has closed costs no memory: listing, looking and reading may go on for ever.
    @Test func whatIsClosedCostsNoMemory() throws {
        try Mounted.with(limit: .seconds(900)) { mounted in
            try mounted.bash(
                "mkdir m; cd m; for n in $(seq 20); do echo $MARK >a-name-of-forty-bytes-as-people-have-$n; done"
            )
            let rounds = 120
            let look = """
                import os
                for number in range(\(rounds)):
                    names = os.listdir("m")
                    assert len(names) == 20
                    os.stat("m/" + names[number % 20])
                    if number % 50 == 0:
                        with open("m/" + names[0], "rb") as file:
                            assert len(file.read()) > 10
                """
            try mounted.home.write(look, to: "look.py")
            let script = mounted.home.path("look.py").string
            try mounted.bash("/usr/bin/python3 -B \(script)", limit: .seconds(200))
            // The daemon's other threads take memory now and then; what is kept is kept each time.
            let grown =
                try (0..<3).map { _ in
                    let before = try residentBytes(mounted.home)
                    try mounted.bash("/usr/bin/python3 -B \(script)", limit: .seconds(200))
                    return try residentBytes(mounted.home) - before
                }.min() ?? 0
            // A listing that is kept takes some 3 KiB.
            #expect(grown < rounds * 2048, "\(rounds) rounds cost \(grown) bytes")
        }
    }

    private func residentBytes(_ home: TestHome) throws -> Int {
        let daemon = try #require(home.daemons().first)
        let words = try home.succeed(["awk", "/^VmRSS/ { print $2 }", "/proc/\(daemon)/status"])
        return try #require(Int(String(decoding: words, as: UTF8.self).dropLast())) * 1024
    }
}
