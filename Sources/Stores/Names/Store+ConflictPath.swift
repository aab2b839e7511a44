import Glibc
public import SystemPackage

extension Store {
    /// A free path beside a file, for a second version of it that is kept.
    /// - Throws: EEXIST where a thousand are taken.
    public func freeConflictPath(beside path: FilePath) throws(Errno) -> FilePath {
        for attempt in 0..<1000 {
            let name = ConflictName.path(beside: path, at: Int64(time(nil)), attempt: attempt)
            if try root.statusIfPresent(of: name) == nil { return name }
        }
        throw .fileExists
    }
}
