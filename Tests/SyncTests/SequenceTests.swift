import SystemPackage
import TestKit
import Testing

/// Random file operations in a mount, as on tmpfs, in HEAD and in a fresh clone: the short form of `scripts/soak-sync
/// sequences`.
@Suite struct SequenceTests {
    @Test func whatIsCommittedIsWhatTheMountShows() throws {
        try TestHome.with { home in
            let script = FilePath(#filePath).removingLastComponent().removingLastComponent()
                .removingLastComponent().pushing("scripts/soak_sync.py")
            try home.succeed(
                [
                    "/usr/bin/python3", "-B", script.string, try TestHome.passdirBinary().string,
                    "sequences", "2", "40",
                ], limit: .seconds(240))
        }
    }
}
