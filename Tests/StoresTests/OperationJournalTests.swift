import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// The note of an operation names folders that are removed when the next process takes it back.
@Suite struct OperationJournalTests {
    private func note(id: String, folder: String) -> [UInt8] {
        ["kind", "reclone", "phase", "preparing", "id", id, "name", "work", "folder", folder]
            .flatMap { Array($0.utf8) + [0] }
    }

    @Test(arguments: ["a/../../b", "..", ".", "", "/x", "a/b", "a/"])
    func anIdentifierIsOneName(_ id: String) {
        #expect(StoreOperation(note(id: id, folder: "/home/ann/store")) == nil)
    }

    @Test func whatIsWrittenIsRead() throws {
        let id = "0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b"
        let operation = try #require(StoreOperation(note(id: id, folder: "/home/ann/store")))
        #expect(StoreOperation(operation.bytes) == operation)
        #expect(operation.newFolder.string == "/home/ann/.passdir-\(id).new")
    }

    /// An optimised build once closed whatever number lay where the lock's was to go, standard output among them:
    /// `swift test -Xswiftc -O --filter OperationJournalTests` shows it.
    @Test func takingTheLockClosesNothing() throws {
        try TestHome.with { home in
            // The numbers that are likely to lie about.
            let held = try (0..<64).map { _ throws(Errno) in
                try OwnedDescriptor(opening: "/dev/null", O_RDONLY).release()
            }
            defer { for descriptor in held { close(descriptor) } }
            for _ in 0..<50 {
                _ = try OperationJournal(
                    environment: ["XDG_STATE_HOME": home.path("state").string], patience: .seconds(1))
            }
            for descriptor in held { #expect(fcntl(descriptor, F_GETFD) >= 0, "\(descriptor)") }
        }
    }
}
