import Fuse
import SystemPackage

@testable import Fuse
@testable import Mount

/// What folders list, at once or little by little while entries come and go.
extension MountModel {
    /// A folder that somebody reads.
    struct Listing {
        var folder: ModelNode
        var handle: HandleNumber
        /// What it held when the listing was begun.
        var expected: [String]
        var found: [String] = []
        var offset: Int64 = 0
    }

    private func names(in folder: ModelNode) -> [String] {
        folder.children.map { "\($0.key)\($0.value.isFolder ? "/" : "")" }.sorted()
    }

    /// The next entries, up to `room`.
    private func read(_ listing: inout Listing, room: Int = .max) throws(Errno) {
        var room = room
        var (found, next) = (listing.found, listing.offset)
        try filesystem.readDirectory(
            listing.folder.inode, handle: listing.handle, offset: listing.offset
        ) { entry, offset in
            guard room > 0 else { return false }
            (room, next) = (room - 1, offset)
            let name = entry.name.string
            if ![".", "..", ".gpg-id"].contains(name) {
                found.append(entry.kind == .directory ? name + "/" : name)
            }
            return true
        }
        (listing.found, listing.offset) = (found, next)
    }

    func list() throws {
        let folder = anyFolder()
        try same("list \(folder.path)", names(in: folder)) { () throws(Errno) in
            let handle = try filesystem.openFolder(folder.inode, flags: OpenFlags(rawValue: 0)).handle
            defer { filesystem.releaseDirectory(folder.inode, handle: handle) }
            var listing = Listing(folder: folder, handle: handle, expected: [])
            try read(&listing)
            return listing.found.sorted()
        }
    }

    /// Begins to read a folder, or goes on with one: it tells what was there at the beginning, each once.
    func readDirectory(toTheEnd: Bool = false) throws {
        if !toTheEnd, listings.isEmpty || (listings.count < 5 && below(3) == 0) {
            let folder = anyFolder()
            try compare("opendir \(folder.path)", nil) { () throws(Errno) in
                let handle = try filesystem.openFolder(folder.inode, flags: OpenFlags(rawValue: 0)).handle
                var listing = Listing(folder: folder, handle: handle, expected: names(in: folder))
                try read(&listing, room: 1 + below(3))
                listings.append(listing)
            }
            return
        }
        var listing = listings.remove(at: below(listings.count))
        let before = listing.offset
        try compare("readdir \(listing.folder.path)", nil) { () throws(Errno) in
            try read(&listing, room: toTheEnd ? .max : 1 + below(4))
        }
        guard listing.offset == before || toTheEnd else { return listings.append(listing) }
        filesystem.releaseDirectory(listing.folder.inode, handle: listing.handle)
        try same("readdir \(listing.folder.path)", listing.expected) { listing.found.sorted() }
    }
}
