import SystemPackage
import TestKit
import Testing

/// Names that end with `.gpg`, of secrets, folders and links, against every operation that takes a name.
@Suite struct NameShapeTests {
    /// Holds:
    /// - A secret that is shown as `foo.gpg` because of a `foo` stays so when that is moved or removed through the
    ///   mount, until the next mount.
    /// - No operation makes a name vanish, or changes what a name shows, that it was not given.
    @Test func noOtherNameVanishes() throws {
        try Mounted.with(limit: .seconds(600)) { mounted in
            try mounted.bash("mkdir n")
            try mounted.home.succeed(
                [
                    "/usr/bin/python3", "-B", Programs.path("names.py"),
                    mounted.folder.appending("n").string, mounted.store.path.appending("n").string,
                ] + (Soak.count(inSuite: 0) > 0 ? ["all"] : []), limit: .seconds(580))
        }
    }
}
