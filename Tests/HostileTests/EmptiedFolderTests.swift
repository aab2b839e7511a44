import SystemPackage
import TestKit
import Testing

/// A folder with a list of its own whose user removes all that is in it: there is nothing left that anybody would have
/// to agree to, until something is saved there again.
@Suite struct EmptiedFolderTests {
    /// A folder that Ann and Eve read, in a store that Ann and Bob read.
    private func makeTeam(_ shared: SharedStore) throws {
        try shared.store.insert("team/t", "team")
        try shared.succeed([
            "recipients", "set", "work/team", shared.ann.fingerprint, shared.eve.fingerprint, "--yes",
        ])
        try shared.succeed(["recipients", "add", "work", shared.bob.fingerprint, "--yes"])
        try shared.store.git("push", "-q")
    }

    @Test(
        .slow,
        arguments: [
            "rm -r work/team", "git -C work rm -rq team; git -C work commit -qm Gone.",
            "rm mnt/work/team/t work/team/.gpg-id",
        ])
    func nothingIsAskedWhereNothingIsLeft(_ removal: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try makeTeam(shared)
            try home.mount()
            try home.succeed(["sh", "-ec", removal])
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            let status = try home.passdir("status").output
            #expect(!status.contains("readers") && !status.contains("agreed"), "\(status)")
            let confirmed = try shared.succeed(["recipients", "confirm", "work"])
            #expect(confirmed == "nothing to confirm\n")

            // What is saved there now would be for Bob, too, whom the list that is gone did not name.
            try home.succeed(["sh", "-c", "mkdir -p mnt/work/team && echo new >mnt/work/team/n"])
            #expect(try home.passdir("status").output.contains("team/.gpg-id of the store \"work\" is gone"))
            let asked = try shared.run(["recipients", "confirm", "work"])
            #expect(asked.exitCode == 1 && asked.output.contains("+ "), "\(asked)")
            #expect(asked.output.contains(shared.bob.fingerprint))
            try shared.succeed(["recipients", "confirm", "work", "--yes"])
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            #expect(try shared.secrets(for: shared.bob).contains("./team/n.gpg"))
            #expect(try shared.succeed(["recipients", "confirm", "work"]) == "nothing to confirm\n")
            try home.unmount()
        }
    }

    /// Agreeing to another change does not agree to what was not shown.
    @Test func whatIsNotShownIsNotAgreedTo() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try makeTeam(shared)
            try shared.push("git rm -rqf team; (echo $ANN; echo $EVE) >sub/.gpg-id")
            let asked = try shared.run(["recipients", "confirm", "work", "--yes"])
            #expect(asked.output.contains("sub/.gpg-id") && !asked.output.contains("team"), "\(asked)")
            // Eve brings the folder back, without its list.
            try shared.push("mkdir team; cp a.gpg team/t.gpg")
            try home.mount()
            try home.succeed(["sh", "-c", "echo new >mnt/work/team/t"])
            #expect(try home.passdir("status").output.contains("team/.gpg-id of the store \"work\" is gone"))
            let later = try shared.run(["recipients", "confirm", "work"])
            #expect(later.exitCode == 1 && later.output.contains("team/.gpg-id"), "\(later)")
            try home.unmount(discardUnsaved: true)
        }
    }
}
