import FoundationEssentials
import SystemPackage
import TestKit
import Testing

/// The shape of `status --json`, which programs rely on.
@Suite struct StatusTests {
    @Test(.slow) func statusHasExactlyThePromisedKeys() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let work = try home.makeStore("work", recipients: [key], remote: true)
            let plain = try home.makeStore("plain", recipients: [key], git: false)
            try home.addStores([work, plain])
            let pid = try home.mount()
            try FileCalls.save([1], to: home.visible("work/s"))
            let errors = try home.save(to: [home.visible("plain/s")]) {
                try home.write("nobody@example.org\n", to: "plain/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126)])
            try home.waitUntilCommitted(work)
            // The look for what is not committed has ended then.
            #expect(try home.passdir("sync", "work").exitCode == 0)
            #expect(try home.passdir("sync", "plain").exitCode == 1)

            // Something is unsaved.
            #expect(try home.passdir("status").exitCode == 1)
            let result = try home.passdir("status", "--json")
            let text = result.standardOutput
            #expect(result.exitCode == 1)
            #expect(text.split(separator: 10).count == 1, "one line")
            let report = try JSONDecoder().decode([String: JSON].self, from: Data(text))
            #expect(report.keys.sorted() == ["mount", "stores"])
            #expect(report["mount"]?.keys == ["device", "path", "pid", "since", "version"])
            guard case .array(let stores) = report["stores"] else { throw TestFailure("stores is no array") }
            #expect(stores.count == 2)
            for store in stores {
                #expect(
                    store.keys.filter {
                        !["lastFetch", "recipientChanges", "remote", "savingObjection"].contains($0)
                    } == [
                        "branch", "canSave", "lastCommit", "lastError", "lastPush", "name", "path",
                        "pendingChanges", "readOnly", "state",
                        "unpushedCommits", "unsaved",
                    ])
            }
            let status = try home.status()
            #expect(status.mount.pid == pid && status.mount.path == home.mountPoint.string)
            let first = try status.store("work")
            #expect(first.branch == "main" && first.path == work.path.string && first.lastPush != nil)
            #expect(try first.lastCommit?.id == work.git("rev-parse", "HEAD"))
            #expect(
                first.lastCommit?.subject == "Add given password for s to store." && first.lastError == nil)
            let second = try status.store("plain")
            #expect(second.branch == nil && second.lastCommit == nil && second.lastPush == nil)
            #expect(second.unsaved.map(\.path) == ["s"] && second.lastError != nil)
            for time in [status.mount.since, first.lastPush ?? "", second.unsaved.first?.since ?? ""] {
                #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(time)")
            }
            try home.unmount(discardUnsaved: true)
        }
    }

    /// What a crash left uncommitted counts only when it was found: until then `status` says that it is being looked for.
    @Test func aLookThatGoesOnIsTold() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let work = try home.makeStore("work", recipients: [key])
            try work.insert("a", "one")
            try home.addStores([work])
            try home.succeed(["cp", "work/a.gpg", "work/b.gpg"])
            // Nobody looks before `sync` does.
            try home.mount(extra: ["PASSDIR_FAULT": "fail:recovery"])
            let line = "still looking for uncommitted changes, so this list may be incomplete."
            let before = try home.passdir("status").output
            #expect(before.contains("  state    not examined yet\n"), "\(before)")
            #expect(before.contains("  note     \(line.dropLast())\n"), "\(before)")
            #expect(try home.passdir("status", "--json").output.contains("\"notes\":[\"\(line)\"]"))
            #expect(try home.status().store("work").state == "starting")
            #expect(try home.passdir("store", "list").output.contains("work  starting  "))
            #expect(try home.passdir("sync").exitCode == 0)
            #expect(try home.passdir("status").output.contains("  state    ready\n"))
            #expect(try !home.passdir("status").output.contains(line.dropLast()))
            #expect(try work.git("status", "--porcelain").isEmpty)
            try home.unmount()
        }
    }
}
