import Daemon
import Glibc
import System

/// A report of `passdir health` in lines.
enum HealthText {
    /// So many are named one by one.
    private static let mostNamed = 20

    /// What was found, a line for each secret with something.
    static func print(_ report: HealthReport) {
        var table = TextTable(["SECRET", "CHANGED", "FOUND"])
        var count = 0
        for entry in report.entries where !entry.findings.isEmpty {
            count += 1
            table.add([
                entry.name, entry.changed.map { String(Timestamp(seconds: $0).local.prefix(10)) } ?? "",
                entry.findings.map { words($0, entry) }.joined(separator: ", "),
            ])
        }
        if count > 0 { Output.print(table) }
        let now = Int64(time(nil))
        let soon = report.entries.compactMap { entry in
            entry.nearDeadline(at: now).map { "\(entry.name) \($0)" }
        }
        Output.print(lines: soon.prefix(mostNamed))
        if soon.count > mostNamed {
            Output.print("\(soon.count - mostNamed) more within two weeks; --json lists them")
        }
        for reader in report.formerReaders where !reader.exposed.isEmpty {
            Output.print(formerReader(reader))
        }
        Output.success("\(count) of \(report.entries.count) secrets need attention")
    }

    /// Somebody who could once read secrets of a store.
    static func formerReader(_ reader: HealthReport.FormerReader) -> String {
        let day = Timestamp(seconds: reader.removed).local.prefix(10)
        let total = reader.exposed.count + reader.rotated.count
        return "\(reader.title), removed from \(reader.store) on \(day), may still know "
            + "\(reader.exposed.count) of \(total) secrets"
    }

    /// A finding, with what belongs to it.
    static func words(_ finding: HealthReport.Finding, _ entry: HealthReport.Entry) -> String {
        let others = finding == .reused ? entry.sameAs : finding == .exposed ? entry.exposedTo : []
        guard !others.isEmpty else { return finding.rawValue }
        let named = others.prefix(3).joined(separator: finding == .reused ? " " : ", ")
        let rest = others.count - 3
        return "\(finding.rawValue) (\(named)" + (rest > 0 ? " and \(rest) more)" : ")")
    }

    /// What was not looked at, and why: a cause that many share is said once.
    static func tellUnread(_ report: HealthReport) {
        var reasons: [String] = []
        let groups = Dictionary(grouping: report.unread, by: \.reason)
        for secret in report.unread where secret.name == groups[secret.reason]?.first?.name {
            reasons.append(secret.reason)
        }
        for reason in reasons.prefix(mostNamed) {
            let names = (groups[reason] ?? []).map(\.name)
            StandardError.print("passdir: not looked at: \(Flood.words(names, most: 3)): \(reason)")
        }
        let rest = reasons.dropFirst(mostNamed).reduce(0) { $0 + (groups[$1]?.count ?? 0) }
        if rest > 0 { StandardError.print("passdir: not looked at: \(rest) more; --json lists them") }
    }
}

/// The same as `--json` tells of it.
struct HealthFacts: Encodable {
    struct Secret: Encodable {
        let name: String
        let store: String
        let path: String
        let changed: Timestamp?
        let expires: String?
        let due: Timestamp?
        let findings: [String]
        let score: Int?
        let sameAs: [String]
        let exposedTo: [String]
    }

    struct FormerReader: Encodable {
        let store: String
        let key: String
        let userID: String
        let removed: Timestamp
        let exposed: [String]
        let rotated: [String]
    }

    struct Unread: Encodable {
        let name: String
        let reason: String
    }

    let secrets: [Secret]
    let formerReaders: [FormerReader]
    let unread: [Unread]

    init(_ report: HealthReport) {
        secrets = report.entries.map { entry in
            Secret(
                name: entry.name, store: entry.store, path: entry.path,
                changed: entry.changed.map { Timestamp(seconds: $0) },
                expires: entry.expires?.description, due: entry.due.map { Timestamp(seconds: $0) },
                findings: entry.findings.map(\.rawValue), score: entry.score, sameAs: entry.sameAs,
                exposedTo: entry.exposedTo)
        }
        formerReaders = report.formerReaders.map { reader in
            FormerReader(
                store: reader.store, key: reader.key, userID: reader.name,
                removed: Timestamp(seconds: reader.removed), exposed: reader.exposed, rotated: reader.rotated)
        }
        unread = report.unread.map { Unread(name: $0.name, reason: $0.reason) }
    }
}
