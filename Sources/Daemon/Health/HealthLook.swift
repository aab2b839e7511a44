import Contents
import Stores
import System

/// What is kept of a secret's text when it was looked at.
struct HealthLook: Sendable {
    /// Tells the same passwords; nil without a password.
    let mark: PasswordMarks.Mark?
    let strength: Strength?
    let deadlines: Deadlines
    let isBreached: Bool
    /// Of the password, and without one of the whole text.
    let wholeMark: PasswordMarks.Mark
    /// Which ciphertext it was, as of `Store.stamp`.
    let stamp: String

    init(_ plaintext: Plaintext, _ marks: PasswordMarks, _ breaches: BreachFile?) throws {
        let text = plaintext.bytes
        stamp = plaintext.stamp
        wholeMark = try Self.wholeMark(of: text, marks)
        let parts = try text.withUnsafeBytes { bytes in
            let text = SecretText(bytes)
            let deadlines = Deadlines(text, in: bytes)
            guard let range = text.password(in: bytes) else {
                return (PasswordMarks.Mark?.none, Strength?.none, deadlines, false)
            }
            let password = UnsafeRawBufferPointer(rebasing: bytes[range])
            return (
                try marks.mark(of: password), try Strength(of: password), deadlines,
                try breaches?.contains(password) ?? false
            )
        }
        (mark, strength, deadlines, isBreached) = parts
    }

    /// The mark of the password in a text, and without one of the whole text.
    static func wholeMark(
        of text: SecretBytes, _ marks: PasswordMarks
    ) throws(ContentsError) -> PasswordMarks.Mark {
        try text.withUnsafeBytes { (bytes) throws(ContentsError) in
            let range = SecretText(bytes).password(in: bytes) ?? 0..<bytes.count
            return try marks.mark(of: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// The mark of the password in a text, and of nothing else in it.
    static func mark(of text: SecretBytes, _ marks: PasswordMarks) throws(ContentsError) -> PasswordMarks
        .Mark?
    {
        try text.withUnsafeBytes { (bytes) throws(ContentsError) in
            guard let range = SecretText(bytes).password(in: bytes) else { return nil }
            return try marks.mark(of: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}
