import SystemPackage
import TestKit
import Testing

/// Programs that copy a file with all that it has leave behind what only tells of it.
@Suite struct CopiedAttributesTests {
    /// Holds:
    /// - The attributes that passdir itself answers (`user.passdir.state` and others) are not listed, so that `mv` and `cp -a`
    ///   copy none.
    @Test(
        arguments: sampled([
            "mv a ../other/b", "cp -a a ../other/b", "mv d ../other/d", "cp -a d ../other/d", "cp -a a $D/b",
        ]))
    func noneIsCopied(_ script: String) throws {
        try Mounted.with { mounted in
            let home = mounted.home
            let key = try home.makeKey("b@example.org")
            try home.addStores([try home.makeStore("other", recipients: [key])])
            try home.waitUntil("the other store is shown") {
                try home.run(["ls", home.mountPoint.appending("other").string]).exitCode == 0
            }
            try mounted.bash("mkdir d; echo one >a; echo two >d/c")
            let copied = try mounted.run(script)
            #expect(copied.exitCode == 0 && copied.errors.isEmpty, "\(copied.errors)")
            #expect(try mounted.bash("cat ../other/b ../other/d/c $D/b 2>/dev/null || true") != "")
            #expect(try mounted.bash("getfattr -d -m - .gpg-id . ../other $D/b 2>/dev/null || true") == "")
            #expect(try mounted.bash("getfattr -n user.passdir.store --only-values .gpg-id") == "work")
        }
    }
}
