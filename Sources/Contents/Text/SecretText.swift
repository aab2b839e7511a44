/// What is inside a secret, by the habits of `pass`, browserpass and gopass: a first line, which is the password, then fields
/// and other text.
///
/// It is read once and holds places in the bytes only, no part of a value: who has the bytes can take the values out.
///
/// - A line `key: value` after the first is a field. Its name is what stands before the first colon, its value what follows,
///   both without the white space around them. The name may hold spaces, the value may be empty.
/// - A line that begins with the scheme of a URL and `://` is no field.
/// - After a line `---`, as of gopass, a YAML document follows: see `FlatYAML` for what of it is a field.
/// - A secret whose first line is `GOPASS-SECRET-1.0` has the old form of gopass: headers, an empty line, and a body.
///   The header `Password` is its first line, the other headers are its fields, and a header that goes on in further lines is
///   cut after its first.
/// - A line whose name is no UTF-8, or longer than `nameLimit`, is no field. Values may be any bytes.
public struct SecretText: Sendable, Equatable {
    /// A named value.
    public struct Field: Sendable, Equatable {
        /// Its name, as it is written.
        public let name: String
        /// Where its value is.
        public let value: Range<Int>

        /// Whether the name can be that of a file: it is none of `.` and `..`, and holds no slash and no NUL.
        public var isFileName: Bool {
            name != "." && name != ".." && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
        }
    }

    /// How a secret is written.
    public enum Form: Sendable, Equatable {
        /// As of `pass`.
        case plain
        /// With a YAML document, whose line `---` begins here.
        case yaml(from: Int)
        /// As of the old gopass. The headers after the first line begin at `headers`; there is a `Password` among them or not.
        case headed(headers: Int, hasPassword: Bool)
    }

    /// The most fields that are read; those after them are left out.
    public static let fieldLimit = 10_000
    /// The longest name of a field, in bytes: that of a file on Linux.
    public static let nameLimit = 255

    /// How the secret is written.
    public let form: Form
    /// Where the first line is, without its line break. Empty in an empty secret, and where an old gopass secret has no
    /// password.
    public let firstLine: Range<Int>
    /// The fields, in the order of the text.
    public let fields: [Field]
    /// Where the otpauth URI is: the first line of the text that begins with `otpauth://`, be it the first line of the secret, or
    /// value of a field `otpauth` or `totp` that does.
    public let oneTimeURI: Range<Int>?

    /// Reads a secret; every text is one.
    public init(_ bytes: UnsafeRawBufferPointer) {
        var reader = SecretTextReader(bytes)
        reader.readAll()
        (form, firstLine, fields, oneTimeURI) = (
            reader.form, reader.firstLine, reader.fields, reader.oneTimeURI
        )
    }
}
