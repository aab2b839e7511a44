import Glibc
public import OpenPGP
import Synchronization
public import SystemPackage

/// One password store: a folder of OpenPGP files in the layout of pass.
///
/// This is where secrets are read, encrypted and put in place; what they look like in the mount and how they reach
/// git is not known here. Paths are of the files on disk, relative to the store. All functions block.
public final class Store: Sendable {
    private let names: Mutex<(name: String, identifier: String)>
    private let ways: Mutex<(engine: any Engine, options: Options)>
    /// Its folder.
    public let root: Root
    let learned: LearnedState?
    private let people = Mutex<@Sendable () -> Bool>({ true })

    /// A store in a folder that is already open.
    public init(
        name: String, identifier: String, root: Root, engine: any Engine, options: Options,
        learned: LearnedState?
    ) {
        names = Mutex((name, identifier))
        ways = Mutex((engine, options))
        self.root = root
        self.learned = learned
    }

    /// The name that users gave it.
    public var name: String { names.withLock { $0.name } }
    /// What learned state is filed under; stays when the store is renamed.
    public var identifier: String { names.withLock { $0.identifier } }

    /// The store has another name now, or an id where it had none.
    public func rename(to name: String, identifier: String) {
        names.withLock { $0 = (name, identifier) }
    }

    /// Encrypts and decrypts.
    public var engine: any Engine { ways.withLock { $0.engine } }
    /// What applies to every secret.
    public var options: Options { ways.withLock { $0.options } }

    /// Other settings apply from now on; what is being done goes on by those that it began with.
    public func use(_ engine: any Engine, _ options: Options) {
        ways.withLock { $0 = (engine, options) }
    }

    /// Whether work in the background may ask a person for a passphrase; it may where nobody has said when.
    public var mayAskPeople: Bool { people.withLock { $0 }() }

    /// Says when work in the background may ask a person for a passphrase: not while the store is locked.
    public func asksPeople(when mayAsk: @escaping @Sendable () -> Bool) { people.withLock { $0 = mayAsk } }

    /// Whether gpg-agent would ask a person before it decrypts a secret; false where that cannot be told. Asks nobody; may
    /// wait for gpg-agent for two seconds.
    public func asksForPassphrase(toRead secret: FilePath) -> Bool {
        guard engine is any PassphraseAgent,
            let ciphertext = try? read(secret, limit: options.ciphertextLimit)
        else { return false }
        return asksForPassphrase(toDecrypt: ciphertext)
    }

    /// As `asksForPassphrase(toRead:)`, of a ciphertext, wherever it came from.
    public func asksForPassphrase(toDecrypt ciphertext: [UInt8]) -> Bool {
        guard let agent = engine as? any PassphraseAgent else { return false }
        return ciphertext.withUnsafeBytes { agent.asksForPassphrase(toDecrypt: $0) }
    }

    /// The bytes of a file, links not followed; `fileTooLarge` beyond `limit` bytes.
    public func read(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        try content(of: path, limit: limit).bytes
    }

    /// As `read`, with the facts of the file that was read.
    public func content(
        of path: FilePath, limit: Int
    ) throws(Errno) -> (bytes: [UInt8], status: FileStatus) {
        let file = try root.openToLook(path)
        return try file.readAll(limit: limit)
    }

    /// Holds a file, so that it can be read when another one has taken its place. Links are not followed.
    public func hold(_ path: FilePath) throws(Errno) -> HeldFile {
        try HeldFile(try root.openToLook(path))
    }
}

extension Store {
    /// A fact that was learned about this store and survives restarts, such as the time of its last push.
    public func fact(_ name: String) -> String? {
        learned?.fact(name, of: identifier)
    }

    /// Keeps a learned fact, or drops it when nil. Losing it does no harm.
    public func remember(_ value: String?, as name: String) {
        learned?.remember(value, as: name, of: identifier)
    }
}
