import Glibc
import Synchronization
import System

/// A reader that was looked at, and the handle by which it is known again.
final class KnownReader: Sendable {
    let reader: Reader
    private let folder: ProcessFolder?
    private let program: State?
    private let memory: AddressSpace?
    private let process: RunningProcess?
    /// Whether no other process has the memory: one that goes on with it would speak for this one.
    private let hasOwnMemory: Bool
    /// Whether the end of the process is told of.
    private let isWatched: Bool
    /// When its program was last looked at, by `MonotonicTime.nanoseconds`.
    private let lastLook: Atomic<UInt64>
    /// Of the command that reads for it.
    private let commandFolder: ProcessFolder?
    let decisions = Mutex(KnownDecisions())

    /// - Parameters:
    ///   - command: of passdir, which reads for it.
    ///   - ends: tells of its end, where it can.
    init(_ thread: Int32, through command: Int32? = nil, watchedBy ends: EndWatch? = nil) {
        folder = ProcessFolder(thread)
        // Before the memory: where that is found, the folder's process had the number still.
        process = try? RunningProcess(thread)
        memory = folder?.addressSpace()
        lastLook = Atomic(MonotonicTime.nanoseconds)
        // Before the look: what replaces it meanwhile is then another one.
        program = folder?.targetFacts(of: "exe").map(State.init)
        var reader = Reader(ofThread: thread)
        commandFolder = command.flatMap { ProcessFolder($0) }
        if let command { reader.command = Reader.Command(command) }
        self.reader = reader
        // The number of another thread may be given away while the process goes on.
        hasOwnMemory =
            reader.process == thread && command == nil
            && reader.ancestors.first.map { AddressSpace.isShared(by: thread, and: $0.process) } == false
        isWatched = hasOwnMemory && process.flatMap { try? ends?.add($0) } != nil
    }

    /// Whether the thread still is one of the same process, and runs the same program.
    var isStillThere: Bool {
        guard folder != nil, let program else { return false }
        if reader.command != nil, commandFolder?.targetFacts(of: "exe") == nil { return false }
        let now = MonotonicTime.nanoseconds
        guard folder?.targetFacts(of: "exe").map(State.init) == program else { return false }
        lastLook.store(now, ordering: .relaxed)
        return true
    }

    /// As `isStillThere` of a process that has not ended, as far as a glance tells: false where a look is needed.
    /// - Parameter nanoseconds: for how long a look at the program holds.
    func isThereAtAGlance(within nanoseconds: UInt64) -> Bool {
        isWatched && MonotonicTime.nanoseconds - lastLook.load(ordering: .relaxed) < nanoseconds
            && memory?.isInUse() == true
    }

    /// Whether the process is known to run no more.
    var hasEnded: Bool { process?.hasEnded == true }

    /// As `Program.fingerprint`, in numbers: each open compares them.
    private struct State: Equatable {
        let device, file: UInt
        let size, seconds, nanoseconds: Int

        init(_ facts: stat) {
            (device, file, size) = (facts.st_dev, facts.st_ino, facts.st_size)
            (seconds, nanoseconds) = (facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec)
        }
    }
}

/// What was decided for one reader by the rules in force, by their places and for the secrets that it read last.
struct KnownDecisions: Sendable {
    private static let mostSecrets = 64
    private var inForce: AccessGate.InForce?
    private var byPlace: [String: Decision] = [:]
    private var bySecret: [String: JudgedRead] = [:]

    /// Of a secret, by what is in force; nil where nothing is known.
    func read(of secret: String, _ inForce: AccessGate.InForce) -> JudgedRead? {
        self.inForce === inForce ? bySecret[secret] : nil
    }

    /// Of all secrets for which the rules of a place come first.
    func at(_ place: String, _ inForce: AccessGate.InForce) -> Decision? {
        self.inForce === inForce ? byPlace[place] : nil
    }

    mutating func keep(_ read: JudgedRead, at place: String, _ inForce: AccessGate.InForce) {
        if self.inForce !== inForce { self = KnownDecisions(inForce: inForce) }
        if bySecret.count >= Self.mostSecrets { bySecret = [:] }
        byPlace[place] = read.decision
        bySecret[read.secret] = read
    }

    init(inForce: AccessGate.InForce? = nil) { self.inForce = inForce }
}

/// The readers that were looked at last: a program that opens many secrets is looked at once.
///
/// What a process comes from is what it came from at the first look: one that lets go of its parents later gains nothing.
final class KnownReaders: Sendable {
    private static let limit = 64
    /// The one that was found last is the first: whoever reads much is found at once.
    private let known = Mutex<[Known]>([])
    /// Tells which of them have ended; where the kernel has no room for it, each is looked at each time.
    private let ends = try? EndWatch()
    private let lookHolds: UInt64

    /// - Parameter nanoseconds: for how long a look at a program holds while the process lives and keeps its memory. Nothing
    ///   tells when the file of the program is replaced, or when others go on using the memory.
    init(lookHolds nanoseconds: UInt64 = 1_000_000) { lookHolds = nanoseconds }

    private struct Key: Equatable {
        let thread: Int32
        let command: Int32?
    }

    private typealias Known = (key: Key, reader: KnownReader)

    /// The reader behind a thread's id, as the kernel tells it with a request; 0 for one that cannot be seen.
    /// - Parameter command: of passdir, which reads for it.
    func find(_ thread: Int32, through command: Int32? = nil) -> KnownReader {
        let key = Key(thread: thread, command: command)
        // Before the look at what is known: whoever is found there has not ended by then, so that the number is theirs.
        forgetEnded()
        let last = known.withLock { known -> KnownReader? in
            guard let index = known.firstIndex(where: { $0.key == key }) else { return nil }
            if index > 0 { known.swapAt(0, index) }
            return known[0].reader
        }
        if let last, last.isThereAtAGlance(within: lookHolds) || last.isStillThere { return last }
        let fresh = KnownReader(thread, through: command, watchedBy: ends)
        change { [(key, fresh)] + $0.filter { $0.key != key }.prefix(Self.limit - 1) }
        return fresh
    }

    private func forgetEnded() {
        guard ends?.seesAnEnd == true else { return }
        change { $0.filter { !$0.reader.hasEnded } }
    }

    private func change(_ change: ([Known]) -> [Known]) {
        let former = known.withLock { known in
            let former = known
            known = change(former)
            return former
        }
        // Descriptors of those that are gone are closed outside the lock.
        _ = consume former
    }
}
