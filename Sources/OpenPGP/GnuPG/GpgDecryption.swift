import Glibc
import System
import SystemPackage

/// One `gpg --decrypt`, started by us: gpg's exit status, which alone tells of much that is wrong with a message, is
/// lost behind gpgme.
///
/// The plaintext goes from gpg's pipe straight into secret memory.
final class GpgDecryption {
    /// What gpg has left.
    struct Outcome: ~Copyable {
        let status: [StatusLine]
        /// Whether gpg is satisfied with all that it met.
        let isSuccess: Bool
        let plaintext: SecretBytes
    }

    private let child: ChildProcess
    private let input: End
    private let output: End
    private let report: End
    private var plaintext = SecretBuffer()
    /// How much of `plaintext` is there.
    private var count = 0
    private var lines = StatusReader()
    /// How many of them have been looked at for prompts.
    private var seenLines = 0
    /// The prompt that gpg-agent has opened last.
    private var prompt: OpenedPrompt?

    /// Runs gpg to its end; where this throws, gpg is ended.
    /// - Parameters:
    ///   - program: where gpg is.
    ///   - options: what it is told besides that it is to decrypt.
    ///   - place: where a person is asked.
    ///   - limit: the most bytes of plaintext.
    ///   - mayAsk: whether it may have a person asked.
    /// - Throws: `canceled`, `timedOut`, `noPinentry`, `tooLarge`, and where no process or no memory is to be had.
    static func run(
        _ program: String, _ options: [String], _ place: PromptPlace,
        on ciphertext: UnsafeRawBufferPointer,
        limit: Int, mayAsk: Bool, _ wait: AgentWait
    ) throws(OpenPGPError) -> Outcome {
        let decryption: GpgDecryption
        do throws(Errno) { decryption = try start(program, options, place) } catch {
            throw OpenPGPError(
                error == .noSuchFileOrDirectory ? .noEngine : .init(error), "cannot start gpg: \(error)")
        }
        do throws(AgentFailure) {
            try decryption.serve(ciphertext, limit, wait)
            return try decryption.finish()
        } catch {
            guard case .ended(let reason) = error else {
                decryption.abandon()
                throw OpenPGPError(.other, "cannot poll the pipes to gpg")
            }
            let isGivenUp = [.canceled, .timedOut].contains(reason.code)
            decryption.abandon(mayAskYet: mayAsk && isGivenUp)
            throw reason
        }
    }

    private static func start(
        _ program: String, _ options: [String], _ place: PromptPlace
    ) throws(Errno) -> GpgDecryption {
        // Not "--quiet": gpg keeps to itself then why a key did not do.
        let words =
            ["gpg", "--batch", "--no-tty", "--disable-dirmngr", "--charset", "utf8"]
            + ["--status-fd", "3", "--exit-on-status-write-error"]
            + place.wordsForGpg + options + ["--output", "-", "--decrypt"]
        let input = try Pipe()
        let output = try Pipe()
        let report = try Pipe()
        let child = try ChildProcess(
            words, program: program, environment: place.applied(to: ProcessEnvironment.variables()),
            descriptors: [input.reading.raw, output.writing.raw, nil, report.writing.raw], group: .ours)
        let given = input.release()
        close(given.reading)
        return GpgDecryption(
            child, End(given.writing), End(output.takeReading().release()),
            End(report.takeReading().release()))
    }

    private init(_ child: ChildProcess, _ input: End, _ output: End, _ report: End) {
        self.child = child
        self.input = input
        self.output = output
        self.report = report
    }

    /// Feeds gpg and hears it out.
    private func serve(
        _ ciphertext: UnsafeRawBufferPointer, _ limit: Int, _ wait: AgentWait
    ) throws(AgentFailure) {
        var rest = ciphertext[...]
        while output.isOpen || report.isOpen {
            if rest.isEmpty { input.close() }
            // poll(2) passes over what is closed.
            var entries = [
                pollfd(fd: output.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: report.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: input.raw, events: Int16(POLLOUT), revents: 0),
            ]
            try wait.untilReady(&entries)
            if entries[0].revents != 0 { try receive(limit) }
            if entries[1].revents != 0 {
                try hear()
                if notePrompts() { wait.personIsAsked() }
                if let begin = lines.status.firstIndex(where: { $0.keyword == "DECRYPTION_INFO" }) {
                    try refusePassphrase(askedIn: lines.status[begin...])
                    wait.needsNobodyAnyMore()
                }
            }
            if entries[2].revents != 0 {
                switch input.write(UnsafeRawBufferPointer(rebasing: rest)) {
                case let written?: rest = rest.dropFirst(written)
                // gpg wants no more.
                case nil: input.close()
                }
            }
        }
        // Nothing is left to do for it but to end.
        guard child.waitForEnd(atMost: .seconds(10)) else { throw .broken }
    }

    /// gpg parses what it decrypts before the integrity check has passed: a packet inside, written by an enemy or made
    /// by one damaged octet, would have it ask for a passphrase that nobody ever set.
    private func refusePassphrase(askedIn status: ArraySlice<StatusLine>) throws(AgentFailure) {
        guard status.contains(where: { $0.keyword == "NEED_PASSPHRASE_SYM" }) else { return }
        throw .ended(
            OpenPGPError(.corrupt, "the message is damaged, or contains another one that needs a passphrase"))
    }

    private func receive(_ limit: Int) throws(AgentFailure) {
        do throws(Errno) {
            if count == plaintext.count { try plaintext.resize(to: count + max(4096, count / 2)) }
        } catch { throw .ended(MessageReader.noMemory) }
        let read = plaintext.withUnsafeMutableBytes { output.read(into: .init(rebasing: $0[count...])) }
        count += read
        guard count <= limit else {
            throw .ended(OpenPGPError(.tooLarge, "the plaintext is larger than \(limit) bytes"))
        }
    }

    private func hear() throws(AgentFailure) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { chunk in
            lines.take(.init(rebasing: chunk[..<report.read(into: chunk)]))
        }
    }

    private func finish() throws(AgentFailure) -> Outcome {
        do throws(Errno) { try plaintext.resize(to: count) } catch { throw .ended(MessageReader.noMemory) }
        var taken = SecretBuffer()
        swap(&taken, &plaintext)
        return Outcome(
            status: lines.status, isSuccess: child.wait() == .exited(0), plaintext: taken.freeze())
    }

    /// Takes note of the prompts that gpg tells of.
    /// - Returns: whether there is another one.
    private func notePrompts() -> Bool {
        let launched = lines.status[seenLines...].filter(\.isPrompt)
        seenLines = lines.status.count
        guard let last = launched.last else { return false }
        prompt = OpenedPrompt(last)
        return true
    }

    /// Ends gpg, and the prompt that it has had opened: one that waits for gpg-agent does not look at its pipes.
    /// - Parameter mayAskYet: gpg-agent may be about to ask a person on its behalf.
    private func abandon(mayAskYet: Bool = false) {
        try? hear()
        _ = notePrompts()
        if mayAskYet, prompt?.isOpen != true, report.isOpen { return forgo() }
        end()
    }

    private func end() {
        // SIGTERM lets gpg remove its lock files; one that is held up does not get to it.
        kill(child.pid, SIGTERM)
        prompt?.end()
        if !child.waitForEnd(atMost: .milliseconds(100)) { child.kill() }
        child.wait()
        prompt?.close()
    }

    /// How long gpg may go on that nobody waits for: gpg-agent waits a minute for another prompt.
    private static let patienceWithForgone = Duration.seconds(90)

    /// Has gpg wait for its turn, on a thread of its own, and ends it then: gpg-agent 2.2 does not notice that a client has gone,
    /// and when another prompt is answered would open that of the client.
    private func forgo() {
        input.close()
        output.close()
        let rest = Rest(decryption: self)
        do throws(Errno) { try PosixThread.start(named: "forgone") { rest.hearOut() } } catch { end() }
    }

    // Sendable because whoever has given it to the thread uses it no more.
    private struct Rest: @unchecked Sendable {
        let decryption: GpgDecryption

        func hearOut() {
            let deadline = ContinuousClock.now + GpgDecryption.patienceWithForgone
            while decryption.report.isOpen, !decryption.notePrompts() {
                let isReady = try? Poll.wait(for: POLLIN, on: decryption.report.raw, until: deadline)
                guard isReady == true else { break }
                try? decryption.hear()
            }
            decryption.end()
        }
    }
}

/// Our end of a pipe, which nothing waits at; -1 once it is closed.
private final class End {
    private(set) var raw: CInt
    var isOpen: Bool { raw >= 0 }

    init(_ raw: CInt) {
        self.raw = raw
        _ = fcntl(raw, F_SETFL, O_NONBLOCK)
    }

    deinit { close() }

    func close() {
        if raw >= 0 { Glibc.close(raw) }
        raw = -1
    }

    /// How much was there; at the end this closes.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = Glibc.read(raw, target.baseAddress, target.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { close() }
        return max(count, 0)
    }

    /// How much was taken; nil where nothing will be any more.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let count = Glibc.write(raw, bytes.baseAddress, bytes.count)
        if count < 0, errno != EAGAIN, errno != EINTR { return nil }
        return max(count, 0)
    }
}
