import SystemPackage
import TestKit
import Testing

/// `pass` reads what passdir saved and passdir reads what `pass` saved, for the recipients that `.gpg-id` names.
@Suite struct PassCompatibilityTests {
    /// A folder of the store, and who is named for it.
    struct Folder {
        var path: String
        var recipients: [TestKey]
    }

    /// Holds:
    /// - What `pass` has saved is read byte for byte as `pass show` prints it.
    /// - A secret is encrypted to all recipients that the nearest `.gpg-id` names, and `pass show` prints it
    ///   byte for byte.
    @Test func passAndTheMountReadEachOther() throws {
        let count = Soak.count(inSuite: 40)
        try TestHome.guarded(limit: .seconds(240 + count * 2)) { home in
            let keys = try ["a", "b", "c"].map { try home.makeKey("\($0)@example.org") }
            let store = try home.makeStore("work", recipients: [keys[0]], remote: true)
            let folders = try makeFolders(in: store, keys)

            let ofPass = try plan(count, "pass", folders)
            for (secret, content) in ofPass { try store.insert(secret.name, content) }
            try store.git("push", "--quiet")

            try home.addStores([store])
            try home.mount()
            for (secret, content) in ofPass {
                #expect(try FileCalls.read(home.visible("work/\(secret.name)")) == content, "\(secret.name)")
                #expect(try store.show(secret.name) == content, "\(secret.name)")
            }
            Soak.say("\(count) secrets of pass read through the mount")

            // Half of them anew, half in place of one of pass's.
            var ofMount = try plan(count, "mount", folders)
            for index in stride(from: 0, to: count, by: 2) { ofMount[index].secret = ofPass[index].secret }
            for (secret, content) in ofMount {
                try FileCalls.save(content, to: home.visible("work/\(secret.name)"))
            }
            for (secret, content) in ofMount {
                #expect(try store.show(secret.name) == content, "\(secret.name)")
                let wanted = try Set(secret.folder.recipients.flatMap { try home.encryptionKeyIDs(of: $0) })
                #expect(try store.recipientKeyIDs(of: secret.name) == wanted, "\(secret.name)")
            }
            Soak.say("\(count) secrets saved through the mount are shown by pass, recipients right")

            try home.waitUntilCommitted(store)
            try home.unmount()
            try store.git("fsck", "--strict", "--full")
            #expect(try store.git("status", "--porcelain").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
            // What is committed is what is on disk, not only "clean" by git's cached times.
            try store.git("update-index", "--really-refresh")
            #expect(try store.git("diff", "HEAD", "--name-only").isEmpty)
        }
    }

    private struct Secret {
        var name: String
        var folder: Folder
    }

    /// Three `.gpg-id`: one line of pass's own; comments and several lines; a sub-folder of that with another.
    private func makeFolders(in store: TestStore, _ keys: [TestKey]) throws -> [Folder] {
        let team = """
            # who is in the team

            \(keys[0].fingerprint) # by fingerprint
              \(keys[1].address)\t
            # nobody else

            """
        let ops =
            "\(keys[2].fingerprint.suffix(16))# by key id, no newline at the end\n\(keys[1].fingerprint)"
        for (folder, text) in [("team", team), ("team/ops", ops)] {
            try FileCalls.ensureDirectory(store.path.appending(folder))
            try store.home.write(text, to: "work/\(folder)/.gpg-id")
        }
        try store.git("add", ".")
        try store.git("commit", "--quiet", "--message", "Name the team")
        return [
            Folder(path: "", recipients: [keys[0]]),
            Folder(path: "mail/", recipients: [keys[0]]),
            Folder(path: "mail/old accounts/2019/", recipients: [keys[0]]),
            Folder(path: "team/", recipients: [keys[0], keys[1]]),
            Folder(path: "team/web.example.org/", recipients: [keys[0], keys[1]]),
            Folder(path: "team/ops/", recipients: [keys[1], keys[2]]),
            Folder(path: "team/ops/Zürich/ünder/", recipients: [keys[1], keys[2]]),
        ]
    }

    /// Names and contents: none, text without a newline at the end, bytes that are no text, a long one.
    private func plan(
        _ count: Int, _ label: String, _ folders: [Folder]
    ) throws -> [(secret: Secret, content: [UInt8])] {
        try (0..<count).map { index in
            let folder = folders[index % folders.count]
            let stem = ["s", "with space", "dot.ted", "-dash", "ünïcode"][index / folders.count % 5]
            let content: [UInt8] =
                switch index % 6 {
                case 0: Array("\(label) \(index)\nuser: me\n".utf8)
                case 1: Array("\(label) \(index), no newline".utf8)
                case 2: try FileCalls.randomBytes(index % 40 == 2 ? 0 : 1)
                case 3: [0, 255, 13, 10, 0, UInt8(truncatingIfNeeded: index)]
                case 4: try FileCalls.randomBytes(200 + index)
                default: try FileCalls.randomBytes(index % 40 == 5 ? 300_000 : 9000)
                }
            // pass takes a name that begins with a dash for an option.
            let name = folder.path.isEmpty && stem.hasPrefix("-") ? "x" + stem : stem
            return (Secret(name: "\(folder.path)\(name)-\(label)-\(index)", folder: folder), content)
        }
    }
}

extension FileCalls {
    static func randomBytes(_ count: Int) throws -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

extension TestHome {
    /// The long ids of a key's encryption subkeys, as packets carry them.
    func encryptionKeyIDs(of key: TestKey) throws -> [String] {
        let listing = try succeed(["gpg", "--batch", "--with-colons", "--list-keys", key.fingerprint])
        return String(decoding: listing, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 11, fields[0] == "sub" || fields[0] == "pub", fields[11].contains("e") else {
                return nil
            }
            return String(fields[4])
        }
    }
}
