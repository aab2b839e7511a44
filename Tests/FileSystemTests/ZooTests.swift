import SystemPackage
import TestKit
import Testing

/// What programs make of secrets of every kind, compared with one table.
///
/// A few entries of each kind in the suite; all of them in `scripts/soak zoo`. `scripts/zoo --regenerate` writes the table.
@Suite struct ZooTests {
    /// Holds:
    /// - Pipes, sockets and devices that lie in a store are not shown.
    /// - A symbolic link on disk whose name does not end with `.gpg` tells its target as it is: pass takes it for no
    ///   secret.
    /// - The times that `cp -a`, `rsync -a` and `tar` give a `.gpg-id` are kept.
    /// - rsync(1) writes under a longer name first: for a secret's name of more than 243 bytes it needs `--inplace`.
    @Test(.slow) func everySecretComesOutAsTheTableSays() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            let extent = Soak.count(inSuite: 0) > 0 ? [] : ["--some"]
            func zoo(_ words: String...) throws -> ProgramResult {
                try home.run(
                    ["/usr/bin/python3", "-B", Programs.path("zoo.py")] + words + extent,
                    limit: .seconds(900))
            }
            let made = try zoo("make", store.path.string)
            #expect(made.exitCode == 0, "\(made.errors)")
            // From then on its lists are agreed to.
            try home.addStores([store])
            try home.mount()
            let looked = try zoo(
                "look", store.path.string, home.mountPoint.appending("work").string,
                home.path("scratch").string, Programs.path("zoo.txt"), Programs.semantics)
            #expect(looked.exitCode == 0, "\(looked.output)\(looked.errors)")
            Soak.say(looked.output)
            // A list of nobody's keys is not saved, nor is what it would be for.
            try home.unmount(discardUnsaved: true)
        }
    }
}
