import Synchronization
import SystemPackage

/// What an engine is made of, which is made once it is needed.
final class EngineParts: Sendable {
    struct Made: Sendable {
        let gnupg: GnuPG
        let agent: Agent
        let decryption: any Decrypting
        let encryption: any Encrypting
    }

    private let home: FilePath
    private let way: EncryptionWay
    private let notice: @Sendable (String) -> Void
    private let known = Mutex<Made?>(nil)

    init(home: FilePath, encryption way: EncryptionWay, notice: @escaping @Sendable (String) -> Void) {
        self.home = home
        self.way = way
        self.notice = notice
    }

    /// - Throws: `noEngine`.
    func made() throws(OpenPGPError) -> Made {
        try known.withLock { (known) throws(OpenPGPError) in
            if let known { return known }
            let gnupg = try GnuPG(home: home)
            let agent = Agent { gnupg.agentSocket($0) }
            let isDirect = way == .direct
            let made = Made(
                gnupg: gnupg, agent: agent,
                decryption: (isDirect ? DirectDecryptor(before: gnupg, agent) : nil) ?? gnupg,
                encryption: (isDirect ? DirectEncryptor(before: gnupg, notice: notice) : nil) ?? gnupg)
            known = made
            return made
        }
    }
}
