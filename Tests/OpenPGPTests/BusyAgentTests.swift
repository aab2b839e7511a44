import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import OpenPGP

/// A gpg-agent that has much to do.
@Suite(.serialized) struct BusyAgentTests {
    /// The agent derives the key from the passphrase, which it knows, once for each message, one after the other.
    ///
    /// Holds:
    /// - Waiting while gpg-agent decrypts for others takes nothing of `prompt.timeout`.
    @Test(.slow, arguments: [EncryptionWay.direct, .gpg]) func whoWaitsBehindOthersHasTime(
        way: EncryptionWay
    ) throws {
        let home = try TestHome()
        defer { home.remove() }
        let pinentry = "\(home.path)/pinentry"
        try File.write(
            """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
                case "$line" in
                GETPIN*) echo "D sesame" ;;
                esac
                echo OK
            done

            """, to: pinentry, mode: 0o700)
        try File.write(
            "allow-loopback-pinentry\ns2k-count 65011712\npinentry-program \(pinentry)\n",
            to: "\(home.path)/gpg-agent.conf")
        let key = try home.makeKey("Pat <pat@example.org>", passphrase: "sesame")
        let engine = OpenPGPEngine(home: FilePath(home.path), encryption: way)
        let message = try home.passEncrypt([1, 2, 3], to: [key.description])
        let errors = Mutex<[OpenPGPError]>([])
        let read: @Sendable (Duration) -> Void = { timeout in
            do throws(OpenPGPError) {
                let plaintext = try engine.decrypt(message, limit: 9, timeout: timeout)
                #expect(plaintext.array == [1, 2, 3])
            } catch { errors.withLock { $0.append(error) } }
        }
        // The first one has the passphrase asked for.
        read(.seconds(60))
        let took = ContinuousClock().measure { read(.seconds(60)) }
        // All of them together take twice as long as one may wait, and one takes much less.
        let timeout = max(.seconds(4), took * 20)
        let readers = Int((timeout * 2 / took).rounded(.up))
        let ended = try Wakeups()
        for _ in 0..<readers {
            try PosixThread.start(named: "reader") {
                read(timeout)
                ended.add()
            }
        }
        #expect(ended.wait(for: readers, seconds: 120))
        let failed = errors.withLock { $0 }
        let first = failed.first?.message ?? ""
        if !failed.isEmpty {
            Issue.record("\(failed.count) of \(readers) failed, of which one alone takes \(took): \(first)")
        }
    }
}
