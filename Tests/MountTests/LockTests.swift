import Access
import Fuse
import Glibc
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Fuse
@testable import Mount

/// Of a locked store nothing is read, and what is not on disk is not lost.
@Suite struct LockTests {
    /// A rename that has loaded a content, and was overtaken by a lock, must not save an empty one in its place.
    @Test func whatIsForgottenIsNotSavedAsEmpty() throws {
        let file = SecretFile(scratchMemory: ScratchMemory(limit: 1 << 20))
        let error = #expect(throws: StoreError.self) { try file.snapshot() }
        #expect(error?.code == .system(.permissionDenied))
        #expect(throws: Errno.permissionDenied) {
            try file.state.withLock { (state) throws(Errno) in try state.checkLoaded() }
        }
    }

    @Test func whatIsLockedIsNotReadAndLooksGoOn() throws {
        try TestMount.withKernel { mount, kernel in
            try mount.encrypt("text", "work/a.gpg")
            try mount.encrypt("other", "home/a.gpg")
            let entry = try mount.look("work/a")
            defer { mount.forget(entry) }
            let reader = try mount.open("work/a", O_RDONLY)
            let kept = try mount.open("home/a", O_RDONLY)
            #expect(try reader.text == "text")
            #expect(try mount.read("work/a") == "text", "it is kept after the close, too")
            kernel.clear()
            mount.lock("work")
            #expect(kernel.heard.contains(.pages(entry.inode)))
            #expect(mount.isForgotten(entry.inode))
            #expect(mount.failure { () throws(Errno) in try reader.text } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try mount.read("work/a") } == .permissionDenied)
            #expect(
                mount.failure { () throws(Errno) in try mount.open("work/a", O_WRONLY | O_APPEND) }
                    == .permissionDenied, "what is there would have to be read")
            #expect(
                mount.failure { () throws(Errno) in try mount.truncate("work/a", to: 2) } == .permissionDenied
            )
            #expect(mount.openAtOnce("work/a") == nil)
            let sentence = "work is locked; passdir unlock work"
            #expect(try mount.attribute("error", of: "work/a") == sentence)
            #expect(mount.filesystem.failedOpens(ofStore: "work") == ["a: \(sentence)"])
            #expect(try mount.names() == ["a"] && mount.size("work/a") == 4)
            #expect(try mount.read("work/.gpg-id") == mount.keys.ann.fingerprint + "\n", "it is no secret")
            #expect(try kept.text == "other" && mount.read("home/a") == "other", "other stores go on")

            mount.unlock("work")
            #expect(mount.filesystem.failedOpens(ofStore: "work").isEmpty)
            #expect(try mount.read("work/a") == "text")
            #expect(
                mount.failure { () throws(Errno) in try reader.text } == .permissionDenied,
                "who agreed did not agree to what was open")
            reader.release()
            kept.release()
        }
    }

    @Test func whatIsNotSavedIsSaved() throws {
        try TestMount.withKernel { mount, _ in
            for name in ["a", "b", "c"] { try mount.encrypt("old", "work/\(name).gpg") }
            let edited = try mount.open("work/a", O_RDWR | O_TRUNC)
            try edited.write("new")
            let unedited = try mount.open("work/b", O_RDWR)
            let scratch = try mount.open("work/.a.swp", O_RDWR | O_CREAT)
            try scratch.write("swap")
            mount.lock("work")
            #expect(mount.failure { () throws(Errno) in try edited.text } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try scratch.text } == .permissionDenied)
            try edited.write("er", at: 3)
            try edited.synchronize()
            #expect(try mount.decrypt("work/a.gpg") == "newer")
            try edited.write("!", at: 5)
            try edited.close()
            #expect(try mount.decrypt("work/a.gpg") == "newer!")
            #expect(mount.isForgotten(edited.inode), "with the last writer")
            // A part of what was wiped cannot be changed, and nothing is made of the rest.
            #expect(mount.failure { () throws(Errno) in try unedited.write("x", at: 1) } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try unedited.truncate(to: 9) } == .permissionDenied)
            #expect(mount.failure { () throws(Errno) in try unedited.allocate(0, 0, 9) } == .permissionDenied)
            try unedited.close()
            #expect(try mount.decrypt("work/b.gpg") == "old")
            try mount.save("whole", "work/c")
            try mount.save("fresh", "work/d")
            #expect(try mount.decrypt("work/c.gpg") == "whole" && mount.decrypt("work/d.gpg") == "fresh")
            // What only has to be renamed is; what would have to be decrypted for it is not.
            try mount.rename("work/c", "work/e")
            #expect(
                mount.failure { () throws(Errno) in try mount.rename("work/e", "work/e~") } == .improperLink)
            mount.unlock("work")
            #expect(try scratch.text == "swap", "it is nowhere else")
            #expect(try mount.read("work/e") == "whole")
            scratch.release()
        }
    }

    @Test func aDecryptionOnItsWayDeliversNothing() throws {
        try TestMount.with { mount in
            try mount.encrypt("text", "work/a.gpg")
            let gate = SlowEngine(mount.keys.engine)
            let store = mount.store("work")
            store.use(gate, store.options)
            let reply = Answered(try mount.beginToOpen("work/a"))
            gate.waitForReader()
            mount.lock("work")
            #expect(reply.failure == .permissionDenied)
            gate.letGo()
            gate.waitUntilDone()
            let inode = try mount.look("work/a").inode
            #expect(mount.isForgotten(inode))
            mount.unlock("work")
            #expect(mount.openAtOnce("work/a") == nil)
            #expect(try mount.read("work/a") == "text")
            for _ in 0..<2 { mount.filesystem.forget(inode, count: 1) }
        }
    }

    /// Many who wait hear one answer, and hold no thread.
    @Test func oneConsentUnlocksForAll() throws {
        let person = Person()
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.consent = person
        try TestMount.with(options) { mount in
            try mount.encrypt("text", "work/a.gpg")
            try mount.encrypt("text", "work/b.gpg")
            let held = try ["work/a", "work/b"].map { try mount.look($0) }
            defer { for entry in held { mount.forget(entry) } }

            mount.lock("work")
            let waiting = try (0..<20).map {
                Answered(try mount.beginToOpen($0 % 2 == 0 ? "work/a" : "work/b"))
            }
            #expect(person.asked == [UnlockQuestion(store: "work", path: "a", caller: getpid())])
            #expect(waiting.allSatisfy { !$0.isGiven })
            person.answer(.granted)
            for reply in waiting {
                let opened = try reply.value()
                #expect(try TestFile(mount: mount, inode: reply.inode, handle: opened.handle).text == "text")
                mount.filesystem.release(reply.inode, handle: opened.handle, flags: OpenFlags(rawValue: 0))
            }
            #expect(try mount.read("work/b") == "text" && person.asked.count == 1)

            mount.lock("work")
            let refused = Answered(try mount.beginToOpen("work/a"))
            person.answer(.refused)
            #expect(refused.failure == .permissionDenied)
            // The next one is asked about again; whoever locks once more, suspends or gives up ends the question.
            for end in [
                { mount.lock("work") }, { mount.filesystem.endWaitsForPeople() },
                { mount.caller.interrupt() },
            ] {
                let before = person.asked.count
                let waiting = Answered(try mount.beginToOpen("work/a"))
                #expect(person.asked.count == before + 1 && !waiting.isGiven)
                end()
                #expect([.permissionDenied, .interrupted].contains(waiting.failure))
                #expect(person.isEnded)
                #expect(mount.filesystem.locks.isLocked("work"), "nobody waits for that answer")
            }
            let freed = Answered(try mount.beginToOpen("work/a"))
            mount.unlock("work")
            mount.filesystem.release(
                freed.inode, handle: try freed.value().handle, flags: OpenFlags(rawValue: 0))
        }
    }

    /// The kernel's pages go, those of a mapping too, and what was written into one is not lost with them.
    @Test(.enabled(if: access("/dev/fuse", R_OK | W_OK) == 0))
    func theKernelForgets() throws {
        try TestMount.with { mount in
            let text = String(repeating: "page ", count: 2000)
            for name in ["a", "b"] { try mount.encrypt(text, "work/\(name).gpg") }
            let place = mount.keys.home.path("k\(UInt64.random(in: 0 ... .max))")
            try mount.keys.home.succeed(["mkdir", place.string])
            let session = try Session(
                mountPoint: place, filesystemName: "passdir", subtype: "passdir", filesystem: mount.filesystem
            )
            let serving = try PosixThread(named: "serving") { session.run() }
            defer {
                try? session.unmount(lazily: true)
                serving.join()
            }
            func map(_ name: String, _ mode: FileDescriptor.AccessMode) throws -> Mapping {
                try Mapping(place.pushing(FilePath("work/" + name)), mode)
            }
            do {
                let (read, written) = (try map("a", .readOnly), try map("b", .readWrite))
                #expect(memcmp(read.pages, text, 8192) == 0)
                memcpy(written.pages, "EDIT ", 5)
                #expect(try read.isResident && written.isResident)
                mount.lock("work")
                #expect(try !read.isResident && !written.isResident)
                for descriptor in [read.descriptor, written.descriptor] {
                    #expect(throws: Errno.permissionDenied) {
                        try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) {
                            _ = try descriptor.read(fromAbsoluteOffset: 0, into: $0)
                        }
                    }
                }
            }
            let expected = "EDIT " + text.dropFirst(5)
            try mount.keys.home.waitUntil("the mapping is saved") {
                try mount.decrypt("work/b.gpg") == expected
            }
            #expect(try mount.decrypt("work/a.gpg") == text)
        }
    }
}

/// Pages of a file that is open.
private final class Mapping {
    let descriptor: FileDescriptor
    let pages: UnsafeMutableRawPointer

    init(_ file: FilePath, _ mode: FileDescriptor.AccessMode) throws {
        descriptor = try FileDescriptor.open(file, mode)
        let protection = mode == .readOnly ? PROT_READ : PROT_READ | PROT_WRITE
        guard let pages = mmap(nil, 8192, protection, MAP_SHARED, descriptor.rawValue, 0), pages != MAP_FAILED
        else { throw Errno(rawValue: errno) }
        self.pages = pages
    }

    deinit {
        munmap(pages, 8192)
        try? descriptor.close()
    }

    var isResident: Bool {
        get throws {
            var found: [UInt8] = [0, 0]
            guard mincore(pages, 8192, &found) == 0 else { throw Errno(rawValue: errno) }
            return found.contains { $0 & 1 == 1 }
        }
    }
}

/// A person who is asked, and answers when the test says so.
private final class Person: Consent {
    private struct State {
        var asked: [UnlockQuestion] = []
        var answer: (@Sendable (UnlockAnswer) -> Void)?
        var isEnded = false
    }
    private let state = Mutex(State())

    func askToUnlock(
        _ question: UnlockQuestion, answer: @escaping @Sendable (UnlockAnswer) -> Void
    ) -> @Sendable () -> Void {
        state.withLock { state in
            state.asked.append(question)
            state.answer = answer
            state.isEnded = false
        }
        // At that moment they agree.
        return {
            self.state.withLock { $0.isEnded = true }
            self.answer(.granted)
        }
    }

    var asked: [UnlockQuestion] { state.withLock { $0.asked } }
    var isEnded: Bool { state.withLock { $0.isEnded } }
    func answer(_ answer: UnlockAnswer) { state.withLock { $0.answer }?(answer) }
}

/// Decrypts as another engine does, and keeps the plaintext back until it is let go, whoever cancels.
private final class SlowEngine: Engine {
    private let engine: OpenPGPEngine
    private enum Stage { case idle, decrypting, letGo, done }
    private let stage = Monitor(Stage.idle)

    init(_ engine: OpenPGPEngine) { self.engine = engine }

    var home: FilePath { engine.home }

    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted {
        var request = request
        request.cancellation = nil
        let decrypted = try engine.decrypt(ciphertext, request)
        stage.withLock { if $0 == .idle { $0 = .decrypting } }
        stage.broadcast()
        stage.waiting { stage, _ in stage == .decrypting ? .wait(until: nil) : .done(()) }
        stage.withLock { $0 = .done }
        stage.broadcast()
        return decrypted
    }

    func waitForReader() { stage.waiting { stage, _ in stage == .idle ? .wait(until: nil) : .done(()) } }
    func waitUntilDone() { stage.waiting { stage, _ in stage == .done ? .done(()) : .wait(until: nil) } }
    func letGo() {
        stage.withLock { $0 = .letGo }
        stage.broadcast()
    }

    func encrypt(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel
    ) throws(OpenPGPError) -> [UInt8] { try engine.encrypt(plaintext, to: recipients, trust: trust) }
    func resolve(_ line: String, askingAgent: Bool) throws(OpenPGPError) -> [Recipient] {
        try engine.resolve(line, askingAgent: askingAgent)
    }
    func keys(matching patterns: [String], secretOnly: Bool) throws(OpenPGPError) -> [Key] {
        try engine.keys(matching: patterns, secretOnly: secretOnly)
    }
    func keys(in data: [UInt8]) throws(OpenPGPError) -> [Key] { try engine.keys(in: data) }
    func importKeys(_ data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] { try engine.importKeys(data) }
    func exportKeys(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8] {
        try engine.exportKeys(fingerprints)
    }
    func removeKey(_ fingerprint: Fingerprint) throws(OpenPGPError) { try engine.removeKey(fingerprint) }
    func verifyDetached(signature: [UInt8], of data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] {
        try engine.verifyDetached(signature: signature, of: data)
    }
    func signDetached(
        _ data: [UInt8], by signer: Fingerprint?, timeout: Duration?, cancellation: Cancellation?
    ) throws(OpenPGPError) -> [UInt8] {
        try engine.signDetached(data, by: signer, timeout: timeout, cancellation: cancellation)
    }
}

/// An open that may still wait.
private struct Answered {
    let inode: InodeNumber
    private let result = Monitor<Result<Opened, Errno>?>(nil)

    init(_ begun: (inode: InodeNumber, reply: Reply<Opened>)) {
        inode = begun.inode
        switch begun.reply {
        case .now(let value): result.withLock { $0 = .success(value) }
        case .later(let pending):
            pending.whenGiven { [result] given in
                result.withLock { $0 = given }
                result.signal()
            }
        }
    }

    var isGiven: Bool { result.withLock { $0 != nil } }

    func value() throws -> Opened {
        try result.waiting { result, _ in result.map { .done($0) } ?? .wait(until: nil) }.get()
    }

    var failure: Errno? {
        do { _ = try value() } catch { return error as? Errno }
        return nil
    }
}

extension TestMount {
    fileprivate func store(_ name: String) -> Store {
        filesystem.top.stores.first { $0.store.name == name }!.store
    }

    func lock(_ name: String) { filesystem.lock([store(name)], because: .command) }
    func unlock(_ name: String) { filesystem.unlock([store(name)]) }

    /// Whether nothing of a secret is in memory.
    fileprivate func isForgotten(_ inode: InodeNumber) -> Bool {
        (try? filesystem.tree.node(inode))?.secret?.state.withLock { $0.isLoaded } != true
    }

    fileprivate func openAtOnce(_ path: String) -> Opened? {
        guard let entry = try? look(path) else { return nil }
        defer { forget(entry) }
        return filesystem.openAtOnce(entry.inode, flags: OpenFlags(rawValue: O_RDONLY), for: 0)
    }

    /// Opens for reading, and waits for nothing. The look-up stays until the mount ends.
    fileprivate func beginToOpen(_ path: String) throws(Errno) -> (inode: InodeNumber, reply: Reply<Opened>) {
        let entry = try look(path)
        return (
            entry.inode,
            try filesystem.open(entry.inode, flags: OpenFlags(rawValue: O_RDONLY), for: caller)
        )
    }
}
