public import OpenPGP
import Stores
import System
import SystemPackage

/// Gives a secret, or all of a folder, another name, or copies it: within a store or to another one, for the recipients that
/// apply there. Where these are the same, a ciphertext only gets another name.
public struct SecretMove {
    /// A secret, and where it goes.
    struct Step {
        var from: SecretPlace
        var to: SecretPlace
        /// What it replaces, as it was when the user was told.
        var known: FileStatus?
    }

    /// What is moved or copied.
    public let source: SecretPlace
    /// Where it goes, which a folder that is there already holds then.
    public let target: SecretPlace
    /// Whether the source stays.
    public let isCopy: Bool
    let steps: [Step]
    private let environment: [String: String]

    /// Looks at what is to be done; nothing is changed yet.
    /// - Throws: one sentence where it cannot be done.
    public init(
        _ source: SecretPlace, to typed: SecretPlace, isCopy: Bool, environment: [String: String]
    ) throws(DaemonError) {
        (self.source, self.isCopy, self.environment) = (source, isCopy, environment)
        guard let last = source.path.lastComponent else {
            throw DaemonError(message: "\(source.name) is a store: name a secret or a folder in it")
        }
        guard source.kind != .link else {
            throw DaemonError(message: "\(source.name) is a symbolic link: name the secret that it leads to")
        }
        // As pass: of a secret and a folder of one name it is the folder, which takes it in.
        let isInto =
            typed.kind == .folder || typed.isBesideFolder || typed.kind == .nothing && typed.namesFolder
        let folder = typed.kind == .folder ? typed.file : typed.file.withoutSuffix
        let target = isInto ? SecretPlace(typed.access, folder.appending(last), namesFolder: false) : typed
        self.target = target
        guard source.store.identifier != target.store.identifier || source.path != target.path else {
            throw DaemonError(message: "\(source.name) and \(target.name) are the same")
        }
        guard source.kind == .folder else {
            steps = [try Self.step(source, target, environment)]
            try source.checkSaved(environment: environment)
            return
        }
        guard target.store.identifier != source.store.identifier || !target.path.starts(with: source.file)
        else {
            throw DaemonError(message: "\(source.name) cannot go into itself")
        }
        let secrets = try source.secrets().sorted { $0.file.string < $1.file.string }
        steps = try secrets.map { (secret) throws(DaemonError) in
            var below = secret.file
            _ = below.removePrefix(source.file)
            let path = target.path.pushing(below.withoutSuffix)
            return try Self.step(
                secret, SecretPlace(target.access, path, namesFolder: false), environment)
        }
        guard !steps.isEmpty else { throw DaemonError(message: "there is no secret in \(source.name)") }
        try source.checkSaved(environment: environment)
    }

    private static func step(
        _ from: SecretPlace, _ to: SecretPlace, _ environment: [String: String]
    ) throws(DaemonError) -> Step {
        Step(from: from, to: to, known: try to.lookToSave(environment: environment, encrypting: false))
    }

    /// The secrets that would be replaced, as STORE/PATH.
    public var replaced: [String] { steps.filter { $0.to.kind == .secret }.map(\.to.name) }

    private var isInOneStore: Bool { source.store.identifier == target.store.identifier }

    /// Of the secrets that would be replaced those that no commit holds, as STORE/PATH, after what waits for that was committed.
    public func unkept() throws(DaemonError) -> [String] {
        let files = steps.filter { $0.to.kind == .secret }.map(\.to.file)
        return files.isEmpty ? [] : try target.unkept(files)
    }

    /// Does it, and commits it with pass's message.
    /// - Parameter loss: of what is replaced and no commit holds.
    /// - Returns: sentences about what stays as it is.
    public func perform(
        losing loss: SecretPlace.Loss, cancellation: Cancellation?
    ) throws(DaemonError) -> [String] {
        let left =
            isCopy ? nil : AccessPlace.left(by: source.name, now: target.name, environment: environment)
        return try work(losing: loss, cancellation) + [left].compactMap(\.self)
    }

    private func work(losing loss: SecretPlace.Loss, _ cancellation: Cancellation?) throws(DaemonError)
        -> [String]
    {
        let verb = isCopy ? "Copy" : "Rename"
        let message = "\(verb) \(source.passName) to \(target.passName)."
        if try !readsSecrets() {
            try renameOnDisk(message)
            return []
        }
        if source.kind == .folder {
            try checkLists()
            // It is moved whole or not at all: what may not be read is found before anything is changed.
            for step in steps { try step.from.checkMayBeShown(environment: environment) }
        }
        // Whatever lies there now must be in the history before it gives way.
        try target.keepInHistory(steps.filter { $0.to.kind == .secret }.map(\.to.file), losing: loss)
        // Its text lives on at the target.
        if !isCopy { _ = try source.unkept(steps.map(\.from.file)) }
        var (puts, gone): ([SecretPlace.Put], [FilePath]) = ([], [])
        var done = 0
        do throws(DaemonError) {
            let reader = SecretReader(cancellation: cancellation, environment: environment)
            for step in steps {
                if try !encryptsAnew(step) {
                    try rename(step)
                    gone += [step.from.file, step.to.file]
                    done += 1
                    continue
                }
                let plaintext = try reader.text(of: step.from)
                puts.append(try step.to.put(plaintext.bytes, replacing: step.known))
                if !isCopy {
                    try step.from.removeFile(plaintext.status)
                    gone.append(step.from.file)
                }
                done += 1
            }
        } catch {
            // What was done up to here is whole, and is committed as such.
            try? commit(puts, gone, message)
            guard done > 0 else { throw error }
            throw DaemonError(
                message: "\(error.message) (\(done) of \(steps.count) secrets \(done == 1 ? "is" : "are") "
                    + "\(isCopy ? "copied" : "moved") already)")
        }
        try commit(puts, gone, message)
        let others = try source.foreignFiles()
        if !isCopy, source.kind == .folder { removeEmptyFolders() }
        if !isCopy { source.removeEmptyFolders(above: source.file) }
        return puts.compactMap(\.kept).map {
            "the version saved in the meantime is kept as \(target.store.name)/\(target.store.visiblePath(of: $0))"
        }
            + others.map {
                "left where it is, as only secrets are \(isCopy ? "copied" : "moved"): \(source.store.name)/\($0)"
            }
    }

    /// Whether a secret has to be encrypted anew. Where it has not, its ciphertext keeps what git knows it by: what others have
    /// changed in it meanwhile follows it to its new name.
    private func encryptsAnew(_ step: Step) throws(DaemonError) -> Bool {
        guard !isCopy, isInOneStore, step.known == nil else { return true }
        return try DaemonError.wrapping {
            try !source.store.haveSameRecipients(step.from.file, step.to.file)
        }
    }

    /// Gives a ciphertext its new name, for who may read it.
    private func rename(_ step: Step) throws(DaemonError) {
        try DaemonError.wrapping {
            try step.from.judged(environment: environment) { from in
                try Self.rename(from.file, to: step.to.file, for: step.to)
            }
        }
    }

    /// Renames a file or a folder of a store, on disk.
    /// - Parameter target: where it goes, which lies in the same folder.
    private static func rename(_ from: FilePath, to: FilePath, for target: SecretPlace) throws(Errno) {
        let root = target.store.root
        let hasNewFolder = try target.makeFolders()
        do throws(Errno) {
            try root.rename(from, to: to, flags: .noReplace)
        } catch {
            if hasNewFolder { target.removeEmptyFolders(above: to) }
            throw error
        }
        try root.synchronizeParent(of: to)
        try root.synchronizeParent(of: from)
    }

    private func commit(_ puts: [SecretPlace.Put], _ gone: [FilePath], _ message: String) throws(DaemonError)
    {
        if isInOneStore { return try target.commit(puts, also: gone, message: message) }
        // The names of one store are none of the business of those who share another.
        try target.commit(puts, also: [], message: "Add given password for \(target.passName) to store.")
        if !gone.isEmpty {
            try source.commit([], also: gone, message: "Remove \(source.passName) from store.")
        }
    }

    /// The paths on disk of what is moved within a store: before, and then.
    private var files: (from: FilePath, to: FilePath) {
        (source.file, source.kind == .folder ? target.path : target.file)
    }

    /// Whether secrets are read, by the rules of who may: not where nothing has to be encrypted anew, and the same rules hold, so
    /// that only names change.
    public func readsSecrets() throws(DaemonError) -> Bool {
        let (store, (from, to)) = (source.store, files)
        guard !isCopy, isInOneStore, replaced.isEmpty,
            (try? store.root.statusIfPresent(of: to) == nil) == true,
            try CommandMove.keepsRules(source.name, to: target.name, environment: environment)
        else { return true }
        if source.kind == .folder, (try? store.hasOwnList(from)) == true { return false }
        return try DaemonError.wrapping { try !store.haveSameRecipients(from, to) }
    }

    /// Changes names, where nothing is read.
    private func renameOnDisk(_ message: String) throws(DaemonError) {
        let (store, (from, to)) = (source.store, files)
        let foreign = try source.foreignFiles()
        let lists = try DaemonError.wrapping {
            try source.kind == .folder ? store.recipientFiles(below: from) : []
        }
        if !lists.isEmpty { try target.checkMayChangeRecipients(of: to, environment: environment) }
        _ = try source.unkept(steps.map(\.from.file) + lists)
        try DaemonError.wrapping {
            let move = source.kind == .folder ? try store.beginMove(from, to: to, isExchange: false) : nil
            defer { if let move { store.endMove(move) } }
            try Self.rename(from, to: to, for: target)
        }
        let files = steps.map(\.from.file) + lists + foreign
        source.removeEmptyFolders(above: from)
        let moved = files.map { file -> FilePath in
            var below = file
            return below.removePrefix(from) ? (below.isEmpty ? to : to.pushing(below)) : file
        }
        try source.commit([], also: files + moved, message: message)
    }

    /// A list of recipients that goes along with secrets one by one would hold for some of them only.
    private func checkLists() throws(DaemonError) {
        let lists = try DaemonError.wrapping { try source.store.recipientFiles(below: source.file) }
        guard let list = lists.first else { return }
        throw DaemonError(
            message:
                "nothing was changed, as \(source.store.name)/\(list) chooses recipients of its own: copy the "
                + "folder in the mount, or its secrets one by one")
    }

    private func removeEmptyFolders() {
        for step in steps { source.removeEmptyFolders(above: step.from.file) }
        try? source.store.root.removeDirectory(source.file)
    }
}
