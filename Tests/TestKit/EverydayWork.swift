import Glibc
import SystemPackage

extension TestHome {
    /// Reads, saves, lists and renames in a store, and asks for the status, while something else is held up: each has to
    /// end. `$PASSDIR_HOLDUPS` names a file that gets a line `MILLISECONDS WHAT COMMAND` for each, and
    /// `$PASSDIR_HOLDUP_ROUNDS` says how often; `scripts/bench holdups` prints the maxima.
    ///
    /// - Parameters:
    ///   - store: has a secret `one` whose text is "first".
    ///   - holdup: what is held up, in one word.
    public func workEveryday(in store: String, during holdup: String) throws {
        let rounds = getenv("PASSDIR_HOLDUP_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 2
        let folder = mountPoint.pushing(FilePath(store))
        var times: [(command: String, time: Duration)] = []
        func take(_ command: String, _ words: [String]) throws -> String {
            let start = ContinuousClock.now
            let output = try succeed(words, in: folder, limit: .seconds(30))
            times.append((command, ContinuousClock.now - start))
            return String(decoding: output, as: UTF8.self)
        }
        for round in 0..<rounds {
            guard try take("cat", ["cat", "one"]) == "first\n" else {
                throw TestFailure("\(store)/one has another text")
            }
            _ = try take("save", ["sh", "-c", "echo $0 > new", "\(round)"])
            _ = try take("mv", ["mv", "new", "moved\(round)"])
            let list = try take("ls", ["ls", "-lR"])
            guard list.contains("moved\(round)"), !list.contains("new") else {
                throw TestFailure("\(store) is not listed as it is: \(list)")
            }
            // It may say that something is amiss.
            let start = ContinuousClock.now
            let status = try run(["passdir", "status"], limit: .seconds(30))
            times.append(("status", ContinuousClock.now - start))
            guard !status.timedOut, status.output.contains(store) else {
                throw TestFailure("status does not tell of \(store): \(status.errors)\(status.output)")
            }
        }
        guard let file = getenv("PASSDIR_HOLDUPS") else { return }
        let lines = times.map { "\($0.time / .milliseconds(1)) \(holdup) \($0.command)\n" }.joined()
        let opened = try FileDescriptor.open(
            FilePath(platformString: file), .writeOnly, options: [.append, .create],
            permissions: .ownerReadWrite)
        try opened.closeAfter { _ = try opened.writeAll(lines.utf8) }
    }
}
