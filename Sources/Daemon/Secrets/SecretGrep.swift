import Glibc
public import OpenPGP
import Stores
import System
import SystemPackage

/// Searches the texts of secrets with grep(1), which reads each from a pipe.
public struct SecretGrep {
    /// What a search is told of, secret by secret.
    public enum Event {
        /// Something was found in this secret, as STORE/PATH.
        case found(String)
        /// What grep has printed of it; valid during the call only.
        case output(UnsafeRawBufferPointer)
        /// A secret could not be searched; a sentence.
        case complaint(String)
    }

    private let words: [String]
    private let environment: [String: String]

    /// A search.
    /// - Parameter words: options of grep, and the pattern.
    public init(_ words: [String], environment: [String: String]) {
        (self.words, self.environment) = (words, environment)
    }

    /// Searches all secrets of the stores in the mount; blocks.
    /// - Returns: whether something was found.
    /// - Throws: what grep says of its options, and what keeps it from being run.
    public func run(cancellation: Cancellation?, _ tell: (Event) -> Void) throws(DaemonError) -> Bool {
        // What is wrong with the options is to be said once, and before anything is decrypted.
        let nothing = try DaemonError.wrapping {
            try SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        _ = try search(nothing) { _ in }
        var isFound = false
        let opener = try StoreOpener(environment: environment)
        for definition in try opener.definitions() where definition.isInMount {
            do throws(DaemonError) {
                let access = try StoreAccess.open(definition, FilePath(), opener, for: .reading)
                for secret in try SecretPlace(access, FilePath(), namesFolder: true).secrets() {
                    do throws(DaemonError) {
                        let text = try secret.text(cancellation: cancellation, environment: environment)
                        var isNamed = false
                        let isHit = try search(text.bytes) { piece in
                            if !isNamed { tell(.found(secret.name)) }
                            isNamed = true
                            tell(.output(piece))
                        }
                        if isHit, !isNamed { tell(.found(secret.name)) }
                        isFound = isFound || isHit
                    } catch {
                        tell(.complaint("\(secret.name) is not searched: \(error.message)"))
                    }
                    if cancellation?.isCancelled == true { return isFound }
                }
            } catch {
                tell(.complaint(error.message))
            }
        }
        return isFound
    }

    private func search(
        _ text: SecretBytes, _ hear: (UnsafeRawBufferPointer) -> Void
    ) throws(DaemonError) -> Bool {
        let outcome: ChildProcess.Outcome
        do throws(Errno) {
            outcome = try ChildProcess.run(
                ["grep"] + words, environment: environment, secret: text, timeout: .seconds(60), hear: hear)
        } catch {
            throw DaemonError(message: "cannot run grep: \(error)")
        }
        if outcome.status > 1 {
            let said = outcome.errors.split(separator: "\n").first.map(String.init) ?? ""
            throw DaemonError(message: said.isEmpty ? "grep ended with status \(outcome.status)" : said)
        }
        return outcome.status == 0
    }
}
