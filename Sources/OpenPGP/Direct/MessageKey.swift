import Glibc
import Synchronization
import System

/// The session key of one message, in secret memory: with it the message is decrypted without its secret key.
///
/// It is wiped when the last reference goes, or by `forget`.
public final class MessageKey: Sendable {
    let cipher: SymmetricCipher
    private let count: Int
    private let slot: Mutex<Int?>

    /// nil where there is no room for more, or this is no key of the cipher.
    init?(_ key: UnsafeRawBufferPointer, for cipher: SymmetricCipher) {
        guard key.count == cipher.keyLength, key.count > 0, let slot = KeySlots.shared.store(key) else {
            return nil
        }
        self.cipher = cipher
        count = key.count
        self.slot = Mutex(slot)
    }

    deinit { forget() }

    /// Wipes the key now, whoever still has a reference.
    public func forget() {
        slot.withLock { slot in
            if let slot { KeySlots.shared.wipe(slot) }
            slot = nil
        }
    }

    /// A copy in libgcrypt's secure memory.
    /// - Throws: when the key was forgotten.
    func copy() throws(OpenPGPError) -> SecureBytes {
        let bytes = try SecureBytes(count: count)
        let isThere = slot.withLock { slot in
            guard let slot else { return false }
            KeySlots.shared.load(slot, count: count, to: bytes.base)
            return true
        }
        guard isThere else { throw OpenPGPError(.other, "the session key was forgotten") }
        return bytes
    }
}

/// Room for the keys of many messages in few pages: each in pages of its own would soon use up what may be locked.
private final class KeySlots: Sendable {
    static let shared = KeySlots()
    private static let size = 32
    /// 1 MiB.
    private static let most = 32_768

    private struct State: ~Copyable {
        var pages = SecretBuffer()
        var free: [Int] = []
    }
    private let state = Mutex(State())

    func store(_ key: UnsafeRawBufferPointer) -> Int? {
        guard key.count <= Self.size else { return nil }
        return state.withLock { state in
            if state.free.isEmpty {
                let count = state.pages.count / Self.size
                guard count < Self.most,
                    (try? state.pages.resize(to: max(4096, 2 * state.pages.count))) != nil
                else { return nil }
                state.free = Array((count..<state.pages.count / Self.size).reversed())
            }
            let slot = state.free.removeLast()
            try? state.pages.write(key, at: slot * Self.size)
            return slot
        }
    }

    func load(_ slot: Int, count: Int, to target: UnsafeMutableRawPointer) {
        state.withLock { state in
            state.pages.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                memcpy(target, base + slot * Self.size, count)
            }
        }
    }

    func wipe(_ slot: Int) {
        state.withLock { state in
            state.pages.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                explicit_bzero(base + slot * Self.size, Self.size)
            }
            state.free.append(slot)
        }
    }
}
