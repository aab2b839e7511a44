import Glibc
public import SystemPackage

extension Store {
    /// Writes a file that is no secret, a public key, and the folder it lies in where that is not there. Durable on
    /// return; other files of that name are replaced in one step.
    public func writePublicKey(_ bytes: [UInt8], as path: FilePath) throws(StoreError) {
        let temporary = FilePath("\(Self.temporaryPrefix)\(getpid())-key.tmp")
        do {
            do throws(Errno) {
                try root.makeDirectory(path.removingLastComponent())
            } catch .fileExists {}
            let file = try root.open(temporary, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
            try file.writeDurably(bytes, accessed: nil, modified: nil)
            try root.rename(temporary, to: path)
            try root.synchronizeParent(of: path)
        } catch {
            throw StoreError(error, "write", path)
        }
    }

    /// Writes a file of the store that is no secret and is not there yet; nobody else can read it. Durable on return.
    /// - Throws: `.system(.fileExists)` where it is there, and nothing is changed then.
    public func writeNewFile(_ bytes: [UInt8], as path: FilePath) throws(StoreError) {
        try StoreError.wrapping("write", path) {
            let file = try root.open(path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try file.writeDurably(bytes, accessed: nil, modified: nil)
            try root.synchronizeParent(of: path)
        }
    }
}
