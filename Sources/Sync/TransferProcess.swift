import Subprocess
import SystemPackage

/// Runs a transfer in a child process and ends it when its time is over.
struct TransferProcess: Sendable {
    /// The program whose `transfer` command does the work: our own.
    var program: FilePath
    /// How long a transfer may take.
    var timeout: Duration

    func run(_ request: PushRequest) async throws(TransferFailure) {
        let output: String?
        do {
            output = try await withThrowingTaskGroup(of: String?.self) { group in
                group.addTask { try await launch(request) }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw TransferFailure(
                        code: .timedOut,
                        message: "the remote \"\(request.remote)\" did not answer within \(timeout).")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch let failure as TransferFailure {
            throw failure
        } catch {
            throw TransferFailure(code: .other, message: "the push could not be started: \(error).")
        }
        guard let output else { return }
        let line = output.split(separator: "\n").last.map(String.init) ?? ""
        throw TransferFailure(line: line)
            ?? TransferFailure(code: .other, message: "the push ended without saying why.")
    }

    /// The output of a transfer that failed; nil when it succeeded.
    private func launch(_ request: PushRequest) async throws -> String? {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .milliseconds(200))]
        let result = try await Subprocess.run(
            .path(program), arguments: Arguments(request.arguments),
            environment: .inherit.updating([
                // A question on a terminal would wait for ever.
                "GIT_TERMINAL_PROMPT": "0", "GIT_DIR": nil, "GIT_WORK_TREE": nil, "GIT_INDEX_FILE": nil,
            ]),
            platformOptions: options, output: .string(limit: 1 << 16), error: .discarded)
        return result.terminationStatus.isSuccess ? nil : result.standardOutput
    }
}
