import Glibc
import System
public import SystemPackage

/// Which folders are never a store, whoever names them: those in which everything else of the user's or the system's
/// lies, and those of other users. Whoever can name one in the configuration, or mistypes, would else hand it to the
/// committer.
public enum StorePlace {
    /// Why a folder cannot be a store, as the end of a sentence that began with the folder; nil when it can.
    /// - Parameters:
    ///   - folder: absolute, links resolved.
    ///   - environment: asked for `HOME`, `TMPDIR`, `XDG_RUNTIME_DIR` and `GNUPGHOME`.
    public static func objection(to folder: FilePath, environment: [String: String]) -> String? {
        guard let facts = folder.targetFacts() else { return nil }
        func isSame(_ other: FilePath) -> Bool {
            guard let found = other.targetFacts() else { return false }
            return found.st_dev == facts.st_dev && found.st_ino == facts.st_ino
        }
        let remedy = ": give the store a folder of its own"
        if folder.components.isEmpty { return "is the root of the file system" + remedy }
        let temporary = ["/tmp", "/var/tmp", "/dev/shm"] + [environment["TMPDIR"]].compactMap(\.self)
        if temporary.contains(where: { isSame(FilePath($0)) }) {
            return "is a folder for temporary files" + remedy
        }
        let runtime = ["/run/user/\(geteuid())"] + [environment["XDG_RUNTIME_DIR"]].compactMap(\.self)
        if runtime.contains(where: { isSame(FilePath($0)) }) {
            return "is the runtime folder" + remedy
        }
        for home in homes(environment) {
            var above = home
            while !above.components.isEmpty {
                if isSame(above) {
                    return (above == home ? "is your home folder" : "holds your home folder") + remedy
                }
                above.removeLastComponent()
            }
        }
        let gnupg =
            homes(environment).map { $0.appending(".gnupg") }
            + [environment["GNUPGHOME"]].compactMap(\.self).map { FilePath($0) }
        if gnupg.contains(where: isSame) { return "is GnuPG's home folder" + remedy }
        if folder.components.count == 1, system.contains(folder.components.first!.string) {
            return "is a system folder" + remedy
        }
        if let first = folder.components.first?.string, ["proc", "sys", "dev"].contains(first) {
            return "is a kernel file system" + remedy
        }
        if let first = folder.components.first?.string, programs.contains(first) {
            return "is a folder for system programs and settings" + remedy
        }
        guard facts.st_uid == geteuid() else {
            return "belongs to another user (uid \(facts.st_uid)): a store must be a folder that you own"
        }
        return nil
    }

    /// As `objection`, for a path that may lead over links; nil also where there is nothing.
    public static func objection(toLinked path: FilePath, environment: [String: String]) -> String? {
        (try? Registry.resolved(path)).flatMap { objection(to: $0, environment: environment) }
    }

    /// The folders of the Filesystem Hierarchy Standard (3.0, 3 to 6), and what Linux adds.
    private static let system: Set<String> = [
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "lost+found", "media", "mnt",
        "opt",
        "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
    ]

    /// What lies below these belongs to packages, for root, too.
    private static let programs: Set<String> = [
        "bin", "boot", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr",
    ]

    private static func homes(_ environment: [String: String]) -> [FilePath] {
        var homes = [environment["HOME"]].compactMap(\.self).filter { $0.hasPrefix("/") }
        if let entry = getpwuid(geteuid()), let folder = entry.pointee.pw_dir {
            homes.append(String(cString: folder))
        }
        return homes.map { (try? Registry.resolved(FilePath($0))) ?? FilePath($0) }
    }
}
