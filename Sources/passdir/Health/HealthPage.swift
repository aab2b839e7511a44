import Daemon
import Glibc
import System
import SystemPackage

/// A report of `passdir health` as one page, which fetches nothing and runs nothing.
struct HealthPage {
    private let report: HealthReport
    private let now: Timestamp

    /// A page about what was found until now.
    init(_ report: HealthReport, at now: Timestamp) {
        (self.report, self.now) = (report, now)
    }

    /// Where a page can be written: where nothing is. That is looked at before anything is decrypted.
    static func place(_ text: String) throws -> FilePath {
        let path = FilePath(text)
        guard path.facts() == nil else { throw exists(path) }
        return path
    }

    /// Writes the page, for its owner's eyes: it names weak passwords.
    func write(to path: FilePath) throws {
        do throws(Errno) {
            let file = try OwnedDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            do throws(Errno) { try file.writeAll(Array(text.utf8)) } catch {
                path.unlink()
                throw error
            }
        } catch .fileExists {
            throw Self.exists(path)
        } catch {
            throw CommandFailure("cannot write \(path): \(error)")
        }
    }

    private static func exists(_ path: FilePath) -> CommandFailure {
        CommandFailure("\(path) is there already, and 'passdir health' replaces no file: name another one")
    }

    private var text: String {
        let entries = report.entries
        let found = entries.filter { !$0.findings.isEmpty }
        var parts = [
            Self.head,
            "<h1>Passwords</h1><p>\(found.count) of \(entries.count) secrets need attention. \(now.local)</p>",
            bars("Age", Self.ages.map { age in (age.name, entries.count { age.holds($0.changed, now) }) }),
        ]
        if entries.contains(where: { $0.score != nil }) {
            let names = ["very weak", "weak", "fair", "good", "strong"]
            parts.append(
                bars(
                    "Strength",
                    names.enumerated().map { score, name in (name, entries.count { $0.score == score }) }))
        }
        for finding in HealthReport.Finding.allCases {
            let lines = found.filter { $0.findings.contains(finding) }.map { entry in
                let name = Self.name(entry.name)
                return switch finding {
                case .reused: "\(name) – the same as \(Self.names(entry.sameAs))"
                case .exposed: "\(name) – known to \(Self.names(entry.exposedTo))"
                default: name
                }
            }
            parts.append(list(finding.rawValue, lines))
        }
        parts.append(
            list("not looked at", report.unread.map { "\(Self.name($0.name)) – \(Self.escaped($0.reason))" }))
        return parts.joined(separator: "\n") + "\n"
    }

    private func bars(_ title: String, _ rows: [(name: String, count: Int)]) -> String {
        let most = max(rows.map(\.count).max() ?? 0, 1)
        let lines = rows.map { name, count in
            let bar = count > 0 ? "<div style=\"width:\(count * 100 / most)%\"></div>" : ""
            return "<tr><th>\(name)</th><td>\(bar)</td><td>\(count)</td></tr>"
        }
        return "<h2>\(title)</h2><table>\(lines.joined())</table>"
    }

    /// - Parameter lines: of HTML.
    private func list(_ title: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        let items = lines.map { "<li>\($0)</li>" }.joined(separator: "\n")
        return "<h2>\(title) (\(lines.count))</h2><ul>\n\(items)\n</ul>"
    }

    /// A name that is written from right to left leaves what stands beside it where it is.
    private static func name(_ text: String) -> String { "<bdi>\(escaped(text))</bdi>" }

    private static func names(_ texts: [String]) -> String { texts.map(name).joined(separator: ", ") }

    /// Names are others' words: neither markup nor characters that turn the text around.
    private static func escaped(_ text: String) -> String {
        VisibleText.line(text).unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}

extension HealthPage {
    private struct Age {
        let name: String
        let years: Range<Double>?

        func holds(_ changed: Int64?, _ now: Timestamp) -> Bool {
            guard let changed else { return years == nil }
            return years?.contains(max(0, Double(now.seconds - changed)) / (365.25 * 86400)) ?? false
        }
    }

    private static let ages = [
        Age(name: "up to 6 months", years: 0..<0.5), Age(name: "up to a year", years: 0.5..<1),
        Age(name: "up to 2 years", years: 1..<2), Age(name: "up to 4 years", years: 2..<4),
        Age(name: "older", years: 4..<Double.infinity), Age(name: "unknown", years: nil),
    ]

    /// The policy holds the page to what it has in itself.
    private static let head = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>passdir health</title>
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
        <style>
        body { font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em }
        table { width: 100%; border-spacing: 0 .3em }
        th { width: 9em; text-align: left; font-weight: normal }
        td div { height: 1.2em; background: #4a7ebb; min-width: 1px }
        td + td { width: 4em; text-align: right }
        li { overflow-wrap: anywhere }
        </style></head><body>
        """
}
