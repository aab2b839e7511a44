public import Contents
public import Fuse
import Synchronization
import System
public import SystemPackage

/// A file that shows the value of one reference for as long as a process runs.
public struct HeldFile: Sendable {
    /// What the file is called.
    public let name: Name
    let template: Template
    let made = FileTime.now

    /// - Parameter reference: as in a template, and nothing else.
    /// - Throws: `.invalid` for anything else; `.system` without memory.
    public init(name: Name, reference: String) throws(ContentsError) {
        self.name = name
        var reference = reference
        let read: Result<Template, ContentsError> = reference.withUTF8 { bytes in
            do throws(ContentsError) {
                return .success(try Template(UnsafeRawBufferPointer(bytes)))
            } catch {
                return .failure(error)
            }
        }
        let template = try read.get()
        guard template.references.first?.range == 0..<reference.utf8.count else {
            throw ContentsError(.invalid, "\(reference) is no reference to a secret")
        }
        self.template = template
    }
}

/// Files that `passdir run --files` gives to a program, in a folder for each run: `.passdir/run/ID/NAME`. It is there until the
/// program has ended. Only references are kept: the value is made when the file is opened, for who opens it.
final class HeldFiles: Sendable {
    private struct Folder {
        let name: Name
        let owner: RunningProcess
        let files: [HeldFile]
    }

    /// No program runs so many others with files at once.
    private static let mostFolders = 1000

    private let folders = Mutex<[Folder]>([])

    /// The folders of programs that run.
    var names: [Name] { withFolders { $0.map(\.name) } }

    /// The programs that run and have files.
    var owners: [Int32] { withFolders { $0.map(\.owner.number) } }

    /// Has a new folder for a process.
    /// - Returns: the folder's name.
    /// - Throws: EAGAIN where there are too many.
    func hold(_ files: [HeldFile], for owner: RunningProcess) throws(Errno) -> Name {
        let text = String(UInt64.random(in: .min ... .max), radix: 16)
        guard let name = Name(text) else { throw .invalidArgument }
        let isHeld = withFolders { folders in
            guard folders.count < Self.mostFolders else { return false }
            folders.append(Folder(name: name, owner: owner, files: files))
            return true
        }
        guard isHeld else { throw .resourceTemporarilyUnavailable }
        return name
    }

    /// The files of a folder; nil where there is none, or its program has ended.
    func files(_ folder: Name) -> [HeldFile]? {
        withFolders { $0.first { $0.name == folder }?.files }
    }

    func file(_ name: Name, in folder: Name) -> HeldFile? { files(folder)?.first { $0.name == name } }

    /// Runs `body` with the folders of the programs that still run.
    private func withFolders<Value>(_ body: (inout [Folder]) -> Value) -> Value {
        folders.withLock { folders in
            folders.removeAll { $0.owner.hasEnded }
            return body(&folders)
        }
    }
}
