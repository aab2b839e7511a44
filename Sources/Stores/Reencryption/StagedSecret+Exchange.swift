import System
public import SystemPackage

extension StagedSecret {
    /// Puts the ciphertext in place of what may be replaced. Anything else that another program has put there since gets a
    /// name beside it.
    ///
    /// It is durable after `Root.synchronizeParent(of:)`.
    /// - Parameters:
    ///   - mayGo: whether what lay there may be replaced: its facts, and the path where it lies now.
    ///   - aside: a free path for what may not.
    /// - Returns: the facts of what now lies there, and the path of what came since.
    public func publish(
        as secret: FilePath, replacing mayGo: (FileStatus, FilePath) -> Bool,
        keepingOthersAt aside: () throws(Errno) -> FilePath
    ) throws(StoreError) -> (status: FileStatus, kept: FilePath?) {
        do {
            guard try root.takePlace(of: secret, movingOldTo: temporary) else {
                markPublished()
                return (try file.status(), nil)
            }
            let replaced = try root.status(of: temporary)
            if mayGo(replaced, temporary) {
                try root.unlink(temporary)
                markPublished()
                return (try file.status(), nil)
            }
            let kept = try aside()
            try root.rename(temporary, to: kept, flags: .noReplace)
            markPublished()
            return (try file.status(), kept)
        } catch .invalidArgument {
            // A file system that cannot exchange: what comes in this moment is replaced.
            return (try publish(as: secret), nil)
        } catch {
            throw StoreError(error, "put in place", secret)
        }
    }

    /// Puts the ciphertext in place, and what lay there under a name beside it.
    ///
    /// Each step is one rename, and the name beside holds a complete file from the first one on: whenever this is cut
    /// off, nothing that anybody saved is gone. It is durable after `Root.synchronizeParent(of:)`.
    /// - Parameter aside: the path for what lay there; it must be free.
    /// - Returns: the facts of what now lies there, and whether something lay there before: it is at `aside` then, where
    ///   nothing is otherwise.
    /// - Throws: `.system(.fileExists)` when `aside` is taken.
    public func publish(
        as secret: FilePath, movingOldTo aside: FilePath
    ) throws(StoreError) -> (status: FileStatus, movedOld: Bool) {
        try StoreError.wrapping("write the new ciphertext next to", secret) {
            try root.rename(temporary, to: aside, flags: .noReplace)
        }
        markPublished()
        do {
            let movedOld = try root.takePlace(of: secret, movingOldTo: aside)
            return (try file.status(), movedOld)
        } catch {
            try? root.unlink(aside)
            throw StoreError(error, "put in place", secret)
        }
    }
}

extension Root {
    /// Gives the file at `aside` the name `path`; what had that name lies at `aside` then.
    /// - Returns: whether anything had it.
    public func takePlace(of path: FilePath, movingOldTo aside: FilePath) throws(Errno) -> Bool {
        for _ in 0..<64 {
            do throws(Errno) {
                try rename(aside, to: path, flags: .noReplace)
                return false
            } catch {
                guard error == .fileExists else { throw error }
            }
            do throws(Errno) {
                // It would be swapped like a file.
                if try status(of: path).kind == .directory { throw .isDirectory }
                try rename(aside, to: path, flags: .exchange)
                return true
            } catch {
                // It went away just now.
                guard error == .noSuchFileOrDirectory else { throw error }
            }
        }
        throw .resourceBusy
    }
}
