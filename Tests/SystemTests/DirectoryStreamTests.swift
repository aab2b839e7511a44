import Glibc
import SystemPackage
import Testing

@testable import System

@Suite struct DirectoryStreamTests {
    /// Runs `body` with a folder that has one entry of each kind, and one whose name is no text.
    private func withFolder(_ body: (FilePath) throws -> Void) throws {
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let folder = template.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
        let latin: [CChar] = [CChar(bitPattern: 0xe9), 0]
        defer {
            for name in ["file", "link", "pipe"] { unlink(folder.appending(name).string) }
            unlinkLatin(folder, latin)
            rmdir(folder.appending("folder").string)
            rmdir(folder.string)
        }
        close(open(folder.appending("file").string, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        symlink("/nowhere", folder.appending("link").string)
        mkfifo(folder.appending("pipe").string, 0o600)
        mkdir(folder.appending("folder").string, 0o700)
        let directory = open(folder.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        close(openat(directory, latin, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        close(directory)
        try body(folder)
    }

    private func unlinkLatin(_ folder: FilePath, _ name: [CChar]) {
        let directory = open(folder.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        unlinkat(directory, name, 0)
        close(directory)
    }

    private static let all: [[UInt8]: EntryKind] = [
        Array("file".utf8): .regular, Array("link".utf8): .symbolicLink, Array("pipe".utf8): .other,
        Array("folder".utf8): .directory, [0xe9]: .regular,
    ]

    @Test func listsEveryEntryWithItsKind() throws {
        try withFolder { folder in
            var found: [[UInt8]: EntryKind] = [:]
            var stream = try DirectoryStream(folder)
            while let entry = try stream.next() { found[entry.name] = entry.kind }
            #expect(found == Self.all)
        }
    }

    @Test func listsAFolderThatIsOpenAlready() throws {
        try withFolder { folder in
            let opened = OwnedDescriptor(open(folder.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
            var stream = try DirectoryStream(opened)
            var count = 0
            while let entry = try stream.next() {
                count += 1
                if entry.name == [0xe9] { #expect(entry.component?.string == "\u{FFFD}") }
            }
            #expect(count == Self.all.count)
            _ = try stream.openFolder(Array("folder".utf8))
            // A link is not followed, a file is no folder.
            for name in ["link", "file"] {
                do throws(Errno) {
                    _ = try stream.openFolder(Array(name.utf8))
                    Issue.record("\(name) was opened")
                } catch {
                    #expect(error == .notDirectory || error == .tooManySymbolicLinkLevels)
                }
            }
        }
    }

    @Test func whatIsNoFolderHasNoEntries() throws {
        #expect(throws: Errno.noSuchFileOrDirectory) {
            _ = try DirectoryStream("/proc/nowhere")
        }
        #expect(DirectoryStream.names(in: "/proc/nowhere") == [])
    }

    @Test func aPathWithoutLinks() throws {
        try withFolder { folder in
            symlink("folder", folder.appending("way").string)
            defer { unlink(folder.appending("way").string) }
            let resolved = try folder.appending("way").appending("..").resolvingLinks()
            #expect(try resolved == folder.resolvingLinks())
            #expect(throws: Errno.noSuchFileOrDirectory) { try folder.appending("link").resolvingLinks() }
        }
    }

    @Test func pipesAndTheirEndsAreClosedInPrograms() throws {
        let pipe = try Pipe()
        for end in [pipe.reading.raw, pipe.writing.raw] {
            #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0)
        }
        let reading = pipe.takeReading()
        var byte: UInt8 = 0
        #expect(read(reading.raw, &byte, 1) == 0, "nobody can write any more")
    }
}
