import FoundationEssentials

/// JSON output for programs: one line, keys in alphabetical order.
enum JSONLine {
    static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// As `encode`, for values of ours, which are always JSON.
    static func text(_ value: some Encodable) -> String {
        (try? encode(value)) ?? "null"
    }
}
