import OpenPGP
import Stores
import SystemPackage

extension Errno {
    /// The errno that a program sees for an error of a store: the one table of the product. `docs/semantics.md`
    /// explains each.
    init(_ error: StoreError) {
        switch error.code {
        case .noRecipients: self = .requiredKeyNotAvailable
        case .badRecipientFile, .badSignature, .unconfirmedRecipients, .vanishedRecipientFile:
            self = .keyRejected
        case .unreadableSecrets, .locked: self = .permissionDenied
        case .changeUnderWay, .noChange: self = .resourceBusy
        case .tooLarge: self = .fileTooLarge
        case .unstable: self = .resourceTemporarilyUnavailable
        case .keptElsewhere: self = .noSuchFileOrDirectory
        case .overtaken: self = .staleNFSFileHandle
        case .aborted: self = .canceled
        case .system(let errno): self = errno
        case .openPGP(let code): self.init(code)
        }
    }

    /// Runs `body`; what it throws becomes the errno that a program sees.
    static func catching<Value>(_ body: () throws(StoreError) -> Value) throws(Errno) -> Value {
        do throws(StoreError) { return try body() } catch { throw Errno(error) }
    }

    private init(_ code: OpenPGPError.Code) {
        switch code {
        case .missingKey, .ambiguousKey: self = .requiredKeyNotAvailable
        case .expiredKey: self = .keyExpired
        case .revokedKey: self = .keyRevoked
        case .disabledKey, .notForEncryption, .untrustedKey, .badSignature: self = .keyRejected
        case .noSecretKey, .badPassphrase, .declined: self = .permissionDenied
        case .canceled: self = .interrupted
        case .timedOut: self = .connectionTimedOut
        case .noPinentry: self = .noTerminal
        case .corrupt, .notEncrypted: self = .ioError
        case .tooLarge: self = .fileTooLarge
        case .outOfMemory: self = .noMemory
        case .tooManyOpenFiles: self = .tooManyOpenFiles
        case .agentUnavailable, .noEngine, .other: self = .ioError
        }
    }

    // Numbers of Linux that swift-system has no names for.
    static var requiredKeyNotAvailable: Errno { Errno(rawValue: 126) }
    static var keyExpired: Errno { Errno(rawValue: 127) }
    static var keyRevoked: Errno { Errno(rawValue: 128) }
    static var keyRejected: Errno { Errno(rawValue: 129) }
    static var connectionTimedOut: Errno { Errno(rawValue: 110) }
    static var noTerminal: Errno { Errno(rawValue: 25) }
}
