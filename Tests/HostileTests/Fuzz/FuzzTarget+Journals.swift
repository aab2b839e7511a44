import Git
import Glibc
import SystemPackage

@testable import Stores
@testable import Sync

extension FuzzTarget {
    /// The notes that one process leaves for the next: changes of recipients, operations on stores, commits; and the
    /// messages between a committer and its child.
    static let journals = FuzzTarget(
        name: "journals", most: 1 << 12,
        tokens: [
            "\0", "\0\0", "end\0", "staging\0", "f\0", "-\0", "skip\0", "/", "..", "../x", "kind\0add\0",
            "phase\0decided\0", "id\0", "folder\0/\0", "passdir change of recipients 3\0", "\t", "progress\t",
            "wanted\t", "failed\t",
        ],
        item: { journal(&$0) },
        read: { input, random in
            try readChange(input.bytes)
            try readOperation(input.bytes)
            try readMessage(input.bytes)
            if random.once(in: 4) { try readCommit(input) }
        })

    private static func journal(_ random: inout FuzzRandom) -> [UInt8] {
        let paths = (0..<random.below(5)).map { FilePath("mail/secret \($0).gpg") }
        switch random.below(4) {
        case 0:
            return ChangeJournal(
                store: random.pick(["0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b", "path:/home/ann/a b"]),
                phase: random.pick([.staging, .placing, .committing, .finished]),
                folder: random.once(in: 2) ? nil : "team/mail",
                applied: random.once(in: 2) ? nil : ".gpg-id", message: "Add Bob to team.\n",
                skipsUnreadable: random.once(in: 2),
                accepted: (0..<random.below(3)).map { _ in hexadecimal(20, &random) },
                planned: paths.map {
                    PlannedSecret(
                        path: $0,
                        content: random.once(in: 2) ? nil : ContentIdentity("12.345.1700000000.5"),
                        readers: (0..<random.below(2)).map { _ in hexadecimal(20, &random) })
                }
            ).bytes
        case 1:
            var operation = StoreOperation(
                kind: random.pick([.add, .reclone, .remove]), id: "0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b",
                name: "work", folder: "/home/ann/.password-store")
            operation.phase = random.pick([.preparing, .decided])
            operation.url = "https://example.org/store.git"
            operation.branch = "main"
            operation.isForced = random.once(in: 2)
            return operation.bytes
        case 2: return paths.flatMap { Array($0.string.utf8) + [0] }
        default:
            let messages: [TransferMessage] = [
                .succeeded(tip: nil), .failed(TransferFailure(code: .network, message: "no route to host")),
                .wanted(
                    .init(
                        url: "https://example.org", usernameFromURL: "ann", allowed: .init(rawValue: 1),
                        attempt: 2)),
            ]
            return Array(random.pick(messages).text.utf8)
        }
    }

    private static func readChange(_ bytes: [UInt8]) throws {
        guard let journal = ChangeJournal(bytes) else { return }
        let again = ChangeJournal(journal.bytes)
        try claim(again == journal, "a change of recipients comes back as \(String(describing: again))")
    }

    private static func readOperation(_ bytes: [UInt8]) throws {
        guard let operation = StoreOperation(bytes) else { return }
        let again = StoreOperation(operation.bytes)
        try claim(again == operation, "an operation comes back as \(String(describing: again))")
        for folder in [operation.newFolder, operation.oldFolder] {
            try claim(
                folder.removingLastComponent() == operation.folder.removingLastComponent(),
                "\(folder) is not beside \(operation.folder)")
        }
    }

    private static func readMessage(_ bytes: [UInt8]) throws {
        guard let message = TransferMessage(text: String(decoding: bytes, as: UTF8.self)) else { return }
        try claim(TransferMessage(text: message.text) != nil, "'\(message.text)' does not come back")
    }

    private static func readCommit(_ input: FuzzInput) throws {
        _ = try input.write(to: "passdir-commit")
        guard let left = CommitJournal(leftIn: input.folder) else {
            throw FuzzFinding("a note that nobody holds is not seen")
        }
        left.remove()
        let journal = try CommitJournal(left.paths, gitDirectory: input.folder)
        withExtendedLifetime(journal) {}
        journal.remove()
        // Written by a process that has ended.
        var bytes: [UInt8] = []
        for path in left.paths {
            path.withPlatformString { bytes += UnsafeRawBufferPointer(start: $0, count: strlen($0)) }
            bytes.append(0)
        }
        _ = try input.write(to: "passdir-commit", bytes)
        let again = CommitJournal(leftIn: input.folder)
        try claim(again?.paths == left.paths, "the paths of a commit do not come back")
        again?.remove()
    }
}
