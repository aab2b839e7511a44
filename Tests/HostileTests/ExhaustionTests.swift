import Glibc
import SystemPackage
import TestKit
import Testing

/// What others push is small, and would fill the daemon's memory: reading goes on, the memory stays bounded, `status`
/// tells it.
///
/// `PASSDIR_SOAK` says how many GiB the blob of zeros has (`scripts/soak exhaustion 1`); the list of lengths is then as long as
/// a secret may be.
@Suite struct ExhaustionTests {
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
            let size = Soak.count.map { "\($0)G" } ?? "256M"
            let id = try builder.home.succeed(
                ["sh", "-c", "head -c \(size) /dev/zero | git hash-object -w --stdin"],
                in: builder.repository, limit: .seconds(900))
            return try builder.tree(
                entries + [.init("100644", "z.gpg", String(decoding: id.prefix(40), as: UTF8.self))])
        },
        // From 1 GiB on the transfer has no room for it.
        Attack(
            name: "a blob of zeros, in kilobytes",
            says: Soak.count == nil ? "more than limits.secret allows" : "needs too much memory"
        ) {
            builder, entries in
            let blob = try DeltaPack.zeros(
                chunks: (Soak.count ?? 1) * (Soak.count == nil ? 17 : 65), in: builder)
            return try builder.tree(entries + [.init("100644", "z.gpg", blob)])
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
            for _ in 0..<(Soak.count == nil ? 100_000 : 8_000_000) { bytes += [0xe0, 1] }
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
    @Test(arguments: sampled(attacks)) func theDaemonGoesOn(attack: Attack) throws {
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
            let sync = try home.run(["passdir", "sync", "s"], limit: .seconds(900))
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
            let peak = try PeakMemory.kibibytes(of: pid)
            print("\(attack.name): \(peak >> 10) MiB")
            #expect(peak < 200 << 10, "\(peak) KiB")
            try home.unmount()
        }
    }
}
