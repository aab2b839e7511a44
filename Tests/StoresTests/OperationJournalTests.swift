import SystemPackage
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
}
