import Fuse
import Glibc
import Settings
import System
import SystemPackage

/// The folders that were mounted on, with the modes that they had before: while nothing is mounted they stay closed, until they are
/// given back.
struct MountPointRecord {
    private let file: FilePath

    init(_ environment: [String: String]) {
        file = Directories(environment: environment).data.appending("mountpoints")
    }

    /// Notes a folder that is to be mounted on; what it is where it is closed already was noted before.
    func note(_ place: FilePath) throws(Errno) {
        let place = try place.resolvingLinks()
        guard let facts = place.facts() else { throw .last }
        let mode = facts.st_mode & 0o7777
        var known = try entries()
        if mode & S_IWUSR == 0, known[place] != nil { return }
        // One that nobody can write into has no other mode to go back to.
        known[place] = mode | S_IRWXU
        try file.removingLastComponent().makeFolders()
        try write(known)
    }

    /// The folders.
    var places: [FilePath] { ((try? entries()) ?? [:]).keys.sorted { $0.string < $1.string } }

    /// Makes the folders ordinary ones again; those of which that cannot be done stay noted.
    func giveBack() {
        guard let known = try? entries(), !known.isEmpty else { return }
        try? write(known.filter { !MountPoint.giveBack($0.key, mode: $0.value) })
    }

    /// A mode, octal, and a path, each ended by NUL.
    private func entries() throws(Errno) -> [FilePath: mode_t] {
        let fields = (try PrivateFile.read(file) ?? []).split(separator: 0).map(Array.init)
        var found: [FilePath: mode_t] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            let path = FilePath(bytes: fields[index + 1])
            guard let mode = mode_t(String(decoding: fields[index], as: UTF8.self), radix: 8), path.isAbsolute
            else { continue }
            found[path] = mode & 0o7777
        }
        return found
    }

    private func write(_ entries: [FilePath: mode_t]) throws(Errno) {
        guard !entries.isEmpty else {
            file.unlink()
            return
        }
        let fields = entries.sorted { $0.key.string < $1.key.string }.flatMap { path, mode in
            [Array(String(mode, radix: 8).utf8), path.bytes]
        }
        try PrivateFile.write(fields.flatMap { $0 + [0] }, to: file)
    }
}
