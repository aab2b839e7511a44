import Synchronization
import System
public import SystemPackage

/// Whether the disk of a store answers, looked at on a thread of its own: whoever asks waits for a silent one no longer than a
/// moment, be it a network file system that is away. Of a folder there is one, so that no more than one thread waits for it.
public final class DiskLook: Sendable {
    /// How long a disk may be silent before it counts as one that does not answer.
    public static let silence = Duration.seconds(2)
    /// How long slow work may hold a look up.
    private static let patience = Duration.seconds(7)

    private static let all = Mutex<[FilePath: DiskLook]>([:])

    private let folder: FilePath
    private let look = RepeatedLook<Bool>(named: "disk")
    /// When somebody last waited in vain.
    private let silenceTime = Mutex<ContinuousClock.Instant?>(nil)

    private init(_ folder: FilePath) {
        self.folder = folder
    }

    /// The look at a folder.
    public static func at(_ folder: FilePath) -> DiskLook {
        all.withLock { all in
            if let known = all[folder] { return known }
            let look = DiskLook(folder)
            all[folder] = look
            return look
        }
    }

    /// Looks at the disks of several stores at once: who then asks each of them in turn waits for none any more, whichever
    /// are silent.
    public static func lookAhead(at stores: [StoreDefinition]) {
        guard stores.count > 1 else { return }
        let left = Monitor(stores.count)
        for answer in stores.map({ at($0.path).begin() }) {
            let wait = { @Sendable in
                _ = answer()
                left.withLock { $0 -= 1 }
                left.broadcast()
            }
            // Without a thread it is waited for here.
            if (try? PosixThread.start(named: "disk", wait)) == nil { wait() }
        }
        left.waiting { left, _ in left == 0 ? .done(()) : .wait(until: nil) }
    }

    /// Begins to look. Whoever calls what this returns waits for the answer.
    public func begin() -> @Sendable () -> Bool {
        let folder = folder
        let number = look.begin {
            // What a server of files may have kept is not asked for.
            var stream = try? DirectoryStream(folder)
            _ = try? stream?.next()
            return true
        }
        return { [self] in
            if isKnownSilent { return false }
            if let answer = look.finding(of: number, patience: Self.patience, silence: Self.silence) {
                return answer
            }
            silenceTime.withLock { $0 = .now }
            return false
        }
    }

    /// Whether the look that runs is one that somebody has waited for in vain, or for longer than anybody would.
    private var isKnownSilent: Bool {
        guard let time = look.runningTime else { return false }
        let start = ContinuousClock.now - time
        return time >= Self.silence + .seconds(1) || silenceTime.withLock { $0.map { start < $0 } ?? false }
    }

    /// Whether it answers.
    public var answers: Bool { begin()() }
}

extension StoreDefinition {
    /// What is told of a store whose disk does not answer.
    public var silentDisk: String {
        "the disk of \(name) does not answer: try again once it does"
    }
}
