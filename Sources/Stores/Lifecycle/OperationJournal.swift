import Glibc
import Settings
import System
import SystemPackage

/// An operation on a store that is under way, as the next start must know it when this process is killed.
struct StoreOperation: Equatable {
    enum Kind: String { case add, reclone, remove }
    /// Before the decision the next start takes everything back; after it, everything is finished. The old folder is
    /// judged before it is removed; once it is `judged` to hold nothing of its own its removal may be half done.
    enum Phase: String { case preparing, decided, judged }

    var kind: Kind
    var phase = Phase.preparing
    /// The store's id.
    var id: String
    /// The store's name when it began.
    var name: String
    /// The store's folder, or where it is to be.
    var folder: FilePath
    /// For `reclone`: the new URL and branch. For `remove`: nothing.
    var url = ""
    var branch = ""
    /// For `remove`: whether the folder goes, too.
    var removesFolder = false
    /// For `remove`: the folder goes although no remote has all of it.
    var isForced = false
    /// For `reclone`: whether the old credential is for another server.
    var forgetsCredential = false
    /// How the server of the store is told who we are, for the question what it has.
    var method: AuthenticationMethod?
    var userName = ""
    var sshKey = ""
    var host = ""
    /// For `reclone`: of which kinds new credentials wait for the decision.
    var newKinds: [CredentialKind] = []
    /// The process that has begun it.
    var process = getpid()

    fileprivate var fields: [(String, String)] {
        [
            ("kind", kind.rawValue), ("phase", phase.rawValue), ("id", id), ("name", name),
            ("folder", folder.string), ("url", url), ("branch", branch),
            ("removesFolder", removesFolder ? "yes" : ""), ("isForced", isForced ? "yes" : ""),
            ("forgetsCredential", forgetsCredential ? "yes" : ""),
            ("newKinds", newKinds.map(\.rawValue).joined(separator: " ")),
            ("method", method?.rawValue ?? ""), ("userName", userName), ("sshKey", sshKey), ("host", host),
            ("process", "\(process)"),
        ]
    }

    /// Beside the store's folder, on the same file system: where the new clone is made.
    var newFolder: FilePath { folder.removingLastComponent().appending(".passdir-\(id).new") }
    /// Where the old folder waits for its removal.
    var oldFolder: FilePath { folder.removingLastComponent().appending(".passdir-\(id).old") }
}

extension StoreOperation {
    init?(_ bytes: [UInt8]) {
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { fields[words[index]] = words[index + 1] }
        guard let kind = Kind(rawValue: fields["kind"] ?? ""),
            let phase = Phase(rawValue: fields["phase"] ?? ""),
            let id = fields["id"], Self.isName(id), let name = fields["name"],
            let folder = fields["folder"],
            folder.hasPrefix("/")
        else { return nil }
        self.init(kind: kind, phase: phase, id: id, name: name, folder: FilePath(folder))
        url = fields["url"] ?? ""
        branch = fields["branch"] ?? ""
        removesFolder = fields["removesFolder"] == "yes"
        isForced = fields["isForced"] == "yes"
        forgetsCredential = fields["forgetsCredential"] == "yes"
        newKinds = (fields["newKinds"] ?? "").split(separator: " ").compactMap {
            CredentialKind(rawValue: String($0))
        }
        method = AuthenticationMethod(rawValue: fields["method"] ?? "")
        userName = fields["userName"] ?? ""
        sshKey = fields["sshKey"] ?? ""
        host = fields["host"] ?? ""
        process = fields["process"].flatMap { pid_t($0) } ?? 0
    }

    /// Folders are named with it, and removed: it must not lead to others.
    private static func isName(_ id: String) -> Bool {
        FilePath.Component(id)?.kind == .regular && !id.utf8.contains(UInt8(ascii: "/"))
    }

    var bytes: [UInt8] { fields.flatMap { Array($0.0.utf8) + [0] + Array($0.1.utf8) + [0] } }
}

/// The journal of operations on stores: a file each while one is under way, and a lock so that there is one at a time.
///
/// Whoever has the lock knows that any file here was left by a process that is gone.
struct OperationJournal: ~Copyable {
    private let folder: FilePath
    private let lock: OwnedDescriptor

    /// The folder of the journal.
    static func folder(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending("operations")
    }

    /// How long another process may have the lock before whoever waits is told so.
    private static let quietWait = Duration.seconds(1)

    /// Takes the lock.
    /// - Parameters:
    ///   - patience: how long another process may have it; then the error is `busy`.
    ///   - tellWaiting: told once, in a sentence, what is waited for.
    init(
        environment: [String: String], patience: Duration, tellWaiting: (String) -> Void = { _ in }
    ) throws(LifecycleError) {
        // The properties come last: an optimised build of Swift 6.3.1 destroys a property that cannot be copied before it
        // is there, when another one was read before.
        let folder = Self.folder(environment: environment)
        try rethrowing(folder.makeFolders()) { (error: Errno) in
            LifecycleError(.failed, "cannot create \(folder): \(error)")
        }
        let file = folder.appending("lock")
        let opened = try OwnedDescriptor(opening: file, O_CREAT | O_RDWR, mode: 0o600) {
            LifecycleError(.failed, "cannot open \(file): \($0)")
        }
        let start = ContinuousClock.now
        var isTold = false
        while (try? opened.lock()) == nil {
            let time = ContinuousClock.now - start
            guard time < patience else {
                throw LifecycleError(.busy, "\(Self.underWay(in: folder)): try again once it is done")
            }
            if time >= Self.quietWait, !isTold {
                tellWaiting("waiting, as \(Self.underWay(in: folder))")
                isTold = true
            }
            PosixThread.sleep(for: .milliseconds(50))
        }
        lock = opened
        self.folder = folder
        // What was being written when a process was killed was not decided yet: the last whole note counts.
        for name in PrivateFile.names(in: folder) where name.hasSuffix(".new") {
            folder.appending(name).unlink()
        }
    }

    /// Notes an operation, or its next phase; durable on return.
    func write(_ operation: StoreOperation) throws(LifecycleError) {
        try rethrowing(PrivateFile.write(operation.bytes, to: folder.appending(operation.id))) {
            (error: Errno) in
            LifecycleError(.failed, "cannot write \(folder): \(error)")
        }
    }

    /// Forgets an operation: it is finished or taken back.
    func remove(_ operation: StoreOperation) {
        folder.appending(operation.id).unlink()
        OwnedDescriptor.synchronize(folder: folder)
    }

    /// What a killed process left.
    var left: [StoreOperation] { Self.operations(in: folder) }

    /// What the process is doing that has the lock, as the begin of a sentence.
    private static func underWay(in folder: FilePath) -> String {
        // Another one was left by a process that was killed, and is being finished.
        guard
            let operation = operations(in: folder).first(where: { $0.process > 0 && kill($0.process, 0) == 0 }
            )
        else { return "another passdir is adding, replacing or removing a store" }
        let work =
            switch operation.kind {
            case .add: "adding"
            case .reclone: "replacing"
            case .remove: "removing"
            }
        return "process \(operation.process) is \(work) the store \"\(operation.name)\""
    }

    private static func operations(in folder: FilePath) -> [StoreOperation] {
        PrivateFile.names(in: folder).compactMap { name in
            guard name != "lock", !name.hasSuffix(".new"),
                let bytes = try? PrivateFile.read(folder.appending(name))
            else {
                return nil
            }
            return StoreOperation(bytes)
        }
    }
}
