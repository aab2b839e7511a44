import Access
import Fuse
import Glibc
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// How what shows a history reads it.
extension MountedStore {
    /// Runs `work`, which may take long, on one of the few threads that a store has for that; then `body`, once: with what comes
    /// of it, or on another thread when a signal ends the caller's wait.
    func lookBack<Value: Sendable>(
        for caller: Caller,
        _ work: @escaping @Sendable (any StorePast, Cancellation) throws(StoreError) -> Value,
        then body: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        guard let past = mount.options.past else {
            return body(.failure(StoreError(.system(.noSuchFileOrDirectory), "no history is shown.")))
        }
        let wait = SharedDecryption()
        let found = Mutex<Result<Value, StoreError>?>(nil)
        backwardLooks.submit {
            // Who asked has gone while others were served.
            guard !wait.isAbandoned else { return }
            let result = Result { () throws(StoreError) in try work(past, wait.cancellation) }
            found.withLock { $0 = result }
            wait.finish(.success(()))
        }
        wait.wait(caller) { ending in
            switch (ending, found.withLock { $0 }) {
            case (.decrypted, let result?): body(result)
            case (.failed(let error), _): body(.failure(error))
            default: body(.failure(StoreError(.openPGP(.canceled), "a signal ended the wait.")))
            }
        }
    }

    /// The names by which a version of a secret is judged, STORE/PATH: those that it has today, for a renamed secret is what it
    /// was, as are other files of today that hold the same; the one that it is listed under, which another secret may have now;
    /// and the one that it had.
    func judgedPlaces(
        of thing: PastThing, _ blob: PastBlob, _ past: any StorePast, _ cancellation: Cancellation
    ) throws(StoreError) -> [String] {
        var places = ["\(store.name)/\(thing.path)"]
        guard mount.options.judge?.isWatching == true else { return places }
        let later = try past.laterNames(
            of: thing.backing, holding: blob, since: thing.commit, in: store, cancellation: cancellation)
        places = later.map { "\(store.name)/\(store.visiblePath(of: $0))" }.sorted() + places
        let former = "\(store.name)/\(thing.backing.withoutSuffix)"
        return places + (former == places.last ? [] : [former])
    }

    /// As `judgeAgain` of a secret, by the names that count now.
    func judgeAgain(
        _ thing: PastThing, _ blob: PastBlob, _ caller: Caller, _ note: ReadNote,
        then body: @escaping @Sendable (Result<ReadNote, Errno>) -> Void
    ) {
        guard isOutdated(note) else { return body(.success(note)) }
        lookBack(for: caller) { past, cancellation throws(StoreError) in
            try self.judgedPlaces(of: thing, blob, past, cancellation)
        } then: { result in
            switch result {
            case .success(let places): self.judge(places, caller, after: note, then: body)
            case .failure(let error): body(.failure(Errno(error)))
            }
        }
    }

    /// Judges an open of a version by all names that count, one after the other. It is noted by the first.
    /// - Parameter former: of the same open as it was judged before.
    func judge(
        _ places: [String], _ caller: Caller, after former: ReadNote = .none,
        then body: @escaping @Sendable (Result<ReadNote, Errno>) -> Void
    ) {
        guard let judge = mount.options.judge, judge.isWatching, let place = places.first else {
            return body(.success(.none))
        }
        @Sendable func goOn(_ note: ReadNote) {
            let rest = Array(places.dropFirst())
            guard !rest.isEmpty else { return body(.success(note)) }
            self.judge(rest, caller, after: former) { others in
                body(others.map { note.keepingAgreements(of: $0) })
            }
        }
        let judged = judge.judgedPlace(of: place, reader: caller.processID)
        settle(judge.judge(caller.processID, reading: judged, after: former), caller) { result in
            do throws(Errno) { goOn(try result.get()) } catch { body(.failure(error)) }
        }
    }

    /// The target of a link that a commit holds, as the mount would show it.
    /// - Parameters:
    ///   - stored: as it was committed.
    ///   - folder: the link's, on disk.
    ///   - listing: what was in that folder.
    func pastTarget(
        of link: PastListing.Item, storedAs stored: [UInt8], in folder: FilePath, _ listing: PastListing
    ) -> [UInt8] {
        // What can be no target of a link is not told.
        guard stored.count < Int(PATH_MAX), !stored.contains(0) else { return Self.refusedTarget.bytes }
        let target = relative(stored, from: folder, to: root.path)
        guard staysInside(target, from: folder), isForSecrets(target) else {
            return Array((Self.refusedTarget.string + "/").utf8) + stored
        }
        guard link.backing.strippingSuffix() != nil, let name = target.lastName,
            let bare = name.strippingSuffix()
        else { return target }
        let beside = target == name.bytes ? listing.items.first { $0.backing == name } : nil
        return target.replacing(name, with: beside?.name ?? bare)
    }
}
