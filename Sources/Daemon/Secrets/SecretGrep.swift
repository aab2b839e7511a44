import Contents
import Glibc
public import OpenPGP
import Stores
public import System
import SystemPackage

/// Searches the texts of secrets with grep(1), which reads each from a pipe.
public struct SecretGrep {
    /// What a search is told of, secret by secret.
    public enum Event {
        /// Something was found in this secret, as STORE/PATH; its lines follow, where lines are wanted.
        case found(String, hasLines: Bool)
        /// What grep has printed of it.
        case output(SecretBytes)
        /// Something could not be searched; a sentence.
        case complaint(String)
    }

    /// Whether nothing but the exit status is wanted.
    public var isQuiet: Bool { words.isQuiet }
    private let words: GrepWords
    private let colours: GrepColours?
    private let environment: [String: String]

    /// A search.
    /// - Parameters:
    ///   - words: options of grep, and the pattern.
    ///   - isForTerminal: whether matches are coloured, and all else of the texts made visible.
    /// - Throws: one sentence where it can be none.
    public init(
        _ words: [String], isForTerminal: Bool, environment: [String: String]
    ) throws(DaemonError) {
        self.words = try GrepWords(words)
        colours = try DaemonError.wrapping { isForTerminal ? try GrepColours() : nil }
        self.environment = environment
        // What is wrong with the options is to be said once, and before anything is decrypted.
        _ = try search(
            try DaemonError.wrapping {
                try SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
            })
    }

    /// The stores in the mount, by their names: those that are searched.
    public func storeNames() throws(DaemonError) -> [String] {
        try StoreOpener(environment: environment).definitions().filter(\.isInMount).map(\.name)
    }

    /// Searches all secrets of the stores in the mount; blocks.
    /// - Returns: whether something was found.
    /// - Throws: what keeps it from being run.
    public func run(cancellation: Cancellation?, _ tell: (Event) -> Void) throws(DaemonError) -> Bool {
        var isFound = false
        var refused = 0
        let opener = try StoreOpener(environment: environment)
        let reader = SecretReader(cancellation: cancellation, environment: environment)
        for definition in try opener.definitions() where definition.isInMount {
            if let locked = CommandRead.lockObjection(ofStore: definition.name, environment: environment) {
                tell(.complaint(locked))
                continue
            }
            let secrets: [SecretPlace]
            do throws(DaemonError) {
                let access = try StoreAccess.open(definition, FilePath(), opener, for: .reading)
                secrets = try SecretPlace(access, FilePath(), namesFolder: true).secrets()
            } catch {
                tell(.complaint(error.message))
                continue
            }
            for secret in secrets {
                do throws(SecretReader.Failure) {
                    let text = try reader.read(secret)
                    isFound = try look(secret, text.bytes, tell) || isFound
                } catch .refusedBefore {
                    refused += 1
                } catch {
                    tell(.complaint(error.error.message))
                }
                // Nothing more is told, and nothing more can change the answer.
                if cancellation?.isCancelled == true || isFound && words.isQuiet { return isFound }
            }
        }
        if refused > 0 {
            let (what, whose) =
                refused == 1 ? ("1 more secret is", "its") : ("\(refused) more secrets are", "their")
            tell(.complaint("\(what) not searched: nobody entered the passphrase of \(whose) key"))
        }
        return isFound
    }

    /// - Returns: whether the secret is one of those that are looked for.
    private func look(
        _ secret: SecretPlace, _ text: SecretBytes, _ tell: (Event) -> Void
    ) throws(SecretReader.Failure) -> Bool {
        do throws(DaemonError) {
            let (matches, output) = try search(text)
            guard matches == words.wantsMatching else { return false }
            switch words.telling {
            case .lines:
                tell(.found(secret.name, hasLines: true))
                tell(.output(output))
            case .names: tell(.found(secret.name, hasLines: false))
            case .nothing: break
            }
            return true
        } catch {
            throw .told(DaemonError(message: "\(secret.name) is not searched: \(error.message)"))
        }
    }

    private func search(_ text: SecretBytes) throws(DaemonError) -> (matches: Bool, output: SecretBytes) {
        var environment = environment
        if let colours { environment["GREP_COLORS"] = colours.variable }
        var output = SecretBuffer()
        var failure: Errno?
        let outcome: ChildProcess.Outcome
        let shown: SecretBytes
        do throws(Errno) {
            outcome = try ChildProcess.run(
                ["grep"] + (colours == nil ? [] : ["--color=always"]) + words.words, environment: environment,
                secret: text, timeout: .seconds(60)
            ) { piece in
                do throws(Errno) { try output.write(piece, at: output.count) } catch { failure = error }
            }
            if let failure { throw failure }
            let whole = output.freeze()
            shown = try colours?.shown(whole) ?? whole
        } catch {
            throw DaemonError(message: "cannot run grep: \(error)")
        }
        if outcome.status > 1 {
            let said = outcome.errors.split(separator: "\n").first.map(String.init) ?? ""
            throw DaemonError(message: said.isEmpty ? "grep ended with status \(outcome.status)" : said)
        }
        return (outcome.status == 0, shown)
    }
}
