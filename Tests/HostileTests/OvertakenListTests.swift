import SystemPackage
import TestKit
import Testing

/// A list that was edited in the mount and could not be saved, while another change of the same list succeeded.
@Suite struct OvertakenListTests {
    /// Holds:
    /// - A `.gpg-id` that could not be saved is not put in place of a list that changed since: it is kept there likewise,
    ///   and the mount shows the list on disk.
    @Test func aRetryLetsNobodyInAgain() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.succeed(["recipients", "add", "work", "bob@example.org", "eve@example.org", "--yes"])
            let fay = try home.makeKey("fay@example.org")
            let key = try home.succeed(["gpg", "--batch", "--armor", "--export", fay.fingerprint])
            try home.succeed(["gpg", "--batch", "--yes", "--delete-secret-and-public-key", fay.fingerprint])
            try home.mount()
            let list = try home.succeed(["sh", "-c", "cat work/.gpg-id; echo fay@example.org"])
            _ = try home.run(["tee", "mnt/work/.gpg-id"], input: list)
            #expect(try home.passdir("status").output.contains("unsaved  .gpg-id"))
            try shared.succeed(["recipients", "remove", "work", "eve@example.org", "--yes"])
            let imported = try shared.run(
                ["keys", "import", "-", "--yes"], input: String(decoding: key, as: UTF8.self))
            #expect(imported.exitCode == 0, "\(imported.errors)")
            #expect(try shared.secrets(for: shared.eve).isEmpty)
            let disk = try home.succeed(["cat", "work/.gpg-id"])
            #expect(!String(decoding: disk, as: UTF8.self).contains(shared.eve.fingerprint))
            #expect(try home.succeed(["cat", "mnt/work/.gpg-id"]) == disk)
            let status = try home.passdir("status").output
            let kept = home.path("data/passdir/removed/work-gpg-id-")
            #expect(status.contains("kept in \(kept)") && !status.contains("unsaved"), "\(status)")
            #expect(try home.run(["sh", "-c", "cat '\(kept)'*"]).output.utf8.elementsEqual(list))
            // What is made from the list that is there now is saved as ever.
            try home.succeed([
                "sh", "-c", "cat work/.gpg-id >l; echo fay@example.org >>l; cp l mnt/work/.gpg-id",
            ])
            #expect(try shared.secrets(for: fay) == ["./a.gpg", "./sub/b.gpg"])
            #expect(try shared.secrets(for: shared.eve).isEmpty)
            try home.unmount()
        }
    }
}
