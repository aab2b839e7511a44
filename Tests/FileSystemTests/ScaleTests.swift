import SystemPackage
import TestKit
import Testing

/// Many secrets in many folders are all there, and can be read and saved. What they cost, `scripts/bench-scale` tells.
@Suite struct ScaleTests {
    @Test func manySecretsAreAllThere() throws {
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
}
