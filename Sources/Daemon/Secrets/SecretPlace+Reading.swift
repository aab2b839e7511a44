public import OpenPGP
import Stores
import System
import SystemPackage

extension SecretPlace {
    /// The text of the secret, as `SecretReader` reads it.
    public func text(
        cancellation: Cancellation?, environment: [String: String]
    ) throws(DaemonError) -> SecretReader.Content {
        try SecretReader(cancellation: cancellation, environment: environment).text(of: self)
    }

    /// Makes sure that who started this command may be shown the secret, which is no read yet. May wait for a person.
    /// - Throws: one sentence where there is no secret, or it is not to be shown.
    func checkMayBeShown(environment: [String: String]) throws(DaemonError) {
        let place = try secret()
        try DaemonError.wrapping {
            try CommandRead.check(place.path, ofStore: place.store.name, environment: environment)
        }
    }

    /// Runs what decrypts the secret that is meant, for who started this command, as `CommandRead.judged`.
    /// - Throws: one sentence where there is no secret, or it is not to be shown; what `decrypt` throws.
    func judged<Value>(
        environment: [String: String], _ decrypt: (SecretPlace) throws -> Value
    ) throws -> Value {
        let place = try secret()
        return try CommandRead.judged(
            { [place.path] }, ofStore: place.store.name, environment: environment
        ) { try decrypt(place) }
    }

    private func secret() throws(DaemonError) -> SecretPlace {
        let place = try followed()
        guard place.kind == .secret else {
            throw DaemonError(
                message: kind == .folder
                    ? "\(name) is a folder: name a secret in it" : "there is no secret \(name)")
        }
        return place
    }

    /// The secrets here: this one, or those of the folder in the order of their names.
    public func secrets() throws(DaemonError) -> [SecretPlace] {
        guard kind == .folder else { return kind == .secret ? [self] : [] }
        return try DaemonError.wrapping {
            try store.secrets(below: file, nested: true).map { secret(at: $0) }
        }
    }
}
