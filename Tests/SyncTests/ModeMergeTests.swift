import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// The executable bit is content, too: it comes with a merge, and goes into one.
@Suite struct ModeMergeTests {
    private func setMode(_ mode: mode_t, of name: String, on machine: Machine) {
        chmod(machine.path.appending(name).string, mode)
        machine.committer.note(.saved(FilePath(name)))
    }

    @Test(arguments: [false, true]) func itIsMerged(rebases: Bool) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2) { $0.rebases = rebases }
            let text = "one\n2\n3\n4\nfive\n"
            for name in ["alone", "edited", "merged", "taken"] {
                try home.write(text, to: "m0/\(name)")
                machines[0].committer.note(.saved(FilePath(name)))
            }
            chmod(home.path("m0/taken").string, 0o755)
            for machine in machines { #expect(await machine.committer.synchronizeNow() == nil) }

            setMode(0o755, of: "alone", on: machines[0])
            setMode(0o755, of: "edited", on: machines[0])
            try home.write(text.replacing("one", with: "1"), to: "m0/merged")
            setMode(0o755, of: "merged", on: machines[0])
            setMode(0o644, of: "taken", on: machines[0])
            try await machines[0].commit()
            for name in ["edited", "merged", "taken"] {
                try home.write(text.replacing("five", with: "5"), to: "m1/\(name)")
                machines[1].committer.note(.saved(FilePath(name)))
            }
            try await machines[1].commit()
            for machine in [machines[1], machines[0], machines[1]] {
                let complaint = await machine.committer.synchronizeNow()
                #expect(complaint == nil, "\(complaint ?? "")")
            }
            for machine in machines {
                #expect(try machine.dirt == "")
                let modes = try machine.git("ls-tree", "--format=%(path) %(objectmode)", "HEAD")
                #expect(
                    modes.split(separator: "\n").dropFirst(2) == [
                        "alone 100755", "edited 100755", "merged 100755", "taken 100644",
                    ])
                let name = machine.path.lastComponent!.string
                for edited in ["edited", "taken"] {
                    #expect(try home.text(of: "\(name)/\(edited)") == text.replacing("five", with: "5"))
                }
                #expect(try home.text(of: "\(name)/merged") == "1\n2\n3\n4\n5\n")
                #expect(access(home.path("\(name)/alone").string, X_OK) == 0)
            }
        }
    }
}
