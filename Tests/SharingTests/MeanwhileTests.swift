import Glibc
import SystemPackage
import TestKit
import Testing

/// Reading and saving go on while recipients change, through the mount and beside it.
@Suite struct MeanwhileTests {
    @Test(.slow) func savesThroughTheMountMeanwhileAreKeptAndForTheNewRecipients() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann])
            try home.addStores([store])
            try fixture.fill(store, folders: ["a"], count: 40, for: fixture.ann)
            try home.mount()
            let place = home.mountPoint.appending("work/a")
            // An editor has a secret open all the while, and saves at the end.
            let editor = try FileDescriptor.open(place.appending("s0"), .readWrite)
            var start = [UInt8](repeating: 0, count: 6)
            #expect(try start.withUnsafeMutableBytes { try editor.read(into: $0) } == 6)
            let program = try home.start([
                "passdir", "recipients", "add", "--yes", "work", fixture.bob.address,
            ])
            var saved: [String: String] = [:]
            var round = 0
            while !program.hasEnded || round < 10 {
                let name = "s\(1 + round % 12)"
                let text = "saved in round \(round)\n"
                try home.write(text, to: "mnt/work/a/\(name)")
                saved[name] = text
                if round % 3 == 0 {
                    try home.write("new \(round)\n", to: "mnt/work/a/new\(round)")
                    saved["new\(round)"] = "new \(round)\n"
                }
                round += 1
                try #require(round < 5000)
            }
            let result = try program.wait(limit: .seconds(120))
            #expect(result.exitCode == 0, "\(result.errors)")
            try editor.writeAll("EDITED".utf8)
            try editor.close()
            saved["s0"] = "secretEDITEDnd 0\n"

            for (name, text) in saved {
                #expect(try home.text(of: "mnt/work/a/\(name)") == text, "\(name)")
                #expect(
                    try fixture.read(store.path.appending("a/\(name).gpg"), as: fixture.bob) == text,
                    "\(name)")
            }
            // No second versions: encrypting to others is no edit.
            let names = String(decoding: try home.succeed(["ls", "-A", "mnt/work/a"]), as: UTF8.self)
            #expect(!names.contains("conflict"), "\(names)")
            #expect(try fixture.packets(store).values.allSatisfy { $0.count == 2 })
            #expect(
                !String(decoding: try home.succeed(["ls", "-A", "mnt/work"]), as: UTF8.self).contains(
                    "reencrypt"))
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    /// The list of recipients changes when a save has encrypted already but is not in place yet, and too late for
    /// whoever changed it to see what it brings: a pull, an editor beside the mount.
    @Test(.slow, arguments: ["save", "restore"])
    func whatWasEncryptedBeforeAChangeAndPlacedAfterItIsForTheNewRecipients(_ way: String) throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            // Long enough to write that it can be stopped in the middle.
            let length = 8 << 20
            try store.insert("big", "old\n")
            try home.addStores([store])
            if way == "save" { try home.mount() }
            let list = store.path.appending(".gpg-id")
            let both = try home.bytes(at: list)
            var caught = false
            for attempt in 0..<20 where !caught {
                try home.write(String(decoding: both, as: UTF8.self), to: "work/.gpg-id")
                let writer: Program
                let pid: pid_t
                if way == "save" {
                    writer = try home.start(
                        [
                            "sh", "-c",
                            "{ echo \(attempt); head -c \(length) /dev/urandom; } > mnt/work/big",
                        ])
                    pid = try #require(home.daemons().first)
                } else {
                    try home.succeed(
                        [
                            "sh", "-c",
                            "head -c \(length) /dev/urandom | pass insert -m -f big >&-; echo now | pass insert -m -f big >&-",
                        ],
                        extra: ["PASSWORD_STORE_DIR": store.path.string])
                    writer = try home.start(["passdir", "restore", "work/big", "--at", "HEAD~1"])
                    pid = writer.pid
                }
                var temporary: [Substring] = []
                while temporary.isEmpty, !writer.hasEnded {
                    temporary = try names(store.path).filter {
                        $0.hasPrefix(".passdir-") && $0.hasSuffix(".tmp")
                    }
                }
                kill(pid, SIGSTOP)
                // Stopped before it was in place?
                caught = try temporary.contains { try names(store.path).contains($0) }
                if caught { try home.write(fixture.ann.fingerprint + "\n", to: "work/.gpg-id") }
                kill(pid, SIGCONT)
                #expect(try writer.wait(limit: .seconds(60)).exitCode == 0)
            }
            if way == "save" { try home.unmount() }
            try #require(caught)
            #expect(try store.recipientKeyIDs(of: "big").count == 1)
            #expect(try fixture.read(store.path.appending("big.gpg"), as: fixture.bob) == nil)
        }
    }

    private func names(_ folder: FilePath) throws -> [Substring] {
        guard let stream = opendir(folder.string) else { throw Errno(rawValue: errno) }
        defer { closedir(stream) }
        var found: [Substring] = []
        while let entry = readdir(stream) {
            found.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0)[...] }
                })
        }
        return found
    }

    @Test func oneChangeAtATime() throws {
        try Fixture.with { fixture in
            let store = try fixture.home.makeStore("work", recipients: [fixture.ann])
            try fixture.home.addStores([store])
            try fixture.fill(store, folders: ["a"], count: 30, for: fixture.ann)
            let first = try fixture.home.start([
                "passdir", "recipients", "add", "--yes", "work", fixture.bob.address,
            ])
            try fixture.home.waitUntil("the first has begun") {
                fixture.home.changeJournal != nil || first.hasEnded
            }
            let second = try fixture.home.passdir("recipients", "add", "--yes", "work", fixture.cyd.address)
            #expect(
                second.exitCode == 1 && second.errors.contains("another process is changing"),
                "\(second.errors)")
            #expect(try first.wait(limit: .seconds(60)).exitCode == 0)
            // Interrupted by Ctrl-C: it says how to go on, and nothing else begins before.
            let third = try fixture.home.start([
                "passdir", "recipients", "add", "--yes", "work", fixture.cyd.address,
            ])
            try fixture.home.waitUntil("the third has begun") {
                fixture.home.changeJournal != nil || third.hasEnded
            }
            kill(third.pid, SIGINT)
            let stopped = try third.wait(limit: .seconds(60))
            #expect(
                stopped.exitCode == 1 && stopped.errors.contains("recipients resume work"),
                "\(stopped.exitCode) \(stopped.errors) \(stopped.output)")
            let fourth = try fixture.home.passdir(
                "recipients", "remove", "--yes", "work", fixture.bob.address)
            #expect(fourth.exitCode == 1 && fourth.errors.contains("interrupted"), "\(fourth.errors)")
            #expect(
                fourth.output == "" && fourth.errors.contains("passdir recipients resume work finishes it"))
            // Neither does one that would change nothing but for what was interrupted.
            let fifth = try fixture.home.passdir(
                "recipients", "add", "--yes", "work", fixture.bob.address)
            #expect(fifth.exitCode == 1 && fifth.errors.contains("interrupted"), "\(fifth)")
            try fixture.recipients("resume", "work", "--yes")
            #expect(try fixture.packets(store).values.allSatisfy { $0.count == 3 })
            #expect(try store.git("status", "--porcelain") == "")
        }
    }
}
