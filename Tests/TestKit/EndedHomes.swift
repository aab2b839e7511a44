import Glibc
import Synchronization
import SystemPackage

/// The homes of tests that have ended. They are removed when the run ends, all at once: ext4 without a journal gives no inode
/// away again that was freed in the last minutes, and looks at each of these whenever it needs one.
enum EndedHomes {
    private static let folders = Mutex<[String]>([])
    /// Once.
    private static let removal: Void = {
        let isRegistered = atexit { EndedHomes.remove() }
        precondition(isRegistered == 0, "atexit")
    }()

    /// Before a home is made: what its maker registers for the exit is then done before the removal.
    static func prepare() { _ = removal }

    static func add(_ folder: FilePath) {
        folders.withLock { $0.append(folder.string) }
    }

    /// Whether a folder is to be removed. That it is in the end, scripts/test checks.
    static func hold(_ folder: FilePath) -> Bool { folders.withLock { $0.contains(folder.string) } }

    private static func remove() {
        let folders = folders.withLock(\.self)
        run(["rm", "-rf", "--one-file-system"] + folders)
        // A mount point of root's is immutable, also when nothing is mounted.
        let left = folders.filter { access($0, F_OK) == 0 }
        guard !left.isEmpty, geteuid() == 0 else { return }
        run(["chattr", "-R", "-f", "-i"] + left)
        run(["rm", "-rf", "--one-file-system"] + left)
    }

    private static func run(_ words: [String]) {
        _ = try? Program(words, environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"], directory: "/").wait(
            limit: .seconds(300))
    }
}
