import Synchronization
import SystemPackage

/// That gpg or its agent did not answer in time. A command asks it nothing more then, so that whoever waits does so once and not
/// for each question. Of a home there is one, as of a `DiskLook`.
final class GpgSilence: Sendable {
    private static let all = Mutex<[FilePath: GpgSilence]>([:])
    private static let isRemembered = Atomic(true)

    private let failure = Mutex<OpenPGPError?>(nil)

    /// That of a home.
    static func of(_ home: FilePath) -> GpgSilence {
        all.withLock { all in
            if let known = all[home] { return known }
            let silence = GpgSilence()
            all[home] = silence
            return silence
        }
    }

    /// From now on nothing is remembered: this process lives longer than a silence lasts.
    static func forget() { isRemembered.store(false, ordering: .releasing) }

    /// - Throws: what an operation before this one failed with, as nothing answered.
    func check() throws(OpenPGPError) {
        guard Self.isRemembered.load(ordering: .acquiring), let failure = failure.withLock({ $0 }) else {
            return
        }
        throw failure
    }

    /// Notes what an operation failed with.
    func note(_ error: OpenPGPError) { failure.withLock { $0 = error } }
}

extension GnuPG {
    /// What to say of an operation that did not end in time: that the agent does not answer, where it greets nobody either.
    func overdue(_ error: OpenPGPError) -> OpenPGPError {
        let bounds = Bounds(timeout: Self.patienceWithoutAsking, to: "greet")
        let agent = Agent { [self] in agentSocket($0) }
        do throws(AgentFailure) {
            let wait = try AgentWait(bounds)
            try agent.connection(wait).run("NOP", wait)
        } catch .ended(let greeting) where greeting.code == .timedOut {
            // `gpgconf --kill` waits for it as well.
            return OpenPGPError(
                .timedOut,
                "gpg-agent does not answer: 'pkill -KILL gpg-agent' ends it, and gpg starts another one")
        } catch {}
        return error
    }
}
