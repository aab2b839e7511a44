import Git
import Stores
import System

/// Why store and remote cannot be brought together.
struct SyncFailure: Error {
    enum Kind {
        /// It may work later by itself.
        case passing
        /// Nothing changes unless the user does something.
        case lasting
        /// As `lasting`: what the remote has cannot be read, and only `--ours` helps.
        case unsound
        /// A transfer failed.
        case transfer(TransferFailure)
    }

    var kind: Kind
    /// One sentence.
    var message: String

    /// Asking again would only be refused again.
    var needsUser: Bool {
        guard case .transfer(let transfer) = kind else { return false }
        return transfer.code == .authentication || transfer.code == .certificate
    }

    /// The server could not be reached, or did not answer.
    var isOfNetwork: Bool {
        guard case .transfer(let transfer) = kind else { return false }
        return transfer.code == .network || transfer.code == .timedOut
    }
}

/// Does what may fail in git while store and remote are brought together; such a failure may pass by itself.
/// - Parameter doing: begins the sentence: "cannot merge".
func telling<Value>(
    _ doing: String, _ work: () throws(GitError) -> Value
) throws(SyncFailure) -> Value {
    return try rethrowing(work()) { (error: GitError) in
        SyncFailure(kind: .passing, message: "\(doing): \(error.message).")
    }
}
