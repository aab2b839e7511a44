import Glibc
import System
public import SystemPackage

/// The name under which a second version of a file is kept beside it: `NAME.conflict-HOST-DATE`, and `.gpg` for a secret.
public enum ConflictName {
    private static let mark = Array(".conflict-".utf8)
    /// In a folder of more names, a name that was cut stays so.
    private static let mostCompared = 1_000

    /// The path beside another one, on disk.
    ///
    /// - Parameters:
    ///   - path: a file of the store or of a repository.
    ///   - time: when the conflict came to be, in seconds since 1970.
    ///   - attempt: above 0 makes it another one.
    ///   - isSecret: whether what is kept is encrypted; nil: as the name of the file says.
    public static func path(
        beside path: FilePath, at time: Int64, attempt: Int, isSecret: Bool? = nil
    ) -> FilePath {
        guard let name = path.lastComponent else { return path }
        let bare = name.strippingSuffix()
        let count = attempt == 0 ? "" : "-\(attempt)"
        let label = mark + "\(host)-\(stamp(time))\(count)".utf8
        let ending = isSecret ?? (bare != nil) ? FilePath.Component.secretSuffix : []
        let kept = cut((bare ?? name).bytes, to: 255 - label.count - ending.count)
        guard let component = FilePath.Component(bytes: kept + label + ending) else { return path }
        return path.removingLastComponent().appending(component)
    }

    /// As much of a name as there is room for, whatever the file is called, and not a part of a character.
    private static func cut(_ name: [UInt8], to room: Int) -> [UInt8] {
        guard name.count > room else { return name }
        var kept = name.prefix(room + 1)
        while kept.last.map({ $0 & 0xC0 == 0x80 }) == true { _ = kept.popLast() }
        _ = kept.popLast()
        return Array(kept)
    }

    /// Whether a conflict's file may lie beside a secret whose name had to be cut to make room for the label.
    ///
    /// - Parameters:
    ///   - conflict: the name of a conflict's file, as it is on disk or in the mount.
    ///   - secret: another name in the same folder, likewise.
    public static func isCut(_ conflict: FilePath.Component, from secret: FilePath.Component) -> Bool {
        let stripped = conflict.strippingSuffix()
        let bare = (stripped ?? conflict).bytes
        guard let place = bare.firstRange(of: mark) else { return false }
        let (stem, label) = (Array(bare[..<place.lowerBound]), bare[place.lowerBound...])
        let whole = (secret.strippingSuffix() ?? secret).bytes
        // In the mount the suffix is not shown.
        let suffix = FilePath.Component.secretSuffix.count
        return whole.count > stem.count
            && (stripped == nil ? [suffix, 0] : [suffix]).contains {
                cut(whole, to: 255 - label.count - $0) == stem
            }
    }

    /// Whether a name, or a path, holds what all names of conflicts hold; costs little, as each open asks.
    public static func isLikely(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count >= mark.count else { return false }
            return (0...bytes.count - mark.count).contains {
                bytes[$0] == mark[0] && memcmp(start + $0, mark, mark.count) == 0
            }
        }
    }

    /// The path that a conflict's file lies beside; nil for any other file.
    public static func original(of path: FilePath) -> FilePath? {
        guard let name = path.lastComponent else { return nil }
        let stripped = name.strippingSuffix()
        let bare = (stripped ?? name).bytes
        guard let place = bare.firstRange(of: mark), place.lowerBound > bare.startIndex,
            bare[place.upperBound...].contains(UInt8(ascii: "-")), let last = bare.last,
            last == UInt8(ascii: "Z") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last),
            let original = FilePath.Component(bytes: bare[..<place.lowerBound])
        else { return nil }
        return path.removingLastComponent().appending(
            stripped == nil ? original : original.appendingSuffix())
    }

    /// The path that a conflict's file lies beside, also where that one's name was cut to make room: it is then the only one
    /// in the folder that begins like it.
    ///
    /// - Parameters:
    ///   - path: a file of the store, as it is called on disk or in the mount.
    ///   - entries: what its folder holds on disk; asked for only where a name may have been cut.
    /// - Returns: nil for what is no conflict's file.
    public static func original(of path: FilePath, among entries: () -> [DirectoryEntry]) -> FilePath? {
        guard let cut = original(of: path), let name = path.lastComponent, let begin = cut.lastComponent
        else { return nil }
        // A character of four bytes may have been cut off, and in the mount the suffix is not shown.
        guard name.bytes.count >= 255 - 3 - FilePath.Component.secretSuffix.count else { return cut }
        let entries = entries()
        // Others may push as many of both kinds as they like.
        guard entries.count <= mostCompared else { return cut }
        let whole = begin.strippingSuffix() ?? begin
        let files = entries.filter { $0.kind == .regular }.map { $0.name.strippingSuffix() ?? $0.name }
        guard !files.contains(whole) else { return cut }
        let candidates = files.filter {
            isCut(name, from: $0) && original(of: FilePath(root: nil, [$0])) == nil
        }
        guard candidates.count == 1, let original = candidates.first else { return cut }
        return path.removingLastComponent().appending(
            begin.strippingSuffix() == nil ? original : original.appendingSuffix())
    }

    /// This machine, as it stands in names.
    public static var host: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, 255) == 0 else { return "host" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let allowed = name.prefix(32).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return allowed.isEmpty ? "host" : allowed
    }

    /// A time in UTC, as it stands in names.
    public static func stamp(_ time: Int64) -> String {
        var seconds = time_t(time)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, 32, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
