import SystemPackage
import TestKit
import Testing

/// What becomes of secrets that a command moves to where other rules hold, and the same recipients.
@Suite struct AccessMoveTests {
    /// Each stays what it was for git, so that what others change meanwhile follows it; none has to be decrypted; and whoever has one
    /// open sees nothing of what is saved behind the move.
    @Test func aMoveKeepsTheCiphertexts() throws {
        try TestHome.withAgent { home, store, agent in
            let folder = "\(home.mountPoint)/work"
            try home.succeed(["sh", "-c", "cd \(folder)/open && mkdir dir && echo 1 >dir/a && echo 2 >dir/z"])
            try home.write("no message\n", to: "work/open/dir/m.gpg")
            try home.succeed(["passdir", "sync"])
            let before = try store.git("ls-tree", "--format=%(objectname)", "HEAD:open/dir")
            let seen = try home.run([
                agent, "-c",
                """
                exec 3<\(folder)/open/dir/a; passdir mv work/open/dir work/aws/dir || echo NEW
                echo NEW >\(folder)/aws/dir/z; echo NEW >\(folder)/aws/dir/a; cat <&3; cat \(folder)/aws/dir/a; :
                """,
            ])
            #expect(!seen.output.contains("NEW"), "\(seen)")
            try home.succeed(["passdir", "sync"])
            let moved = try store.git("log", "--format=%H", "--grep=^Rename open/dir to aws/dir").prefix(40)
            #expect(try store.git("ls-tree", "--format=%(objectname)", "\(moved):aws/dir") == before)
            #expect(try home.run(["ls", "\(folder)/open/dir"]).exitCode != 0)
            #expect(try home.succeed(["cat", "\(folder)/aws/dir/a"]) == Array("NEW\n".utf8))
            let denied = try home.run([agent, "-c", "passdir mv work/aws/dir work/open/back; :"])
            #expect(denied.errors.contains("refuse"), "\(denied)")
            #expect(try home.run(["ls", "\(folder)/open/back"]).exitCode != 0)
        }
    }
}
