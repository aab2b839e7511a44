import Fuse
import Glibc
import Stores
import SystemPackage

/// What the versions of a secret are called: when the change was made, in UTC, and by which commit. Sorted by name they are
/// sorted by time, to the second.
enum VersionNames {
    /// The years that have four digits. A commit may claim any.
    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Each version by its name, sorted.
    static func named(_ versions: [PastVersion]) -> [(name: Name, version: PastVersion)] {
        let short = Dictionary(grouping: versions) { name($0.commit, $0.commit.shortName) }
        return short.flatMap { name, versions in
            // Who makes commits can make two whose names begin alike.
            versions.count == 1
                ? [(name, versions[0])] : versions.map { (Self.name($0.commit, $0.commit.name), $0) }
        }.compactMap { name, version in Name(name).map { ($0, version) } }
            .sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    private static func name(_ commit: PastCommit, _ digits: String) -> String {
        var moment = time_t(min(max(commit.time, range.lowerBound), range.upperBound))
        var parts = tm()
        gmtime_r(&moment, &parts)
        func padded(_ number: Int32, _ width: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let day = [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1), padded(parts.tm_mday)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded($0) }
        return day.joined(separator: "-") + "T" + time.joined(separator: ".") + "Z-" + digits
    }
}
