import Daemon
import OpenPGP
import Stores
import System

/// Stores that are locked when a command is to read their secrets: whoever sits at the terminal says whether it may be.
enum LockedStore {
    /// What becomes of a command where a store stays locked.
    enum Refusal {
        /// It ends: without the store it is not what was asked for.
        case ends
        /// It goes on with the other stores, and names this one.
        case passesOver
    }

    /// Runs what reads secrets of stores, as `PromptInterruption.during`. On a terminal those that are locked are unlocked
    /// first, as by `passdir unlock`; the passphrase is the agreement, and where none would be asked for, there is a question,
    /// one for all of them.
    /// - Parameter stores: their names.
    static func during<Value>(
        reading stores: [String], refusal: Refusal = .ends, environment: [String: String],
        _ body: (Cancellation) throws -> Value
    ) throws -> Value {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let locked = Terminal.isThere ? (try? client.access())?.locked ?? [] : []
        var wanted = locked.filter { stores.contains($0) }
        guard !wanted.isEmpty else { return try PromptInterruption.during(body) }
        let sharing = try Sharing(environment: environment)
        let silent = wanted.filter { !sharing.asksForPassphrase(toUnlock: $0) }
        if !silent.isEmpty,
            !Confirmation.asks("\(silent.areLocked). Unlock \(silent.count == 1 ? "it" : "them")?")
        {
            if case .ends = refusal { throw CommandFailure(silent.areStillLocked) }
            wanted.removeAll { silent.contains($0) }
        }
        return try PromptInterruption.during { cancellation in
            let notice = OpenPromptNotice()
            defer { notice.end() }
            for store in wanted {
                do throws(DaemonError) {
                    let unlocking = try sharing.unlock(store: store, cancellation: cancellation)
                    guard unlocking.isOpen else { throw DaemonError(message: unlocking.complaints[0]) }
                    try DaemonError.wrapping { try client.unlock([store]) }
                } catch {
                    guard case .passesOver = refusal else { throw error }
                    // That it is locked is what the command says of it.
                    StandardError.print("passdir: \(error)")
                }
            }
            notice.end()
            return try body(cancellation)
        }
    }

    /// As above, of the secret at a place.
    static func during<Value>(
        reading place: SecretPlace, environment: [String: String], _ body: (Cancellation) throws -> Value
    ) throws -> Value {
        // What is no secret unlocks nothing.
        let secret = try place.followed()
        return try during(reading: [secret.store.name], environment: environment, body)
    }
}

extension [String] {
    private var verb: String { count == 1 ? "is" : "are" }
    fileprivate var areLocked: String { "\(joined(separator: ", ")) \(verb) locked" }
    fileprivate var areStillLocked: String { "\(joined(separator: ", ")) \(verb) still locked" }
}
