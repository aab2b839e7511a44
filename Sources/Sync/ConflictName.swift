import Glibc
import SystemPackage

/// The name under which our version is kept beside the remote's: `NAME.conflict-HOST-DATE`.
enum ConflictName {
    private static let mark = ".conflict-"

    /// The path in the repository; a secret keeps its `.gpg` at the end. `attempt` above 0 makes it another one.
    static func path(beside path: FilePath, host: String, at time: Int64, attempt: Int) -> FilePath {
        guard let name = path.lastComponent else { return path }
        let (bare, ending) = split(name.string)
        let count = attempt == 0 ? "" : "-\(attempt)"
        let label = "\(mark)\(host)-\(stamp(time))\(count)\(ending)"
        // Cut so that the name fits, whatever the secret is called.
        var kept = bare
        while kept.utf8.count + label.utf8.count > 255 { kept.removeLast() }
        return path.removingLastComponent().appending(kept + label)
    }

    /// The path that a conflict's file lies beside; nil for any other file.
    static func original(of path: FilePath) -> FilePath? {
        guard let name = path.lastComponent else { return nil }
        let (bare, ending) = split(name.string)
        guard let place = bare.firstRange(of: mark), place.lowerBound > bare.startIndex,
            bare[place.upperBound...].contains("-"), bare.last == "Z" || bare.last?.isNumber == true
        else { return nil }
        return path.removingLastComponent().appending(String(bare[..<place.lowerBound]) + ending)
    }

    private static func split(_ name: String) -> (bare: String, ending: String) {
        name.hasSuffix(".gpg") && name.count > 4 ? (String(name.dropLast(4)), ".gpg") : (name, "")
    }

    /// This machine, as it stands in names.
    static var host: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, 255) == 0 else { return "host" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let allowed = name.prefix(32).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return allowed.isEmpty ? "host" : allowed
    }

    /// A time in UTC, as it stands in names.
    static func stamp(_ time: Int64) -> String {
        var seconds = time_t(time)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, 32, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
