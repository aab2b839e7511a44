import FoundationEssentials
import SystemPackage
import TestKit

/// What `passdir status --json` prints, as a program of the user's reads it.
struct Status: Decodable {
    struct Mount: Decodable {
        var path: String
        var pid: Int32
        var since: String
    }
    struct Commit: Decodable {
        var id: String
        var subject: String
        var time: String
    }
    struct Unsaved: Decodable {
        var path: String
        var error: String
        var since: String
    }
    struct Lock: Decodable {
        var since: String
        var reason: String
    }
    struct Store: Decodable {
        var name: String
        var path: String
        var state: String
        var branch: String?
        var pendingChanges: Int
        var unpushedCommits: Int
        var lastCommit: Commit?
        var lastPush: String?
        var lastError: String?
        var otherErrors: [String]?
        var unsaved: [Unsaved]
        var conflicts: [String]?
        var locked: Lock?
    }

    var mount: Mount
    var stores: [Store]

    /// The store of a name.
    func store(_ name: String) throws -> Store {
        guard let store = stores.first(where: { $0.name == name }) else {
            throw TestFailure("status does not list the store \(name)")
        }
        return store
    }
}

extension TestHome {
    func status() throws -> Status {
        // 1 tells that something is unsaved.
        let result = try run(["passdir", "status", "--json"])
        guard result.exitCode < 2, !result.standardOutput.isEmpty else {
            throw TestFailure("passdir status: \(result)")
        }
        let output = result.standardOutput
        do {
            return try JSONDecoder().decode(Status.self, from: Data(output))
        } catch {
            throw TestFailure("\(error): \(String(decoding: output, as: UTF8.self))")
        }
    }

    /// Waits until nothing of a store waits to be committed or pushed, and its working tree is clean.
    func waitUntilCommitted(_ store: TestStore, limit: Duration = .seconds(60)) throws {
        let name = store.path.lastComponent?.string ?? ""
        do {
            try waitUntil("everything of \(name) is committed and pushed", limit: limit) {
                let report = try status().store(name)
                // Before the committer has looked at the repository nothing is known of it.
                guard report.branch != nil, report.pendingChanges == 0, report.unpushedCommits == 0,
                    report.state != "failed"
                else {
                    return false
                }
                return try store.git("status", "--porcelain").isEmpty
            }
        } catch {
            let report = try status().store(name)
            throw TestFailure(
                "\(error); \(report); git status: \(try store.git("status", "--porcelain"));"
                    + " log: \((try? text(of: "state/passdir/log")) ?? "")")
        }
    }

    /// Where the mount shows something: `work/mail/imap`.
    func visible(_ path: String) -> FilePath {
        mountPoint.pushing(FilePath(path))
    }

    /// Writes passdir's settings, as `section.key` and value.
    func configure(_ settings: [String: String]) throws {
        try FileCalls.ensureDirectory(path("config/passdir"))
        for (name, value) in settings {
            try succeed(["git", "config", "--file", path("config/passdir/config").string, name, value])
        }
    }
}

extension FileCalls {
    static func ensureDirectory(_ path: FilePath) throws(Errno) {
        do throws(Errno) {
            try makeDirectory(path)
        } catch {
            guard error == .fileExists else { throw error }
        }
    }
}
