import Glibc
import Synchronization
import System

/// A reader that was looked at, and the handle by which it is known again.
final class KnownReader: Sendable {
    let reader: Reader
    private let folder: ProcessFolder?
    private let program: State?
    /// For how long a look at the program holds as long as the process lives and keeps its memory, in nanoseconds: less than it
    /// takes to become another program. Nothing tells when the file of the program is replaced, or when others go on using the
    /// memory.
    private static let lookHolds: UInt64 = 1_000_000
    private let memory: AddressSpace?
    private let process: RunningProcess?
    /// Whether no other process has the memory: one that goes on with it would speak for this one.
    private let hasOwnMemory: Bool
    /// When its program was last looked at, by `MonotonicTime.nanoseconds`.
    private let lastLook: Atomic<UInt64>
    /// Of the command that reads for it.
    private let commandFolder: ProcessFolder?
    let decisions = Mutex(KnownDecisions())

    /// - Parameter command: of passdir, which reads for it.
    init(_ thread: Int32, through command: Int32? = nil) {
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

    /// As `isStillThere`, as far as a glance tells: false where a look is needed.
    var isThereAtAGlance: Bool {
        MonotonicTime.nanoseconds - lastLook.load(ordering: .relaxed) < Self.lookHolds && keepsItsMemory
    }

    /// Whether the process lives and has executed nothing, as far as its memory tells, which others may share by now.
    var keepsItsMemory: Bool {
        hasOwnMemory && memory?.isInUse() == true && process?.hasEnded == false
    }

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
    private let known = Mutex<(readers: [Key: KnownReader], order: [Key])>(([:], []))

    private struct Key: Hashable {
        let thread: Int32
        let command: Int32?
    }

    /// The reader behind a thread's id, as the kernel tells it with a request; 0 for one that cannot be seen.
    /// - Parameter command: of passdir, which reads for it.
    func find(_ thread: Int32, through command: Int32? = nil) -> KnownReader {
        let key = Key(thread: thread, command: command)
        if let found = known.withLock({ $0.readers[key] }), found.isThereAtAGlance || found.isStillThere {
            return found
        }
        let fresh = KnownReader(thread, through: command)
        let gone: [KnownReader] = known.withLock { state in
            var gone = [state.readers.updateValue(fresh, forKey: key)].compactMap(\.self)
            state.order.removeAll { $0 == key }
            state.order.append(key)
            while state.order.count > Self.limit {
                gone += [state.readers.removeValue(forKey: state.order.removeFirst())].compactMap(\.self)
            }
            return gone
        }
        // Their descriptors are closed outside the lock.
        _ = consume gone
        return fresh
    }
}
