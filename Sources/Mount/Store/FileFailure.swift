import Access
import Glibc
import Stores
import Synchronization
import SystemPackage

/// A secret that could not be decrypted, or a `.gpg-id` that could not be saved and is given up. It is told as long as
/// its cause is there.
struct FileFailure: Sendable, Equatable {
    /// As the mount shows it.
    var path: FilePath
    var message: String
    /// What it is about, relative to the store, and what lay there then.
    var backing: FilePath
    var seen: FileStatus?
    /// Where what was to be saved is kept: opening the path does not make up for it.
    var keptAt: FilePath?
    var cause = Cause.itself
    /// Whether a passphrase was not entered: when one was, it is over.
    var isOfPrompt = false

    /// What has to change before it is over.
    enum Cause {
        /// The file.
        case itself
        /// A list of recipients: it was not opened for writing, as it could not have been saved.
        case recipients
        /// The lock of the store.
        case lock
        /// The access rules: a list was not changed, as they ask a person.
        case rules
    }
}

/// Those of a store that are told, the latest first: one a file, and no more than anybody reads.
struct FileFailures: Sendable {
    private static let most = 20
    private(set) var all: [FileFailure] = []

    /// Of what one cause refuses for many files it is told once, with the last file.
    mutating func add(_ failure: FileFailure) {
        all.removeAll { $0.path == failure.path || $0.cause != .itself && $0.cause == failure.cause }
        all.insert(failure, at: 0)
        if all.count > Self.most { all.removeLast() }
    }

    mutating func remove(_ isOver: (FileFailure) -> Bool) { all.removeAll(where: isOver) }

    /// Puts what is known of a failure now in its place; nil: it is over.
    mutating func replace(_ failure: FileFailure, by now: FileFailure?) {
        guard let index = all.firstIndex(of: failure) else { return }
        if let now { all[index] = now } else { all.remove(at: index) }
    }
}

extension MountedStore {
    /// Notes why a file could not be opened or saved.
    func note(
        _ message: String, about path: FilePath, at backing: FilePath, keptAt: FilePath? = nil,
        because cause: FileFailure.Cause = .itself, isOfPrompt: Bool = false
    ) {
        let seen = (try? store.root.statusIfPresent(of: backing)) ?? nil
        failures.withLock {
            $0.add(
                FileFailure(
                    path: path, message: message, backing: backing, seen: seen, keptAt: keptAt,
                    cause: cause, isOfPrompt: isOfPrompt))
        }
    }

    /// The store's passphrases have been entered.
    func forgetPromptFailures() { failures.withLock { $0.remove(\.isOfPrompt) } }

    /// The failures whose causes are still there, the latest first. Looks at a file for each.
    var standingFailures: [FileFailure] {
        let looks = failures.withLock(\.all).map { ($0, standing($0)) }
        return failures.withLock { failures in
            for (failure, now) in looks { failures.replace(failure, by: now) }
            return failures.all
        }
    }

    /// A failure as it is now; nil where it is over. What refuses a list of recipients may be another thing by now.
    private func standing(_ failure: FileFailure) -> FileFailure? {
        guard failure.cause == .recipients else { return stands(failure) ? failure : nil }
        return whyNotWritten(failure.backing).map { error in
            var failure = failure
            failure.message = error.message
            return failure
        }
    }

    /// What was kept stands until it is fetched; the rest until the file is another one, or gone.
    private func stands(_ failure: FileFailure) -> Bool {
        switch failure.cause {
        case .lock: return lock.isLocked
        case .recipients: return whyNotWritten(failure.backing) != nil
        case .rules:
            let folder = place(of: failure.path.removingLastComponent())
            guard mount.options.judge?.hasRules(over: folder) == true else { return false }
        case .itself: break
        }
        if let place = failure.keptAt { return place.withPlatformString { access($0, F_OK) } == 0 }
        do throws(Errno) {
            switch (failure.seen, try store.root.statusIfPresent(of: failure.backing)) {
            case (nil, nil):
                // A list that never came to be, for a folder that may be gone.
                let folder = failure.backing.removingLastComponent()
                if folder.isEmpty || failure.cause == .rules { return true }
                return try store.root.statusIfPresent(of: folder) != nil
            case (let then?, let now?): return then.isSameContent(as: now)
            default: return false
            }
        } catch {
            return error != .noSuchFileOrDirectory && error != .notDirectory
        }
    }
}
