import CLinux
import Glibc
import Settings
import System
public import SystemPackage

/// What became of a store's folder that was to go.
public struct PutAway: Sendable, Equatable {
    /// The store's name.
    public var store: String
    /// Where the folder lies now; nil when it had nothing of its own and is gone.
    public var place: FilePath?
    /// What of it exists nowhere else.
    public var work = UnsharedWork()
}

/// Where folders of stores go that hold what exists nowhere else: `$XDG_DATA_HOME/passdir/removed/NAME-DATE`.
public struct RemovedFolder {
    /// The folder of them all.
    let all: FilePath

    /// That of a user.
    public init(environment: [String: String]) {
        all = Directories(environment: environment).data.appending("removed")
    }

    /// Why a folder cannot be moved here, as the end of a sentence that began with it; nil when it can. Moving is one
    /// rename(2): a copy that is interrupted would be neither here nor there.
    func objection(to folder: FilePath) -> String? {
        guard let from = folder.facts() else { return nil }
        // It is made when it is needed.
        var place = all
        while !place.exists { guard place.removeLastComponent() else { return nil } }
        return from.st_dev == place.targetFacts()?.st_dev ? nil : "is on a different file system from \(all)"
    }

    private func make() throws(LifecycleError) {
        do throws(Errno) { try all.removingLastComponent().makeFolders() } catch {
            throw LifecycleError(.failed, "cannot create \(all): \(error)")
        }
        try LifecycleError.wrapping { try Directories.makePrivate(all) }
    }

    /// Moves a folder here, durably; where that cannot be, beside the place where it lies.
    /// - Returns: where it lies now.
    func take(_ folder: FilePath, of store: String) throws(LifecycleError) -> FilePath {
        // With the date and a number it stays under the 255 bytes of a name.
        var stem = store
        while stem.utf8.count > 200 { stem.removeLast() }
        let date = CalendarDay(containing: Int64(time(nil)))
        do throws(LifecycleError) {
            try make()
            return try move(folder, into: all, as: "\(stem)-\(date)")
        } catch {
            guard
                let place = try? move(
                    folder, into: folder.removingLastComponent(), as: "\(stem)-removed-\(date)")
            else { throw error }
            return place
        }
    }

    /// Keeps a list of recipients that could not be saved and whose folder is gone, durably; it is no secret.
    /// - Returns: where it lies now.
    public func keep(
        list bytes: [UInt8], of folder: FilePath, in store: String
    ) throws(LifecycleError) -> FilePath {
        try make()
        let words = ([store] + folder.components.map(\.string)).joined(separator: "-")
        var stem = words.replacing("/", with: "-")
        while stem.utf8.count > 200 { stem.removeLast() }
        let date = CalendarDay(containing: Int64(time(nil)))
        var (place, number) = (all.appending("\(stem)-gpg-id-\(date)"), 1)
        while place.exists {
            // The same again, as a save that is tried again: it is kept already.
            if (try? PrivateFile.read(place)) == bytes { return place }
            number += 1
            place = all.appending("\(stem)-gpg-id-\(date)-\(number)")
        }
        do throws(Errno) { try PrivateFile.write(bytes, to: place) } catch {
            throw LifecycleError(.failed, "cannot write \(place): \(error)")
        }
        return place
    }

    private func move(
        _ folder: FilePath, into parent: FilePath, as name: String
    ) throws(LifecycleError) -> FilePath {
        var (place, number) = (parent.appending(name), 1)
        while Self.move(folder, to: place) != 0 {
            guard errno == EEXIST || errno == ENOTEMPTY else {
                throw LifecycleError(.failed, "cannot move \(folder) to \(place): \(Errno.last)")
            }
            number += 1
            place = parent.appending("\(name)-\(number)")
        }
        OwnedDescriptor.synchronize(folder: parent)
        OwnedDescriptor.synchronize(folder: folder.removingLastComponent())
        return place
    }

    private static func move(_ folder: FilePath, to place: FilePath) -> CInt {
        folder.withPlatformString { from in
            place.withPlatformString { to in
                passdir_renameat2(AT_FDCWD, from, AT_FDCWD, to, PASSDIR_RENAME_NOREPLACE)
            }
        }
    }
}
