import Fuse
import Glibc
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// What could not be saved is not opened for writing, and what fails later is told.
@Suite struct RefusedOpeningTests {
    /// What is known to fail is refused where each program looks: at open(2), with the content as it was.
    @Test(arguments: SavingTests.Fault.allCases.filter { $0 != .noFolder }, [true, false])
    func whatCannotBeSavedIsNotOpened(_ fault: SavingTests.Fault, _ isThere: Bool) throws {
        try TestMount.with { mount in
            try mount.makeDirectory("work/d")
            try mount.write(mount.keys.ann.fingerprint, "work/d/.gpg-id")
            if isThere { try mount.save("old", "work/d/a") }
            try fault.make(mount)
            for flags in [O_WRONLY, O_WRONLY | O_TRUNC, O_RDWR, O_RDWR | O_APPEND] {
                let failure = mount.failure { () throws(Errno) in
                    try mount.open("work/d/a", flags | (isThere ? 0 : O_CREAT))
                }
                #expect(failure == fault.error)
            }
            #expect(mount.filesystem.unsaved.isEmpty)
            #expect(mount.filesystem.failedOpens(ofStore: "work").first?.hasPrefix("d/a: ") == true)
            if isThere { #expect(try mount.read("work/d/a") == "old") }
            // What is kept nowhere but in memory, and the list itself, can be written.
            try mount.save("x", "work/d/a~")
            try fault.mend(mount)
            #expect(mount.filesystem.failedOpens(ofStore: "work").isEmpty)
            try mount.save("new", "work/d/a")
            #expect(try mount.decrypt("work/d/a.gpg") == "new")
        }
    }

    /// The first failure of a save is told to whom the person sees, and not each try after it.
    @Test func aFailedSaveIsToldOnce() throws {
        let told = Mutex<[UnsavedSecret]>([])
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.saveFailed = { secret in told.withLock { $0.append(secret) } }
        try TestMount.with(options) { mount in
            try mount.saveInVain("work/a", list: "work/.gpg-id")
            #expect(mount.filesystem.retryFailedSaves() == 0)
            let first = told.withLock { $0 }
            #expect(first.map(\.path) == ["a"] && first.first?.message.contains("nobody@example.org") == true)
        }
    }
}

extension TestMount {
    /// Writes to a file that was opened before its list named somebody without a key.
    func saveInVain(_ path: String, list: String) throws {
        let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try file.write("new")
        try write("nobody@example.org", list)
        #expect(failure { () throws(Errno) in try file.close() } == .requiredKeyNotAvailable)
    }
}
