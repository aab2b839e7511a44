import Glibc
import Stores
import SystemPackage

/// The name under which a second version of a secret is kept beside it: `NAME.conflict-HOST-DATE`.
enum ConflictName {
    /// The path on disk; nil when `path` has no name. `attempt` above 0 makes it another one.
    static func path(beside path: FilePath, at time: FileTime, attempt: Int) -> FilePath? {
        guard let name = path.lastComponent else { return nil }
        let bare = name.strippingSuffix() ?? name
        let count = attempt == 0 ? "" : "-\(attempt)"
        let label = ".conflict-\(hostName())-\(stamp(time))\(count).gpg"
        // Cut so that the name fits, whatever the secret is called.
        let kept = bare.withPlatformString {
            Array(UnsafeBufferPointer(start: $0, count: min(strlen($0), 255 - label.utf8.count)))
        }
        let bytes = kept + label.utf8.map { CChar(bitPattern: $0) } + [0]
        guard let component = FilePath.Component(platformString: bytes) else { return nil }
        return path.removingLastComponent().appending(component)
    }

    private static func hostName() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, 255) == 0 else { return "host" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let allowed = name.prefix(32).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return allowed.isEmpty ? "host" : allowed
    }

    private static func stamp(_ time: FileTime) -> String {
        var seconds = time_t(time.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, 32, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
