import Git
import OpenPGP
import Stores
public import System
public import SystemPackage

/// Which state of a store's history is meant.
public enum HistoryPoint: Sendable, Equatable {
    /// A commit by its id or the beginning of that, a branch, `HEAD~3`.
    case named(String)
    /// The newest commit that is not younger, in seconds since 1970; and what was typed.
    case at(Int64, typed: String)

    var typed: String {
        switch self {
        case .named(let text), .at(_, let text): text
        }
    }
}

extension StoreHistory {
    /// What a secret, or all secrets of a folder, were at a commit.
    public struct Version: Sendable, Equatable {
        /// A secret of it.
        public struct File: Sendable, Equatable {
            /// Where it belongs now, on disk and relative to the store.
            public var path: FilePath
            /// Where it was at the commit.
            let former: FilePath
            let blob: ObjectID
        }

        /// The commit's full name.
        public var commit: String
        /// When the change was made, in seconds since 1970.
        public var time: Int64
        /// The secrets, by name.
        public var files: [File]
        /// Whether a folder, or the whole store, was asked for.
        public var isFolder: Bool
        /// What was there, is not so now and cannot be restored: links and what is no secret.
        public var others: [FilePath]
    }

    /// What a place held at a point of the history.
    /// - Parameters:
    ///   - place: as the mount shows it; empty for the whole store.
    ///   - secret: the file on disk that it means, or would mean.
    public func version(of place: FilePath, secret: FilePath, at point: HistoryPoint) throws(Failure)
        -> Version
    {
        let commit: ObjectID
        do throws(GitError) {
            commit = try self.commit(at: point)
        } catch {
            // What was typed is wrong, and nothing in the store.
            if case .named = point { throw Failure(message: error.message) }
            throw failure(place, error.message)
        }
        do throws(GitError) {
            let info = try repository.commitInfo(commit)
            var version = Version(
                commit: commit.hex, time: info.author.time, files: [], isFolder: false, others: [])
            guard !secret.hasForbiddenName else {
                throw GitError(code: .invalid, message: "that name is not allowed in a store")
            }
            if !place.isEmpty {
                let then = try name(of: secret, at: commit)
                if let item = try repository.item(at: then, in: commit), item.kind != .submodule {
                    guard item.kind != .link else {
                        throw GitError(code: .invalid, message: "it was a symbolic link at \(point.typed)")
                    }
                    version.files = [Version.File(path: secret, former: then, blob: item.id)]
                    return version
                }
                guard try repository.isFolder(place, in: commit) else {
                    throw GitError(code: .notFound, message: "it did not exist at \(point.typed)")
                }
            }
            version.isFolder = true
            for path in try repository.files(below: place, in: commit) {
                // What came with a history was not looked at as a tree that is taken in is.
                let item = path.hasForbiddenName ? nil : try repository.item(at: path, in: commit)
                if let item, item.kind != .link, item.kind != .submodule, path.isSecretName {
                    version.files.append(Version.File(path: path, former: path, blob: item.id))
                } else {
                    let now = item == nil ? nil : try repository.item(at: path, in: tip)
                    if item == nil || now != item { version.others.append(path) }
                }
            }
            version.files.sort { $0.path.string < $1.path.string }
            return version
        } catch {
            throw failure(place, "\(error.message).")
        }
    }

    /// The commit that is meant.
    func commit(at point: HistoryPoint) throws(GitError) -> ObjectID {
        switch point {
        case .named(let name):
            do throws(GitError) { return try repository.commit(named: name) } catch {
                if error.code == .invalid { throw error }
                throw GitError(
                    code: .notFound,
                    message: "\"\(name)\" is not a day, time or commit: passdir log lists the commits")
            }
        case .at(let time, _):
            guard let found = try lastCommit(notAfter: time) else { throw beginsLater(point) }
            return found.commit.id
        }
    }

    /// Why no commit is meant by a time.
    func beginsLater(_ point: HistoryPoint) -> GitError {
        GitError(code: .notFound, message: "the history begins after \(point.typed)")
    }

    /// The newest commit that is not younger than a time, with the times of which that can be said; nil where all are younger.
    /// - Parameter isOver: asked before each commit; true ends the walk with `.cancelled`.
    func lastCommit(
        notAfter time: Int64, until isOver: () -> Bool = { false }
    ) throws(GitError) -> (commit: CommitInfo, times: Range<Int64>)? {
        var found: (commit: CommitInfo, times: Range<Int64>)?
        var end = Int64.max
        try repository.visitLog(from: tip) { commit throws(GitError) in
            if isOver() { throw GitError(code: .cancelled, message: "the walk was ended") }
            guard commit.author.time <= time else {
                end = min(end, commit.author.time)
                return true
            }
            found = (commit, commit.author.time..<end)
            return false
        }
        return found
    }

    /// The name that a secret had at a commit: that of today, or the one that it had before it was renamed.
    private func name(of secret: FilePath, at commit: ObjectID) throws(GitError) -> FilePath {
        if try repository.item(at: secret, in: commit) != nil { return secret }
        for change in try repository.history(of: secret, from: tip)
        where change.item != nil && change.path != secret {
            if try repository.isAncestor(change.commit.id, of: commit) { return change.path }
        }
        return secret
    }

    /// - Parameter path: as the mount shows it, or on disk.
    func failure(_ path: FilePath, _ reason: String) -> Failure {
        Failure(
            message: "\(store.name)/\(store.visiblePath(of: path)) cannot be \(purpose.rawValue): \(reason)")
    }

    /// The text of a secret as it was. May ask for a passphrase, until `cancellation` ends that.
    public func plaintext(
        of file: Version.File, cancellation: Cancellation? = nil
    ) throws(Failure) -> SecretBytes {
        let ciphertext: [UInt8]
        do throws(GitError) {
            ciphertext = try repository.blob(file.blob, atMost: store.options.ciphertextLimit)
        } catch {
            throw failure(file.path, "\(error.message).")
        }
        return try decrypted(ciphertext, file.path, cancellation)
    }

    /// Whether the secret is now what it was then: nothing would be changed by putting that back.
    /// - Parameter plaintext: the text as it was.
    public func isPresent(
        _ file: Version.File, _ plaintext: SecretBytes, cancellation: Cancellation? = nil
    ) -> Bool {
        guard let now = try? store.read(file.path, limit: store.options.ciphertextLimit) else { return false }
        if (try? Repository.blobID(of: now)) == file.blob { return true }
        // What cannot be read now is replaced.
        guard let text = try? decrypted(now, file.path, cancellation), text.count == plaintext.count else {
            return false
        }
        return text.withUnsafeBytes { one in plaintext.withUnsafeBytes { one.elementsEqual($0) } }
    }

    private func decrypted(
        _ ciphertext: [UInt8], _ secret: FilePath, _ cancellation: Cancellation?
    ) throws(Failure) -> SecretBytes {
        do throws(OpenPGPError) {
            return try store.engine.decrypt(
                ciphertext, limit: store.options.secretLimit, timeout: store.options.promptTimeout,
                cancellation: cancellation)
        } catch {
            throw failure(secret, error.message)
        }
    }
}

extension StoreHistory {
    /// The other names of each file of a version, by where it belongs now: the one that it had then, those that it was renamed to
    /// since, those of all files of today that hold the same, and those of which no commit tells yet.
    public func laterNames(
        since version: Version, cancellation: Cancellation
    ) throws(Failure) -> [FilePath: Set<FilePath>] {
        do throws(GitError) {
            let renamed = try repository.laterNames(
                since: try commit(at: .named(version.commit)), at: tip, told: toldRenames()
            ) { cancellation.isCancelled }
            let byContent = try repository.namesByContent(at: tip)
            let strays = strays(besides: Set(byContent.values.joined()))
            var names: [FilePath: Set<FilePath>] = [:]
            for file in version.files {
                let moved = renamed[file.former, default: []].union([file.former, file.path])
                let uncommitted = try uncommittedNames(holding: file.blob, of: moved, among: strays)
                names[file.path] = moved.union(uncommitted).union(byContent[file.blob, default: []])
                    .subtracting([file.path])
            }
            return names
        } catch {
            throw Failure(message: error.message)
        }
    }
}
