import SystemPackage

extension TestHome {
    /// Opens files for writing, spoils what they are to be saved with, and then writes to them and closes them: from then on
    /// they could not even be opened for writing.
    /// - Returns: what close(2) of each said; nil for success.
    public func save(
        _ text: String = "text\n", to files: [FilePath], after spoil: () throws -> Void
    ) throws -> [Errno?] {
        let opened = try files.map {
            try FileDescriptor.open(
                $0, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        }
        try spoil()
        return try opened.map { file in
            try file.writeAll(Array(text.utf8))
            do { try file.close() } catch let error as Errno { return error }
            return nil
        }
    }
}
