import Glibc
import Synchronization

/// Which input a thread is at, in words, for the moment in which the process dies of it.
///
/// A trap of Swift's, a fault or an abort ends the process at once. The words lie ready in memory, and a signal handler
/// writes them to standard error before whatever the signal does next.
final class FuzzNote {
    private static let length = 256
    private let text = UnsafeMutablePointer<CChar>.allocate(capacity: FuzzNote.length)
    private let stack: UnsafeMutableRawPointer
    private let prefix: String
    private let place: Int

    /// The calling thread is going to read inputs of this target.
    init(target: String, seed: UInt64) {
        // A stack of its own, since the thread's may be what is used up.
        let size = 1 << 16
        stack = .allocate(byteCount: size, alignment: 16)
        var alternative = stack_t()
        alternative.ss_sp = stack
        alternative.ss_size = size
        sigaltstack(&alternative, nil)
        prefix = "fuzz: died at PASSDIR_FUZZ_SEED=\(seed) PASSDIR_FUZZ_INPUT=\(target):"
        text.initialize(repeating: 0, count: Self.length)
        Self.install()
        pthread_setspecific(Self.key, text)
        place = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue % Self.most
        Self.all[place] = text
    }

    deinit {
        Self.all[place] = nil
        pthread_setspecific(Self.key, nil)
        var none = stack_t()
        none.ss_flags = CInt(SS_DISABLE)
        sigaltstack(&none, nil)
        stack.deallocate()
        text.deallocate()
    }

    /// The thread is at this input now.
    func mark(_ input: Int) {
        (prefix + "\(input)\n").withCString { _ = strncpy(text, $0, Self.length - 1) }
    }

    /// Ends the process with the words: an input is read without an end.
    func giveUp() -> Never {
        Self.write(text)
        abort()
    }

    private static func write(_ text: UnsafePointer<CChar>) {
        _ = Glibc.write(STDERR_FILENO, text, strlen(text))
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "no thread-specific memory")
        return key
    }()

    private static let most = 64
    private static let count = Atomic(0)
    /// The words of all threads.
    ///
    /// Unsafe as it is read in a signal handler, where nothing can be locked; each thread writes its own place only.
    nonisolated(unsafe) private static let all = {
        let all = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: most)
        all.initialize(repeating: nil, count: most)
        return all
    }()

    private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT]
    /// What the signals did before, by their numbers: the sanitizer and Swift's runtime have handlers of their own.
    ///
    /// Unsafe as it is read in a signal handler, where nothing can be locked; written once, before the handler is
    /// installed.
    nonisolated(unsafe) private static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)

    private static let installed: Void = {
        _ = (key, all)
        for number in signals { sigaction(number, nil, previous + Int(number)) }
        for number in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                if let text = pthread_getspecific(FuzzNote.key) {
                    FuzzNote.write(text.assumingMemoryBound(to: CChar.self))
                } else {
                    // A thread that works for one of them, such as a queue of the database.
                    for place in 0..<FuzzNote.most { FuzzNote.all[place].map { FuzzNote.write($0) } }
                }
                // The instruction runs again, into what was there before.
                sigaction(number, FuzzNote.previous + Int(number), nil)
            }
            action.sa_flags = CInt(bitPattern: UInt32(SA_ONSTACK)) | CInt(SA_NODEFER)
            sigaction(number, &action, nil)
        }
    }()

    private static func install() { _ = installed }
}
