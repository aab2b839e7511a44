import CGit

/// Where `git push` without further words would push a branch (git-push(1), git-config(1)).
extension Repository {
    /// Why `git push` would not put a branch just where it is to go: it would push somewhere else, too, or refuse. As the end
    /// of a sentence without a full stop, which names the setting; nil when it would. A branch without an upstream is for the
    /// caller to decide about, unless a setting says where it goes.
    /// - Parameters:
    ///   - branchRef: the branch here, by its full name.
    ///   - remote: the remote's name, or its URL where it has none.
    ///   - remoteRef: the branch there, by its full name.
    public func objectionToPush(
        _ branchRef: String, to remote: String, as remoteRef: String
    ) throws(GitError) -> String? {
        let name = String(branchRef.dropFirst("refs/heads/".count))
        for variable in ["branch.\(name).pushRemote", "remote.pushDefault"] {
            guard let chosen = config(variable) else { continue }
            if chosen != remote {
                return "\(variable) says \(GitError.withoutPasswords(chosen))"
            }
            break
        }
        for variable in ["pushurl", "url"].map({ "remote.\(remote).\($0)" }) {
            let values = try values(of: variable)
            if values.count > 1 {
                return "\(variable) has \(values.count) values, and git pushes to all of them"
            }
            if !values.isEmpty { break }
        }
        let rules = try values(of: "remote.\(remote).push")
        if !rules.isEmpty {
            let isSo = rules.contains { Self.rule($0, puts: branchRef, at: remoteRef) }
            return isSo ? nil : "remote.\(remote).push says \(rules.joined(separator: ", "))"
        }
        guard branchRef != remoteRef else { return nil }
        let way = config("push.default") ?? "simple"
        guard !["upstream", "tracking"].contains(way) else { return nil }
        let there = remoteRef.hasPrefix("refs/heads/") ? String(remoteRef.dropFirst(11)) : remoteRef
        return
            "the branch \(name) tracks \(there), a branch with another name; git config push.default upstream "
            + "would allow pushing to it"
    }

    /// Whether a refspec puts a branch at a reference: `main`, `HEAD`, `main:theirs`, `refs/heads/*:refs/heads/*`, `:`.
    private static func rule(_ rule: String, puts branch: String, at remoteRef: String) -> Bool {
        let rule = rule.hasPrefix("+") ? rule.dropFirst() : rule[...]
        // Branches that are on both sides.
        if rule == ":" { return branch == remoteRef }
        let parts = rule.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        func full(_ name: Substring) -> String {
            ["HEAD", "@"].contains(name)
                ? branch : name.hasPrefix("refs/") ? String(name) : "refs/heads/\(name)"
        }
        let from = full(parts[0])
        let to = parts.count == 2 ? full(parts[1]) : from
        guard let star = from.firstIndex(of: "*") else { return from == branch && to == remoteRef }
        let (start, end) = (from[..<star], from[from.index(after: star)...])
        guard branch.count >= start.count + end.count, branch.hasPrefix(start), branch.hasSuffix(end) else {
            return false
        }
        let middle = String(branch.dropFirst(start.count).dropLast(end.count))
        guard let gap = to.firstIndex(of: "*") else { return false }
        return to[..<gap] + middle + to[to.index(after: gap)...] == remoteRef
    }
}
