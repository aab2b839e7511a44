import CGcrypt
import Glibc

/// What libgcrypt takes and gives for public keys: a nested list.
final class SymbolicExpression {
    private let pointer: gcry_sexp_t

    /// Takes over what libgcrypt made.
    init(owning pointer: gcry_sexp_t) { self.pointer = pointer }

    /// Fills the `%b` of a format, each with octets. What comes from secure memory stays in it.
    init(_ format: String, _ values: [UnsafeRawBufferPointer]) throws(OpenPGPError) {
        try Gcrypt.prepare()
        var counts = values.map { CInt($0.count) }
        var starts = values.map { $0.baseAddress }
        var result: gcry_sexp_t?
        let error = counts.withUnsafeMutableBufferPointer { counts in
            starts.withUnsafeMutableBufferPointer { starts in
                // For each %b a pointer to a length and one to a pointer.
                var arguments: [UnsafeMutableRawPointer?] = []
                for index in values.indices {
                    arguments.append(counts.baseAddress.map { UnsafeMutableRawPointer($0 + index) })
                    arguments.append(starts.baseAddress.map { UnsafeMutableRawPointer($0 + index) })
                }
                arguments.append(nil)
                return gcry_sexp_build_array(&result, nil, format, &arguments)
            }
        }
        try Gcrypt.check(error, "cannot pass a key to libgcrypt")
        guard let result else { throw OpenPGPError(.other, "cannot pass a key to libgcrypt") }
        pointer = result
    }

    /// A number alone; where it is in secure memory, so is its copy.
    init(number: gcry_mpi_t) throws(OpenPGPError) {
        try Gcrypt.prepare()
        var number = number
        var result: gcry_sexp_t?
        let error = withUnsafeMutablePointer(to: &number) { number in
            var arguments: [UnsafeMutableRawPointer?] = [UnsafeMutableRawPointer(number), nil]
            return gcry_sexp_build_array(&result, nil, "%m", &arguments)
        }
        try Gcrypt.check(error, "cannot pass a number to libgcrypt")
        guard let result else { throw OpenPGPError(.other, "cannot pass a number to libgcrypt") }
        pointer = result
    }

    /// Whether it lies in secure memory.
    var isSecure: Bool { gcry_is_secure(UnsafeRawPointer(pointer)) != 0 }

    deinit { gcry_sexp_release(pointer) }

    /// Encrypts this to a public key.
    func encrypted(to key: SymbolicExpression) throws(OpenPGPError) -> SymbolicExpression {
        var result: gcry_sexp_t?
        try Gcrypt.check(gcry_pk_encrypt(&result, pointer, key.pointer), "cannot encrypt to a key")
        guard let result else { throw OpenPGPError(.other, "cannot encrypt to a key") }
        return SymbolicExpression(owning: result)
    }

    /// Lends the octets behind a name to `body`; the copy that is lent is wiped then.
    func withValue<R>(
        _ name: String, _ body: (UnsafeRawBufferPointer) throws(OpenPGPError) -> R
    ) throws(OpenPGPError) -> R {
        guard let list = gcry_sexp_find_token(pointer, name, 0) else {
            throw OpenPGPError(.other, "libgcrypt gave no \(name)")
        }
        let found = SymbolicExpression(owning: list)
        var count = 0
        guard let data = gcry_sexp_nth_data(found.pointer, 1, &count) else {
            throw OpenPGPError(.other, "libgcrypt gave no \(name)")
        }
        defer { explicit_bzero(UnsafeMutableRawPointer(mutating: data), count) }
        return try body(UnsafeRawBufferPointer(start: data, count: count))
    }
}
