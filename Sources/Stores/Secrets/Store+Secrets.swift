import Glibc
import OpenPGP
import System
public import SystemPackage

extension Store {
    /// The secrets below a folder, in the order of their names; symbolic links and `.git` folders are left out.
    /// - Parameter nested: Whether folders with a `.gpg-id` of their own belong to it.
    public func secrets(below folder: FilePath, nested: Bool) throws(StoreError) -> [FilePath] {
        var found: [FilePath] = []
        try walk(folder, nested: nested) { directory, entry in
            guard entry.kind == .regular, entry.name.strippingSuffix() != nil else { return }
            found.append(directory.appending(entry.name))
        }
        return found
    }

    /// The path in the mount of a file of this store.
    public func visiblePath(of file: FilePath) -> FilePath { VisibleName.visiblePath(of: file, in: root) }

    /// The `.gpg-id` files in a folder and below it, outer ones first.
    public func recipientFiles(below folder: FilePath) throws(StoreError) -> [FilePath] {
        var found: [FilePath] = []
        try walk(folder, nested: true) { directory, entry in
            guard entry.name == Self.recipientFileName, entry.kind == .regular else { return }
            found.append(directory.appending(entry.name))
        }
        return found
    }

    private func walk(
        _ folder: FilePath, nested: Bool, _ visit: (FilePath, DirectoryEntry) -> Void
    ) throws(StoreError) {
        var waiting = [folder]
        while let directory = waiting.popLast() {
            let entries: [DirectoryEntry]
            do {
                entries = try root.entries(of: directory)
            } catch .noSuchFileOrDirectory where directory != folder {
                continue
            } catch {
                throw StoreError(error, "list", directory)
            }
            let isNested = entries.contains { $0.name == Self.recipientFileName && $0.kind != .directory }
            if !nested, directory != folder, isNested { continue }
            var folders: [FilePath] = []
            for entry in entries.sorted(by: { $0.name.string < $1.name.string }) {
                let name = entry.name.string
                guard name != ".git", !name.hasPrefix(Self.temporaryPrefix) else { continue }
                if entry.kind == .directory {
                    folders.append(directory.appending(entry.name))
                } else {
                    visit(directory, entry)
                }
            }
            waiting += folders.reversed()
        }
    }

    /// The ids of the keys that a secret is encrypted to, 0 for a hidden one; read from its packets, without a key.
    /// - Throws: `tooLarge` for an armoured file that is larger than a secret may be.
    public func recipientKeyIDs(of secret: FilePath) throws(StoreError) -> [UInt64] {
        try head(of: secret).keyIDs
    }

    /// What stands before the encrypted data of a secret, as `recipientKeyIDs`.
    func head(of secret: FilePath) throws(StoreError) -> Packets.Head {
        do {
            let file = try root.openToLook(secret)
            let size = try file.status().identity.size
            if try file.read(at: 0, count: 1).first == UInt8(ascii: "-") {
                return Packets.head(in: try file.readAll(limit: options.ciphertextLimit).bytes)
            }
            return try Packets.head(fileSize: size) { (offset, count) throws(Errno) in
                try file.read(at: offset, count: count)
            }
        } catch .fileTooLarge {
            throw StoreError(
                .tooLarge,
                "\(secret.string) is larger than limits.secret (\(options.secretLimit) bytes) allows.")
        } catch {
            throw StoreError(error, "read", secret)
        }
    }
}
