import Glibc
public import Settings
import System
public import SystemPackage

extension Registry {
    /// Adds a store that lies in `path` to the configuration. Nothing of the store itself is touched.
    /// - Parameter key: the user's own key for it; nil says nothing of that.
    /// - Parameter keyring: a GnuPG home of its own.
    /// - Returns: the id that it got.
    /// - Throws: what is wrong with the name or the place; also where the folder has no `.gpg-id` at its top, so that
    ///   nothing says that it is a password store.
    @discardableResult
    public func add(
        name: String, path: FilePath, key: String? = nil, keyring: FilePath? = nil
    ) throws(SettingsError) -> String {
        let folder = try placeForNew(name: name, path: path)
        guard folder.appending(Store.recipientFileName).facts()?.kind == .regular else {
            throw SettingsError(
                code: .access,
                message:
                    "there is no .gpg-id in \(folder), so it is not a password store: passdir store add --init "
                    + "makes it one"
            )
        }
        let id = UUIDText.random()
        var values = [("path", folder.string), ("id", id)]
        if let key { values.append(("key", key)) }
        if let keyring { values.append(("keyring", keyring.string)) }
        try configuration.addStore(name: name, values: values)
        return id
    }

    /// The folder, links resolved, of a store that is to be added.
    /// - Throws: what is wrong with the name or the place.
    public func placeForNew(name: String, path: FilePath) throws(SettingsError) -> FilePath {
        try checkNew(name)
        guard path.exists || errno != ENOENT else {
            throw SettingsError(
                code: .access,
                message:
                    "\(path) does not exist: name the folder of a password store, or create one with passdir store add "
                    + "--init")
        }
        let folder = try Self.resolved(path)
        try checkPlace(folder)
        return folder
    }

    /// As `placeForNew`, of a folder that is to become a password store: where it is not there, it is made in one that is.
    /// - Returns: the folder, links resolved, and whether it was made.
    public func makePlaceForNew(
        name: String, path: FilePath
    ) throws(SettingsError) -> (folder: FilePath, isMade: Bool) {
        guard let last = path.lastComponent, !path.exists,
            errno == ENOENT
        else { return (try placeForNew(name: name, path: path), false) }
        try checkNew(name)
        let above = path.removingLastComponent()
        guard above.exists || errno != ENOENT else {
            throw SettingsError(
                code: .access,
                message: "\(above) does not exist, so \(path) cannot be created: create it first")
        }
        let folder = try Self.resolved(above).appending(last)
        try checkPlace(folder)
        let cannot = { (error: Errno) in
            SettingsError(code: .access, message: "cannot create \(path): \(error)")
        }
        guard try rethrowing(folder.makeFolder(), cannot) else { throw cannot(.fileExists) }
        return (folder, true)
    }

    /// Gives a store another name; everything that belongs to it stays its own.
    public func rename(_ name: String, to newName: String) throws(SettingsError) {
        let store = try configured(name)
        if StoreName.areAlike(store.name, newName) {
            if let objection = StoreName.objection(to: newName) {
                throw SettingsError(code: .name, message: objection)
            }
            guard store.name != newName else { return }
        } else {
            try checkNew(newName)
        }
        try configuration.renameStore(name: store.name, to: newName)
    }

    /// The store of a name, which must be in the configuration.
    public func configured(_ name: String) throws(SettingsError) -> StoreDefinition {
        let store = try definition(named: name)
        guard !store.isImplicit else {
            throw SettingsError(
                code: .noStore,
                message: "\"\(store.name)\" is pass's own store and not in the configuration yet: "
                    + "passdir store add NAME --path \(store.path) adds it")
        }
        return store
    }

    /// Gives every store that was written by hand, or by an older passdir, its id.
    /// - Returns: the old and the new identifier of each, for what was learned about it.
    func giveIdentities() throws(SettingsError) -> [(old: String, new: String)] {
        var given: [(old: String, new: String)] = []
        for store in try definitions() where !store.isImplicit && store.id == nil {
            let id = UUIDText.random()
            try configuration.setStore(name: store.name, key: "id", value: id)
            given.append((store.identifier, id))
        }
        return given
    }

    /// Refuses a name that a store cannot have, or that another one has, also by case.
    func checkNew(_ name: String) throws(SettingsError) {
        if let objection = StoreName.objection(to: name) {
            throw SettingsError(code: .name, message: objection)
        }
        for section in try configuration.stores() where StoreName.areAlike(section.name, name) {
            throw SettingsError(
                code: .storeExists,
                message: "there is already a store \"\(section.name)\": choose another name")
        }
    }

    /// Refuses a folder that can be no store, that lies in another store, has one in it, or lies in the mount.
    func checkPlace(_ folder: FilePath) throws(SettingsError) {
        if let objection = StorePlace.objection(to: folder, environment: environment) {
            throw SettingsError(code: .access, message: "\(folder) \(objection)")
        }
        for section in try configuration.stores() {
            guard let other = try? StoreDefinition(section, cloneFolder: cloneFolder).path,
                // Where its disk does not answer, the words of its path are all that is known.
                let place = DiskLook.at(other).answers ? try? Self.resolved(other) : other
            else { continue }
            if folder.starts(with: place) || place.starts(with: folder) {
                throw SettingsError(
                    code: .storeExists,
                    message:
                        "\(folder) and the store \"\(section.name)\" in \(place) overlap: a secret can belong "
                        + "to only one store")
            }
        }
        var mounts = MountTable.passdirMounts()
        if let configured = try? configuration.value(Catalogue.mountPath) {
            mounts.append((try? Self.resolved(configured)) ?? configured)
        }
        for mount in mounts where folder.starts(with: mount) || mount.starts(with: folder) {
            throw SettingsError(
                code: .access,
                message:
                    "\(folder) and the mount point \(mount) overlap: a store must be outside the mount"
            )
        }
    }
}

/// The mounts of this mount namespace, as far as stores need to know them.
enum MountTable {
    /// The mount points of passdir, of whatever process.
    static func passdirMounts() -> [FilePath] {
        guard let bytes = try? PrivateFile.read("/proc/self/mountinfo") else { return [] }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard let separator = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }),
                fields.count > separator + 1,
                fields[separator + 1].elementsEqual("fuse.passdir".utf8), fields.count > 4
            else { return nil }
            return FilePath(platformString: unescaped(Array(fields[4])) + [0])
        }
    }

    /// The kernel writes space, tab, newline and backslash as three octal digits.
    private static func unescaped(_ field: [UInt8]) -> [CChar] {
        var result: [CChar] = []
        var index = 0
        while index < field.count {
            if field[index] == UInt8(ascii: "\\"), index + 3 < field.count,
                let code = UInt8(String(decoding: field[(index + 1)...(index + 3)], as: UTF8.self), radix: 8)
            {
                result.append(CChar(bitPattern: code))
                index += 4
            } else {
                result.append(CChar(bitPattern: field[index]))
                index += 1
            }
        }
        return result
    }
}
