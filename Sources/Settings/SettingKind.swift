import Glibc
public import System
import SystemPackage

/// How a type of value is written in the file.
public struct SettingKind<Value: Sendable>: Sendable {
    let type: String
    let allowed: String
    let parse: @Sendable (String) -> Value?
    let format: @Sendable (Value) -> String

    /// A kind of these parts; `parse` gives nil for a text that isn't allowed.
    public init(
        type: String, allowed: String, parse: @escaping @Sendable (String) -> Value?,
        format: @escaping @Sendable (Value) -> String
    ) {
        self.type = type
        self.allowed = allowed
        self.parse = parse
        self.format = format
    }

    /// The kind of a value that may be absent; an empty text stands for that.
    public var optional: SettingKind<Value?> {
        SettingKind<Value?>(
            type: type, allowed: allowed,
            parse: { [parse] text in text.isEmpty ? .some(nil) : parse(text).map { .some($0) } },
            format: { [format] value in value.map(format) ?? "" })
    }
}

extension SettingKind where Value == Duration {
    /// A time: a number, with `ms`, `s` (or nothing), `m` (`min`) or `h` behind it, after a space or not; not negative.
    public static var duration: SettingKind {
        SettingKind(
            type: "time", allowed: "a time, such as 2, 0.5, 500ms, 2s, 3m or 1h",
            parse: { text in
                let units = [("ms", 0.001), ("min", 60.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
                let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1)
                var digits = text.dropLast(unit.0.utf8.count)
                if digits.last == " " { digits = digits.dropLast() }
                // Plain digits only: Double reads "inf", "nan" and "0x1p3" too.
                guard digits.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }),
                    let number = Double(digits), number * unit.1 <= 31_536_000
                else { return nil }
                return .milliseconds(Int64((number * unit.1 * 1000).rounded()))
            },
            format: { value in
                let (seconds, attoseconds) = value.components
                let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
                // In the largest unit of which it is so many; 0 is 0 of any.
                let units = [("h", Int64(3_600_000)), ("min", 60_000), ("s", 1000)]
                let unit =
                    units.first { milliseconds != 0 && milliseconds % $0.1 == 0 }
                    ?? (milliseconds == 0 ? ("s", 1) : ("ms", 1))
                return "\(milliseconds / unit.1)\(unit.0)"
            })
    }
}

extension SettingKind where Value == RotationPeriod {
    /// A period: a number of days, weeks, months or years.
    public static var period: SettingKind {
        SettingKind(
            type: "period", allowed: "a period, such as 90d, 12w, 6m or 1y", parse: { RotationPeriod($0) },
            format: \.description)
    }
}

extension SettingKind where Value == Int {
    /// A number from 1 on.
    public static func number(upTo limit: Int) -> SettingKind {
        SettingKind(
            type: "number", allowed: "a number from 1 to \(limit)",
            parse: { text in
                guard text.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(text),
                    (1...limit).contains(number)
                else { return nil }
                return number
            },
            format: { "\($0)" })
    }

    /// A number of bytes, with git's suffixes k, m and g, or KiB, MiB and GiB, for powers of 1024; more than 0.
    public static var bytes: SettingKind {
        SettingKind(
            type: "size", allowed: "a number of bytes, such as 65536, 512k, 64m or 1g",
            parse: { text in
                let shifts: [Character: Int] = ["k": 10, "m": 20, "g": 30]
                let short = text.hasSuffix("iB") ? text.dropLast(2) : text[...]
                let shift = short.last.flatMap { shifts[Character($0.lowercased())] }
                var digits = shift == nil ? text[...] : short.dropLast()
                if shift != nil, digits.last == " " { digits = digits.dropLast() }
                guard digits.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(digits), number > 0,
                    number <= 1 << 30
                else { return nil }
                return number << (shift ?? 0)
            },
            format: { value in
                for (suffix, shift) in [("g", 30), ("m", 20), ("k", 10)] where value % (1 << shift) == 0 {
                    return "\(value >> shift)\(suffix)"
                }
                return "\(value)"
            })
    }
}

extension SettingKind where Value == Bool {
    /// Yes or no, in git-config's words.
    public static var boolean: SettingKind {
        SettingKind(
            type: "true or false", allowed: "true or false",
            parse: { text in
                switch text.lowercased() {
                case "true", "yes", "on", "1": true
                case "false", "no", "off", "0": false
                default: nil
                }
            },
            format: { $0 ? "true" : "false" })
    }
}

extension SettingKind where Value == FilePath {
    /// An absolute path; `~/` stands for the home directory of `$HOME`, or else of the user database.
    public static var path: SettingKind {
        SettingKind(
            type: "path", allowed: "an absolute path, or one that starts with ~/",
            parse: { text in
                guard !text.utf8.contains(0) else { return nil }
                if text.hasPrefix("~/") || text == "~" {
                    return HomeDirectory.current.pushing(FilePath(String(text.dropFirst(2))))
                }
                return text.hasPrefix("/") ? FilePath(text) : nil
            },
            format: \.string)
    }
}

extension SettingKind where Value == String {
    /// Any text that isn't empty.
    public static func text(_ allowed: String) -> SettingKind {
        SettingKind(type: "text", allowed: allowed, parse: { $0.isEmpty ? nil : $0 }, format: { $0 })
    }

    /// A UUID, kept in lower case.
    public static var uuid: SettingKind {
        SettingKind(
            type: "UUID", allowed: "a UUID, such as 0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b",
            parse: { text in
                let groups = text.lowercased().split(separator: "-", omittingEmptySubsequences: false)
                let valid =
                    groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
                    && groups.joined().allSatisfy { ("0"..."9").contains($0) || ("a"..."f").contains($0) }
                return valid ? text.lowercased() : nil
            },
            format: { $0 })
    }
}

extension SettingKind where Value == [String] {
    /// Words that are separated by spaces; none for an empty text.
    public static var words: SettingKind {
        SettingKind(
            type: "words", allowed: "words separated by spaces",
            parse: { $0.split(separator: " ").map(String.init) },
            format: { $0.joined(separator: " ") })
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of an enumeration.
    public static var word: SettingKind {
        SettingKind(
            type: "word", allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
            parse: { Value(rawValue: $0) }, format: \.rawValue)
    }
}

/// The user's home directory.
public enum HomeDirectory {
    /// `$HOME` when it is absolute, or else the entry of the user database.
    public static var current: FilePath {
        if let home = getenv("HOME"), home.pointee == CChar(bitPattern: UInt8(ascii: "/")) {
            return FilePath(platformString: home)
        }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16384) { buffer in
            getpwuid_r(getuid(), &entry, buffer.baseAddress!, buffer.count, &found)
            guard let home = found?.pointee.pw_dir else { return "/" }
            return FilePath(platformString: home)
        }
    }
}

extension SettingKind {
    /// The value that a text stands for; nil when it isn't allowed.
    public func parseText(_ text: String) -> Value? { parse(text) }
    /// The text that stands for a value.
    public func text(of value: Value) -> String { format(value) }
}
