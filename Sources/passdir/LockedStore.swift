import Daemon
import OpenPGP
import Stores
import SystemPackage

/// A store that is locked when a command is to read one of its secrets: whoever sits at the terminal says whether it may be.
enum LockedStore {
    /// Runs what reads a secret, as `PromptInterruption.during`. On a terminal a locked store is unlocked first, as by
    /// `passdir unlock`; the passphrase is the agreement, and where none would be asked for, there is a question.
    /// - Parameter file: the secret, on disk.
    static func during<Value>(
        reading file: FilePath, of store: Store, environment: [String: String],
        _ body: (Cancellation) throws -> Value
    ) throws -> Value {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let isLocked = Terminal.isThere && (try? client.access())?.locked.contains(store.name) ?? false
        if isLocked, !store.asksForPassphrase(toRead: file) {
            guard Confirmation.asks("\(store.name) is locked. Unlock it?") else {
                throw CommandFailure("\(store.name) is still locked")
            }
        }
        return try PromptInterruption.during { cancellation in
            if isLocked {
                let notice = OpenPromptNotice()
                defer { notice.end() }
                let unlocking = try Sharing(environment: environment)
                    .unlock(store: store.name, cancellation: cancellation)
                guard unlocking.isOpen else { throw CommandFailure(unlocking.complaints[0]) }
                try client.unlock([store.name])
            }
            return try body(cancellation)
        }
    }
}

extension LockedStore {
    /// As `during(reading:of:environment:)`, of the secret at a place.
    static func during<Value>(
        reading place: SecretPlace, environment: [String: String], _ body: (Cancellation) throws -> Value
    ) throws -> Value {
        let secret = try place.followed()
        return try during(reading: secret.file, of: secret.store, environment: environment, body)
    }
}
