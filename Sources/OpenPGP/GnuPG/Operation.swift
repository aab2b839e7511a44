import CGPGME
import Glibc
import System
import SystemPackage

/// How long an operation may take, and who may stop it.
struct Bounds {
    /// What is waited for when the time is over.
    enum Awaited {
        /// gpg or gpg-agent, which were asked to do this.
        case work(String)
        /// The end of another prompt: gpg-agent opens one at a time.
        case turn
        /// A person's answer.
        case answer
    }

    private let timeout: Duration?
    private(set) var deadline: ContinuousClock.Instant?
    let cancellation: Cancellation?
    var awaited: Awaited
    private let waitsBehindOthers: Bool

    /// - Parameters:
    ///   - work: what gpg is asked to do, behind "to".
    ///   - waitsBehindOthers: Whether the time is not over while those that it waits behind get done one after the other.
    init(
        timeout: Duration?, cancellation: Cancellation? = nil, to work: String,
        waitsBehindOthers: Bool = false
    ) {
        self.timeout = timeout
        deadline = timeout.map { ContinuousClock.now + $0 }
        self.cancellation = cancellation
        awaited = .work(work)
        self.waitsBehindOthers = waitsBehindOthers
    }

    /// The deadline as it is now for who queues with this pass.
    func deadline(_ pass: Gate.Pass?) -> ContinuousClock.Instant? {
        guard waitsBehindOthers, case .work = awaited, let deadline, let timeout,
            let latest = pass?.latestDone
        else { return deadline }
        return max(deadline, latest + timeout)
    }

    /// What was waited for behind others takes nothing of the time for what is waited for now.
    mutating func keepDeadline(_ pass: Gate.Pass) { deadline = deadline(pass) }

    /// A person is asked: what was waited for before that takes nothing of the time to answer.
    mutating func beginToAnswer() {
        deadline = timeout.map { ContinuousClock.now + $0 }
        awaited = .answer
    }

    /// Waits for another's prompt at least as long as that may be answered.
    mutating func extend(to other: ContinuousClock.Instant) {
        deadline = deadline.map { max($0, other) }
    }

    /// What is left of the time; nil: any.
    var timeLeft: Duration? { deadline.map { max($0 - .now, .zero) } }

    /// - Throws: `canceled`, `timedOut`, and `noPinentry` where the operation is stuck behind one that asks a person.
    func check(_ pass: Gate.Pass? = nil) throws(OpenPGPError) {
        if pass?.isRefused == true {
            throw OpenPGPError(.noPinentry, "the key is locked: its passphrase is being asked for")
        }
        if let cancellation, cancellation.isCancelled {
            throw OpenPGPError(.canceled, "the operation was cancelled")
        }
        if let deadline = deadline(pass), ContinuousClock.now >= deadline {
            throw OpenPGPError(.timedOut, overdue)
        }
    }

    private var overdue: String {
        switch awaited {
        case .work(let work):
            "gpg was asked to \(work) and did not answer in time; if another passphrase prompt is open, answer it and try again"
        case .turn: Self.noTurn
        case .answer: "nobody answered the passphrase prompt"
        }
    }

    /// The sentence for a prompt that was never opened.
    static let noTurn =
        "the passphrase could not be asked for while another passphrase prompt was open; answer that, then try again"

    /// Waits until woken or the time is over.
    func pause(_ wakeup: Wakeup, _ pass: Gate.Pass? = nil) throws(OpenPGPError) {
        try check(pass)
        _ = try? Poll.wait(for: POLLIN, on: wakeup.descriptor, until: deadline(pass))
        wakeup.drain()
        try check(pass)
    }
}

/// One gpg operation: a gpgme context, its pipes, and the loop that serves them on the calling thread.
///
/// gpgme's own loop looks at a cancellation only when gpg writes something, which it does not while a passphrase
/// prompt is open; so the pipes are polled here, together with an event descriptor.
final class Operation {
    /// After this long an operation gives its place at the gate back: it waits for a person then, not for a processor.
    static let patience = Duration.seconds(1)

    let context: OpaquePointer
    /// What gpgme reads and writes; it goes after the context.
    private var data: [EngineData] = []
    /// All status lines of gpg.
    private(set) var status: [StatusLine] = []
    /// What a listing found.
    private(set) var keys: [Key] = []
    private var watches: [Watch] = []
    private var outcome: gpgme_error_t?

    /// One pipe that gpgme wants to be told of.
    private final class Watch {
        unowned let operation: Operation
        let descriptor: Int32
        let events: Int16
        let callback: gpgme_io_cb_t
        let data: UnsafeMutableRawPointer?
        var isRemoved = false

        init(
            _ operation: Operation, _ descriptor: Int32, _ events: Int16, _ callback: @escaping gpgme_io_cb_t,
            _ data: UnsafeMutableRawPointer?
        ) {
            self.operation = operation
            self.descriptor = descriptor
            self.events = events
            self.callback = callback
            self.data = data
        }
    }

    init(home: String?) throws(OpenPGPError) {
        var context: gpgme_ctx_t?
        let error = gpgme_new(&context)
        guard error == 0, let context else { throw EngineFailure.error(error, "cannot prepare gpgme") }
        self.context = context
        var problem = gpgme_set_protocol(context, GPGME_PROTOCOL_OpenPGP)
        if problem == 0, let home {
            problem = gpgme_ctx_set_engine_info(context, GPGME_PROTOCOL_OpenPGP, nil, home)
        }
        guard problem == 0 else { throw EngineFailure.error(problem, "cannot use gpg", else: .noEngine) }
        // Nothing here may start a look-up on the network.
        gpgme_set_offline(context, 1)
        _ = gpgme_set_ctx_flag(context, "full-status", "1")
        let me = Unmanaged.passUnretained(self).toOpaque()
        gpgme_set_status_cb(context, Self.onStatus, me)
        var callbacks = gpgme_io_cbs(
            add: Self.onAdd, add_priv: me, remove: Self.onRemove, event: Self.onEvent, event_priv: me)
        gpgme_set_io_cbs(context, &callbacks)
    }

    deinit { gpgme_release(context) }

    /// What gpg is to read, for the operation that is started; the memory must outlive this.
    func reading(_ bytes: UnsafeRawBufferPointer) throws(OpenPGPError) -> OpaquePointer {
        data.append(try EngineData(reading: bytes))
        return data[data.count - 1].handle
    }

    /// Where gpg's output goes, for the operation that is started.
    func writing(to sink: Sink) throws(OpenPGPError) -> OpaquePointer {
        data.append(try EngineData(writing: sink))
        return data[data.count - 1].handle
    }

    /// Waits for a place in a lane, starts the operation and serves it until it is done.
    /// - Returns: gpgme's verdict, 0 for success.
    /// - Throws: `canceled` and `timedOut`; gpg is ended then.
    func run(
        _ given: Bounds, through gate: Gate, lane: Gate.Lane = .withoutAsking,
        start: (OpaquePointer) -> gpgme_error_t
    ) throws(OpenPGPError) -> gpgme_error_t {
        var bounds = given
        var promptCount = 0
        let wakeup = try Wakeup()
        let token = bounds.cancellation?.register { wakeup.wake() }
        defer { bounds.cancellation?.unregister(token) }
        let pass = gate.request(wakeup, in: lane)
        defer { pass.giveBack() }
        while !pass.isGranted {
            try bounds.check(pass)
            wait(wakeup, until: bounds.deadline(pass))
        }
        try bounds.check(pass)
        let impatience = ContinuousClock.now + Self.patience
        // gpgme forks here, and gpg would inherit what this thread blocks.
        let error = SignalMask.withNoneBlocked { start(context) }
        guard error == 0 else { return error }
        var isPatient = true
        while outcome == nil {
            do throws(OpenPGPError) {
                try bounds.check(pass)
            } catch {
                abandon()
                throw error
            }
            if isPatient, ContinuousClock.now >= impatience {
                isPatient = false
                pass.giveBack(.waitsForPerson)
            }
            let next = [bounds.deadline(pass), isPatient ? impatience : nil].compactMap(\.self).min()
            wait(wakeup, until: next)
            guard !lane.asksNobody else { continue }
            let prompts = status.count(where: \.isPrompt)
            if prompts > promptCount {
                promptCount = prompts
                bounds.beginToAnswer()
            }
        }
        pass.giveBack(.done)
        return outcome ?? 0
    }

    /// Ends gpg, then has gpgme close its pipes, and closes the prompt that gpg has had opened.
    private func abandon() {
        let prompt = status.last(where: \.isPrompt).flatMap { OpenedPrompt($0) }
        GpgProcess.terminate(pipes: watches.map(\.descriptor))
        gpgme_cancel(context)
        prompt?.close()
    }

    /// Serves the pipes that are ready; returns also when woken, or at `limit`.
    private func wait(_ wakeup: Wakeup, until limit: ContinuousClock.Instant?) {
        let watched = watches
        var polls = watched.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        polls.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        guard (try? Poll.wait(for: &polls, until: limit)) == true else { return }
        if polls[watched.count].revents != 0 { wakeup.drain() }
        for (watch, poll) in zip(watched, polls) where poll.revents != 0 && !watch.isRemoved {
            _ = watch.callback(watch.data, watch.descriptor)
        }
    }
}

// MARK: - What gpgme calls, always on the thread that serves the operation

extension Operation {
    private static func from(_ pointer: UnsafeMutableRawPointer?) -> Operation? {
        pointer.map { Unmanaged<Operation>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let onAdd: gpgme_register_io_cb_t = { me, descriptor, direction, callback, data, tag in
        guard let operation = Operation.from(me), let callback, let tag else {
            return gpgme_err_make(GPG_ERR_SOURCE_USER_1, GPG_ERR_INV_VALUE)
        }
        let events = Int16(direction == 1 ? POLLIN : POLLOUT)
        let watch = Watch(operation, descriptor, events, callback, data)
        operation.watches.append(watch)
        tag.pointee = Unmanaged.passRetained(watch).toOpaque()
        return 0
    }

    private static let onRemove: gpgme_remove_io_cb_t = { tag in
        guard let tag else { return }
        let watch = Unmanaged<Watch>.fromOpaque(tag).takeRetainedValue()
        watch.isRemoved = true
        watch.operation.watches.removeAll { $0 === watch }
    }

    private static let onEvent: gpgme_event_io_cb_t = { me, event, data in
        guard let operation = Operation.from(me) else { return }
        switch event {
        case GPGME_EVENT_DONE:
            let done = data?.assumingMemoryBound(to: gpgme_io_event_done_data.self).pointee
            let error = done?.err ?? 0
            operation.outcome = error != 0 ? error : done?.op_err ?? 0
        case GPGME_EVENT_NEXT_KEY:
            // The event hands its reference over.
            guard let data else { return }
            let key = data.assumingMemoryBound(to: _gpgme_key.self)
            if let listed = Key(key) { operation.keys.append(listed) }
            gpgme_key_unref(key)
        default: break
        }
    }

    private static let onStatus: gpgme_status_cb_t = { me, keyword, arguments in
        // The name of the plaintext file could be a secret's name; an end of file comes without a keyword.
        guard let operation = Operation.from(me), let keyword,
            operation.status.count < [StatusLine].maximalCount
        else {
            return 0
        }
        let word = String(cString: keyword)
        guard !word.isEmpty, word != "PLAINTEXT" else { return 0 }
        operation.status.append(
            StatusLine(keyword: word, arguments: arguments.map { String(cString: $0) } ?? ""))
        return 0
    }
}
