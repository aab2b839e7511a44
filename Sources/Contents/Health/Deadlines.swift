public import System

/// Until when the password of a secret is to serve, by its fields `expires:`, a day such as `2027-01-31`, and `rotate:`, a
/// period such as `90d`.
public struct Deadlines: Sendable, Equatable {
    /// The last day on which the password serves; nil without the field.
    public let expires: CalendarDay?
    /// For how long it serves from its last change on; nil where nothing says so.
    public private(set) var rotates: RotationPeriod?
    /// Whether there is such a field whose value says neither; empty ones say nothing.
    public let isUnclear: Bool

    /// Reads the fields of a secret.
    public init(_ text: SecretText, in bytes: UnsafeRawBufferPointer) {
        let day = text.field(named: "expires").flatMap { $0.value.isEmpty ? nil : $0.value }
        let period = text.field(named: "rotate").flatMap { $0.value.isEmpty ? nil : $0.value }
        expires = day.flatMap { $0.count == 10 ? bytes.name($0).flatMap { CalendarDay($0) } : nil }
        rotates = period.flatMap { RotationPeriod(bytes.part($0)) }
        isUnclear = day != nil && expires == nil || period != nil && rotates == nil
    }

    /// Whether the last day is over; in seconds since 1970.
    public func isExpired(at now: Int64) -> Bool { expires.map { $0.end <= now } ?? false }

    /// The same, with a period that holds where the secret has no field of its own for it.
    public func otherwise(rotating period: RotationPeriod?) -> Deadlines {
        var deadlines = self
        deadlines.rotates = rotates ?? period
        return deadlines
    }

    /// When a password is to be changed that was changed at a moment, both in seconds since 1970; nil where nothing says so.
    public func due(changed: Int64) -> Int64? { rotates?.end(from: changed) }
}
