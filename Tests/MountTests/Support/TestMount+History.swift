import Fuse
import Stores
import Sync
import SystemPackage
import TestKit

@testable import Mount

extension TestMount {
    /// Of the first commit, in seconds since 1970: 2023-11-14T22:13:20Z.
    static let firstTime: Int64 = 1_700_000_000

    /// Runs a test with the store `work` in a repository. A state is named by what git knows, or as `@SECONDS`.
    static func withHistory(
        cacheTime: Duration = .seconds(60), _ body: (TestMount) throws -> Void
    ) throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.cacheTime = cacheTime
        options.past = RepositoryPast { typed in
            typed.hasPrefix("@")
                ? .at(Int64(typed.dropFirst()) ?? 0, typed: typed) : .named(typed)
        }
        try with(options) { mount in
            try mount.git(["init", "-q"])
            try body(mount)
        }
    }

    /// What git prints of `work`, without a newline at its end.
    @discardableResult
    func git(_ words: [String], input: [UInt8] = [], extra: [String: String] = [:]) throws -> String {
        let output = String(
            decoding: try keys.home.succeed(["git"] + words, input: input, in: disk("work"), extra: extra),
            as: UTF8.self)
        return output.hasSuffix("\n") ? String(output.dropLast()) : output
    }

    /// Commits all that lies in `work`.
    /// - Parameter time: the author's, in seconds after the first commit's.
    /// - Returns: the commit.
    @discardableResult
    func commit(at time: Int64) throws -> String {
        let date = "@\(Self.firstTime + time) +0000"
        try git(["add", "-A"])
        try git(
            ["commit", "-q", "--allow-empty", "-m", "a change"],
            extra: ["GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date])
        return try git(["rev-parse", "HEAD"])
    }

    /// All that is listed at a path and below it: files by what they hold, folders with a slash, links with an arrow.
    func tree(_ path: String) throws(Errno) -> [String: String] {
        var found: [String: String] = [:]
        for entry in try entries(path) where ![".", ".."].contains(entry.name.string) {
            let name = entry.name.string
            switch entry.kind {
            case .directory:
                found[name + "/"] = ""
                for (below, text) in try tree("\(path)/\(name)") { found["\(name)/\(below)"] = text }
            case .symbolicLink: found[name] = "-> " + (try target("\(path)/\(name)"))
            case .regular: found[name] = try read("\(path)/\(name)")
            }
        }
        return found
    }
}
