import Glibc
import Mount
import Settings
import Stores
import System
public import SystemPackage

/// Places symbolic links to files of the mount where programs look for their files, and takes them away again.
///
/// The record is written first, and a file that is replaced changes places with the link in one step: whatever stops this, the file
/// is in its place or under the name that the record has.
public struct LinkPlacement {
    /// What became of a place.
    public enum Outcome: Sendable, Equatable {
        /// The link is there.
        case placed
        /// It was there already.
        case wasThere
        /// The link is there, and what had the place is kept under another name.
        case replaced(kept: FilePath)
    }

    /// What a place is after a link was taken away.
    public enum Removal: Sendable, Equatable {
        /// What it was before the link: nothing.
        case removed
        /// What had it before is there again.
        case restored
        /// What was kept is gone from its name.
        case lost(FilePath)
        /// Another file has the place, and there is nothing to put back: that file stays.
        case forgotten
    }

    private let environment: [String: String]
    private let record: PlacedLinkRecord

    /// The links of a user.
    public init(environment: [String: String]) {
        self.environment = environment
        record = PlacedLinkRecord(environment)
    }

    /// The file of the mount that is meant: of a template by its name, else of a secret.
    /// - Throws: one sentence where there is neither.
    public func target(_ text: String) throws(DaemonError) -> FilePath {
        let configuration = try DaemonError.wrapping { try Daemon.configuration(environment) }
        if let file = try TemplateRegistry(configuration, environment: environment).rendered(text) {
            return file
        }
        let place: SecretPlace
        do throws(DaemonError) {
            place = try SecretSearch(environment: environment) { _ in }.existing(text, for: .reading)
        } catch {
            throw DaemonError(
                message: text.contains("/") ? error.message : "there is no template \"\(text)\": \(error)")
        }
        guard place.kind != .folder else {
            throw DaemonError(message: "\(place.name) is a folder: name a secret in it")
        }
        return MountedPlace(environment).mountPoint.appending(place.store.name).pushing(place.path)
    }

    /// Places a link.
    /// - Parameter isReplacing: whether what has the place is kept under another name.
    /// - Throws: one sentence where the place is taken, or no link belongs there; all is as it was then.
    public func place(
        _ target: FilePath, at typed: FilePath, isReplacing: Bool
    ) throws(DaemonError) -> Outcome {
        let place = try LinkPlace(typed, mountPoint: MountedPlace(environment).mountPoint)
        return try record.withLock { () throws(DaemonError) in
            let known = try mended()
            if let other = known.first(where: { $0.place == place.path }) {
                if other.isThere, other.target == target { return .wasThere }
                guard !other.isThere, !other.keepsSomething else {
                    throw DaemonError(
                        message: "passdir has placed a link at \(place.path) already: passdir unlink "
                            + "\(ShellWord.quoted(place.path.string)) removes it")
                }
            }
            let others = known.filter { $0.place != place.path }
            let kept = try kept(place, isReplacing)
            let link = PlacedLink(place: place.path, target: target, kept: kept)
            try record.write(others + [link])
            do throws(Errno) {
                try put(link)
            } catch {
                try record.write(others)
                throw DaemonError(message: "cannot place a link at \(place.path): \(error)")
            }
            OwnedDescriptor.synchronize(folder: place.folder)
            return kept.map { .replaced(kept: $0) } ?? .placed
        }
    }

    /// Under which name what has the place is to be kept; nil where nothing has it.
    private func kept(_ place: LinkPlace, _ isReplacing: Bool) throws(DaemonError) -> FilePath? {
        guard let facts = place.path.facts() else { return nil }
        guard facts.kind != .directory else {
            throw DaemonError(message: "\(place.path) is a folder, which no link replaces")
        }
        guard isReplacing else {
            throw DaemonError(
                message: "\(place.path) exists: --replace keeps it under another name until passdir unlink")
        }
        for number in 1...99 {
            let ending = number == 1 ? ".before-passdir" : ".before-passdir-\(number)"
            let path = FilePath(place.path.string + ending)
            if path.facts() == nil { return path }
        }
        throw DaemonError(message: "there is no free name beside \(place.path) to keep it under")
    }

    private func put(_ link: PlacedLink) throws(Errno) {
        guard let kept = link.kept else { return try link.place.makeLink(to: link.target) }
        try kept.makeLink(to: link.target)
        do throws(Errno) {
            try kept.exchange(with: link.place)
        } catch {
            kept.unlink()
            throw error
        }
    }

    /// Takes a link away, and puts back what was there before.
    /// - Throws: one sentence where no link was placed, or another file is in its place.
    public func remove(_ typed: FilePath) throws(DaemonError) -> Removal {
        let typed = typed.absolute
        let folder = try? typed.removingLastComponent().resolvingLinks()
        let path = folder.flatMap { folder in typed.lastComponent.map(folder.appending) } ?? typed
        return try record.withLock { () throws(DaemonError) in
            let known = try mended()
            guard let link = known.first(where: { $0.place == path }) else {
                throw DaemonError(
                    message: "passdir placed no link at \(path): passdir link --list shows those it placed")
            }
            let outcome: Removal
            do throws(Errno) { outcome = try takeAway(link) } catch {
                let kept = link.kept.map { "; what was there before is \($0)" } ?? ""
                throw DaemonError(
                    message: error == .fileExists
                        ? "\(path) is no longer the link that passdir placed: move that file away first\(kept)"
                        : "cannot remove the link \(path): \(error)\(kept)")
            }
            OwnedDescriptor.synchronize(folder: path.removingLastComponent())
            try record.write(known.filter { $0.place != path })
            return outcome
        }
    }

    /// Takes all links away, as by `remove`.
    /// - Returns: why one could not be taken away, a sentence each.
    public func removeAll() -> [String] {
        // Nothing is made where there is nothing.
        let links = (try? record.links()) ?? []
        return links.compactMap { link in
            do throws(DaemonError) {
                _ = try remove(link.place)
                return nil
            } catch {
                return error.message
            }
        }
    }

    /// - Throws: EEXIST where the place has something else than the link.
    private func takeAway(_ link: PlacedLink) throws(Errno) -> Removal {
        guard link.isThere else {
            guard link.place.facts() == nil else {
                guard link.keepsSomething else { return .forgotten }
                throw .fileExists
            }
            guard let kept = link.kept else { return .removed }
            guard link.keepsSomething else { return .lost(kept) }
            try kept.renameIfFree(to: link.place)
            return .restored
        }
        if let kept = link.kept, link.keepsSomething {
            try kept.exchange(with: link.place)
            kept.unlink()
            return .restored
        }
        guard link.place.unlink() else { throw .last }
        return link.kept.map { .lost($0) } ?? .removed
    }

    /// The links, after what a command that was stopped had begun is taken back.
    private func mended() throws(DaemonError) -> [PlacedLink] {
        let known = try record.links()
        let stopped = known.filter { $0.isBesideItsPlace && !$0.isThere }
        guard !stopped.isEmpty else { return known }
        for link in stopped { link.kept?.unlink() }
        let rest = known.filter { !stopped.contains($0) }
        try record.write(rest)
        return rest
    }

    /// The links that were placed.
    public func reports() throws(DaemonError) -> [LinkReport] {
        try record.withLock { () throws(DaemonError) in
            try mended().map { link in
                let state: LinkReport.State =
                    link.isThere
                    ? (link.place.exists ? .works : .leadsNowhere)
                    : link.place.facts() == nil ? .missing : .replaced
                return LinkReport(
                    path: link.place.string, target: link.target.string, kept: link.kept?.string, state: state
                )
            }
        }
    }
}

/// A link that was placed, for people and for `--json`.
public struct LinkReport: Codable, Sendable, Equatable {
    /// What has become of a link.
    public enum State: String, Codable, Sendable {
        /// It leads to its file.
        case works
        /// Its file is not there: nothing is mounted, or the secret or template is gone.
        case leadsNowhere
        /// Nothing is in its place.
        case missing
        /// Another file is in its place.
        case replaced
    }

    /// Where it was placed, absolute.
    public var path: String
    /// The file of the mount, absolute.
    public var target: String
    /// Where what was there before is kept, absolute; absent where nothing was there.
    public var kept: String?
    /// What has become of it.
    public var state: State
}
