import Stores
import System
import SystemPackage

/// A store whose disk may not answer, such as a network file system that is away.
extension StoreOpening {
    /// For how long a disk may be silent before its store is left for later, in seconds: a network file system may have to be
    /// mounted first.
    private static let patience = 1.0

    private struct Arrival: Sendable {
        var placeholder: ServedStore?
        var made: ServedStore?
    }

    /// As `make`. Where the disk does not answer, a store that says so, and `arrive` is called with that and with the one that
    /// is to take its place, once there is one; on a thread of its own.
    func make(
        _ settings: StoreSettings, mountPoint: FilePath,
        _ arrive: @escaping @Sendable (_ placeholder: ServedStore, _ made: ServedStore) -> Void
    ) -> ServedStore {
        let arrival = Monitor(Arrival())
        let look = RepeatedLook<ServedStore>(named: "opening")
        let number = look.begin { [self] in
            let made = make(settings, mountPoint: mountPoint)
            let placeholder = arrival.withLock { arrival in
                arrival.made = made
                return arrival.placeholder
            }
            if let placeholder { arrive(placeholder, made) }
            return made
        }
        let end = MonotonicTime(secondsFromNow: Self.patience)
        // Beyond that it is waited for only while it is busy.
        if let made = look.finding(of: number, until: end) ?? look.finding(of: number, patience: .seconds(30))
        {
            return made
        }
        let definition = settings.definition
        let placeholder = ServedStore(
            settings, path: definition.path,
            failure:
                "the store \"\(definition.name)\" in \(definition.path) cannot be opened yet: its disk is not "
                + "responding; it is shown once it does", isAwaited: true)
        return arrival.withLock { arrival in
            if let made = arrival.made { return made }
            arrival.placeholder = placeholder
            return placeholder
        }
    }
}
