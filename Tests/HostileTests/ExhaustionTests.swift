import Glibc
import SystemPackage
import TestKit
import Testing

/// What others push is small, and would fill the daemon's memory: reading goes on, the memory stays bounded, `status`
/// tells it.
///
/// With `PASSDIR_SOAK` set, at full size.
@Suite struct ExhaustionTests {
    private static let isLong = getenv("PASSDIR_SOAK") != nil

    struct Attack: Sendable, CustomTestStringConvertible {
        var name: String
        /// What `status` must say after a sync; nil: the push is taken in.
        var says: String?
        var tree: @Sendable (HostileTree, [HostileTree.Entry]) throws -> String
        var testDescription: String { name }
    }

    static let attacks = [
        Attack(name: "a tree of 2^40 paths", says: "more than 100000 files and folders") { builder, entries in
            var id = try builder.tree(files: ["x.gpg": [1]])
            for _ in 0..<40 { id = try builder.tree([.init("40000", "a", id), .init("40000", "b", id)]) }
            return try builder.tree(entries + [.init("40000", "z", id)])
        },
        Attack(name: "a blob of zeros", says: "more than limits.secret allows") { builder, entries in
            let size = isLong ? "1G" : "256M"
            let id = try builder.home.succeed(
                ["sh", "-c", "head -c \(size) /dev/zero | git hash-object -w --stdin"], in: builder.repository
            )
            return try builder.tree(
                entries + [.init("100644", "z.gpg", String(decoding: id.prefix(40), as: UTF8.self))])
        },
        Attack(name: "100,000 files of 60 MiB", says: "limits.transfer") { builder, entries in
            let id = try builder.home.succeed(
                ["sh", "-c", "head -c 60M /dev/zero | git hash-object -w --stdin"], in: builder.repository)
            let blob = String(decoding: id.prefix(40), as: UTF8.self)
            let folder = try builder.tree((0..<90_000).map { .init("100644", "\(100_000 + $0).gpg", blob) })
            return try builder.tree(entries + [.init("40000", "z", folder)])
        },
        Attack(name: "100,000 tiny parts", says: nil) { builder, entries in
            var bytes: [UInt8] = [0xd2]
            for _ in 0..<(isLong ? 8_000_000 : 100_000) { bytes += [0xe0, 1] }
            return try builder.tree(entries + [.init("100644", "z.gpg", try builder.blob(bytes))])
        },
        Attack(name: "a file of 60 MiB", says: nil) { builder, entries in
            let id = try builder.home.succeed(
                ["sh", "-c", "head -c 60M /dev/zero | git hash-object -w --stdin"], in: builder.repository)
            return try builder.tree(
                entries + [.init("100644", "z.gpg", String(decoding: id.prefix(40), as: UTF8.self))])
        },
    ]

    /// Holds:
    /// - A tree, a blob or a list of lengths that others made to exhaust the daemon is refused in one
    ///   sentence of `status`, while other secrets can be read.
    @Test(arguments: attacks) func theDaemonGoesOn(attack: Attack) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("s", recipients: [key], remote: true)
            try store.insert("mail", "secret\n")
            try store.git("push", "-q")
            try home.addStores([store])
            let pid = try home.mount()
            let builder = HostileTree(home: home, repository: home.path("s.git"))
            let good = try builder.resolve("main")
            let gpgID = try builder.resolve("main:.gpg-id")
            let mail = try builder.resolve("main:mail.gpg")
            let entries: [HostileTree.Entry] = [
                .init("100644", ".gpg-id", gpgID), .init("100644", "mail.gpg", mail),
            ]
            try builder.move("main", to: builder.commit(attack.tree(builder, entries), parents: [good]))
            // Readers all the while.
            let reader = try home.start([
                "sh", "-c",
                "while ! test -e stop; do test \"$(cat mnt/s/mail)\" = secret || exit 9; done",
            ])
            let sync = try home.run(["passdir", "sync", "s"], limit: .seconds(300))
            let visible = home.mountPoint.appending("s").appending("z").string
            if attack.says == nil {
                #expect(sync.exitCode == 0, "\(sync)")
                let took = try ContinuousClock().measure { try home.succeed(["stat", visible]) }
                #expect(took < .seconds(1), "\(took)")
                try home.succeed(["ls", "-lR", home.mountPoint.string])
                #expect(try home.run(["cat", visible]).exitCode != 0)
            } else {
                #expect(sync.exitCode != 0)
                #expect(try home.run(["test", "-e", visible]).exitCode != 0)
            }
            try home.write("", to: "stop")
            #expect(try reader.wait().exitCode == 0, "others' secrets are read all the while")
            let status = try home.run(["passdir", "status"]).output
            #expect(status.contains(attack.says ?? "z"), "\(status)")
            #expect(status.contains("error    "), "\(status)")
            // Saving goes on, too.
            try home.succeed(["sh", "-c", "echo new > mnt/s/new && test \"$(cat mnt/s/new)\" = new"])
            let peak = try Self.peak(of: pid)
            print("\(attack.name): \(peak >> 10) MiB")
            #expect(peak < 200 << 10, "\(peak) KiB")
            try home.unmount()
        }
    }

    /// The most memory that a process ever had, in KiB.
    private static func peak(of pid: pid_t) throws -> Int {
        let file = try FileDescriptor.open("/proc/\(pid)/status", .readOnly)
        let text = try file.closeAfter {
            var bytes = [UInt8](repeating: 0, count: 1 << 14)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
            return String(decoding: bytes[..<count], as: UTF8.self)
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        let number = line.split { !$0.isNumber }.first.flatMap { Int($0) }
        guard let number else { throw TestFailure("no VmHWM of \(pid)") }
        return number
    }
}
