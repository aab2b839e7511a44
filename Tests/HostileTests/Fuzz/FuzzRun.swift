import CGit
import Dispatch
import Glibc
import Synchronization
import SystemPackage
import TestKit

/// Reads many inputs of one target, one after the other.
struct FuzzRun {
    let target: FuzzTarget
    let seed: UInt64
    /// Which inputs; each is made of seed, target and number alone.
    let inputs: Range<Int>
    /// Nothing else runs in this process, so that its memory is that of the inputs.
    let isAlone: Bool

    /// An input that takes longer, in time of the processor, is a hang.
    private static let limit = 1.0
    /// After so long without an end of one input, even on a busy machine, there will be none.
    private static let patience = 60
    private static let corpusSize = 128
    /// KiB by which the most memory that the process ever had may rise.
    private static let mostMemory = 64 << 10

    /// Returns what is wrong with the inputs, at most ten sentences; the process ends where an input kills it.
    func findings() throws -> [String] {
        let folder = try Self.makeFolder()
        defer { Self.remove(folder) }
        let memory = try GuardedMemory(most: target.most + 4096)
        let mutator = FuzzMutator(
            corpus: (0..<Self.corpusSize).map { number in
                var random = FuzzRandom(seed: seed, target: target.name + " corpus", input: number)
                return target.item(&random)
            }, tokens: (target.tokens + ["\0", "\n", "\u{7f}"]).map { Array($0.utf8) }, most: target.most)
        let note = FuzzNote(target: target.name, seed: seed)
        let watch = FuzzWatch(note)
        defer { watch.end() }
        var found: [String] = []
        var memoryBefore = try PeakMemory.kibibytes(of: getpid())
        let start = ContinuousClock.now
        for number in inputs {
            // Corpora and tables that are built once are not what inputs take.
            if number == inputs.lowerBound + inputs.count / 20 {
                memoryBefore = try PeakMemory.kibibytes(of: getpid())
            }
            note.mark(number)
            watch.count()
            var random = FuzzRandom(seed: seed, target: target.name, input: number)
            let bytes = target.repair(mutator.input(&random), &random)
            let input = FuzzInput(bytes: bytes, folder: folder, memory: memory)
            let start = Self.clock()
            do {
                try target.read(input, &random)
            } catch {
                found.append(sentence(number, "\(error)", bytes))
            }
            let time = Self.clock() - start
            if time > Self.limit { found.append(sentence(number, "it takes \(time) s", bytes)) }
            if found.count >= 10 { break }
        }
        guard isAlone else { return found }
        let peak = try PeakMemory.kibibytes(of: getpid())
        let rise = peak - memoryBefore
        print(
            "fuzz: \(target.name) took \((ContinuousClock.now - start).components.seconds) s, "
                + "\(peak >> 10) MiB, of which \(rise >> 10) MiB came late")
        if rise > Self.mostMemory {
            found.append("\(inputs.count) inputs of \(target.name) take \(rise >> 10) MiB more")
        }
        return found
    }

    private func sentence(_ number: Int, _ what: String, _ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(600).map { byte in
            (0x20..<0x7f).contains(byte)
                ? String(UnicodeScalar(byte)) : "\\" + String(Int(byte) + 0x100, radix: 16).dropFirst()
        }.joined()
        return "\(what)\n    PASSDIR_FUZZ_SEED=\(seed) PASSDIR_FUZZ_INPUT=\(target.name):\(number), "
            + "\(bytes.count) bytes: \(shown)"
    }

    /// Seconds of the processor that this thread has used.
    private static func clock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A folder in memory where the system has one: a million inputs are not to wear a disk out.
    private static func makeFolder() throws -> FilePath {
        let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(base)/passdir-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        return template.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
    }

    private static func remove(_ folder: FilePath) {
        _ = try? Program(
            ["rm", "-rf", folder.string], environment: ["PATH": "/usr/bin:/bin"], directory: "/"
        )
        .wait(limit: .seconds(30))
    }

    /// Looks every now and then whether the inputs go on.
    private final class FuzzWatch: Sendable {
        private let inputs = Atomic(0)
        private let stopped = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)

        init(_ note: FuzzNote) {
            // Unsafe to share, but the thread that owns it waits in an input without an end when it is used.
            nonisolated(unsafe) let note = note
            Thread.start { [self] in
                var last = -1
                while stopped.wait(timeout: .now() + .seconds(FuzzRun.patience)) != .success {
                    let now = inputs.load(ordering: .relaxed)
                    if now == last { note.giveUp() }
                    last = now
                }
                ended.signal()
            }
        }

        func count() { inputs.wrappingAdd(1, ordering: .relaxed) }

        /// Waits for the watching thread, which holds the note.
        func end() {
            stopped.signal()
            ended.wait()
        }
    }
}
