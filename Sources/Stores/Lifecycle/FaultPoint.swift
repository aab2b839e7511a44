import Glibc

/// A place in an operation where a test lets it fail or die. In a release build there are none.
public enum FaultPoint {
    /// Every place, in the order in which an operation comes by.
    static let all = [
        "add.journal", "add.cloned", "add.checked", "add.credential", "add.configured",
        "reclone.journal", "reclone.cloned", "reclone.decided", "reclone.aside", "reclone.placed",
        "reclone.judged", "reclone.credential", "reclone.configured",
        "remove.decided", "remove.configured", "remove.aside", "remove.judged", "remove.credential",
        "remove.learned", "remove.folder",
    ]

    /// `PASSDIR_FAULT=NAME` kills the process here, as a power cut would; `PASSDIR_FAULT=fail:NAME` makes it fail.
    static func reach(_ name: StaticString) throws(LifecycleError) {
        #if DEBUG
            guard let wanted = getenv("PASSDIR_FAULT").map({ String(cString: $0) }) else { return }
            assert(all.contains("\(name)"), "no fault point is called \(name)")
            if wanted == "\(name)" { kill(getpid(), SIGKILL) }
            if wanted == "fail:\(name)" { throw LifecycleError(.failed, "it was made to fail at \(name)") }
        #endif
    }

    /// Whether `PASSDIR_FAULT=fail:NAME` makes a call of the system fail here, which none of its own accord would.
    public static func isMadeToFail(_ name: StaticString) -> Bool {
        #if DEBUG
            return getenv("PASSDIR_FAULT").map { String(cString: $0) } == "fail:\(name)"
        #else
            return false
        #endif
    }

    /// As `reach`, in operations of another kind: a place to be killed at only.
    public static func mayDie(_ name: StaticString) {
        #if DEBUG
            if getenv("PASSDIR_FAULT").map({ String(cString: $0) }) == "\(name)" { kill(getpid(), SIGKILL) }
        #endif
    }
}
