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

    /// The secret that is meant, once it is sure that who started this command may be shown it; the read is noted then. May wait
    /// for a person.
    /// - Throws: one sentence where there is no secret, or it is not to be shown.
    func judged(environment: [String: String]) throws(DaemonError) -> SecretPlace {
        let place = try followed()
        guard place.kind == .secret else {
            throw DaemonError(
                message: kind == .folder
                    ? "\(name) is a folder: name a secret in it" : "there is no secret \(name)")
        }
        let objection = try DaemonError.wrapping {
            try CommandRead.objection(
                toShowing: place.path, ofStore: place.store.name, environment: environment)
        }
        if let objection { throw DaemonError(message: objection) }
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
