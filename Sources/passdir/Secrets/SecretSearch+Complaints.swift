import Daemon

extension SecretSearch {
    /// Tells of stores that cannot be looked in on standard error.
    init(environment: [String: String]) throws(DaemonError) {
        try self.init(environment: environment) { StandardError.print("passdir: \($0)") }
    }
}
