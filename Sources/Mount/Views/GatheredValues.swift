import Contents
import Synchronization
import System
import SystemPackage

/// The values for a template, while its secrets are read one after the other, which may wait for people. A lock wipes them.
final class GatheredValues: WipedByLock {
    let stores: [MountedStore]
    /// No program has it yet.
    let node: Node? = nil
    /// nil once they are wiped.
    private let values = Mutex<[TemplateReference.Target: SecretBytes]?>([:])

    init(of stores: [MountedStore]) { self.stores = stores }

    /// - Parameter value: of a one-time code the otpauth URI: the codes of all are of one moment.
    func add(_ value: SecretBytes, for target: TemplateReference.Target) {
        values.withLock { $0?[target] = value }
    }

    func wipe() { values.withLock { $0 = nil } }

    /// The file, and how many seconds it is not to be given yet.
    /// - Throws: EACCES where a lock has wiped the values.
    func render(_ template: Template, for kind: Escaping) throws(ValueError) -> MadeValue {
        guard let values = values.withLock({ $0 }) else { throw ValueError(.permissionDenied) }
        let codes = try Codes(of: template, values)
        var file = MadeValue(bytes: try codes.file(template, kind, values))
        file.delay = codes.delay
        return file
    }

    /// The one-time codes of a file.
    private struct Codes {
        private let passwords: [TemplateReference.Target: OneTimePassword]
        /// When the codes are of, in seconds since 1970.
        private let moment: Int64
        /// How many seconds it is until then.
        let delay: Double

        init(
            of template: Template, _ values: [TemplateReference.Target: SecretBytes]
        ) throws(ValueError) {
            var passwords: [TemplateReference.Target: OneTimePassword] = [:]
            for reference in template.references where reference.target.part == .oneTimeCode {
                guard passwords[reference.target] == nil, let uri = values[reference.target] else { continue }
                passwords[reference.target] = try ValueError.of(reference) { () throws(ValueError) in
                    try Self.password(uri, reference.target)
                }
            }
            self.passwords = passwords
            // The longest pause until a code begins that is good for a moment longer: later, others are, too.
            let now = FileTime.now
            let (seconds, part) = (now.seconds, Double(now.nanoseconds) / 1e9)
            let pauses = passwords.values.compactMap { password -> Double? in
                guard let end = (try? password.code(at: seconds))?.validUntil else { return nil }
                let rest = Double(end - seconds) - part
                return rest < OpenSecret.leastValidity ? rest : nil
            }
            delay = pauses.max() ?? 0
            moment = seconds + (delay > 0 ? Int64((delay + part).rounded()) : 0)
        }

        private static func password(
            _ uri: SecretBytes, _ target: TemplateReference.Target
        ) throws(ValueError) -> OneTimePassword {
            let password: OneTimePassword
            do throws(ContentsError) {
                password = try uri.withUnsafeBytes { (uri) throws(ContentsError) in
                    try OneTimePassword(uri: uri)
                }
            } catch {
                throw ValueError(error)
            }
            guard case .time = password.movement else {
                throw ValueError(
                    .ioError,
                    "\(target.store)/\(target.path) counts its codes, and a reference must not use one up")
            }
            return password
        }

        func file(
            _ template: Template, _ kind: Escaping, _ values: [TemplateReference.Target: SecretBytes]
        ) throws(ValueError) -> SecretBytes {
            do throws(ContentsError) {
                return try template.render(for: kind) { reference in
                    if let password = passwords[reference.target] {
                        return try password.code(at: moment).text
                    }
                    guard let value = values[reference.target] else {
                        throw ContentsError(.missing, "it was not read")
                    }
                    return value
                }
            } catch {
                throw ValueError(.ioError, error.message)
            }
        }
    }
}
