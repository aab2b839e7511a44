import Daemon
import Settings
import Stores

/// What a command says where there is nothing yet that it could work on.
enum FirstStep {
    /// - Throws: how to begin, where there is no store; not where a program asks for JSON, which is empty then.
    static func check(_ arguments: [String]) throws {
        let environment = CallerEnvironment.variables()
        guard !arguments.contains("--json"), !arguments.contains("--help"), !arguments.contains("-h"),
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let stores = try? Registry(configuration, environment: environment).definitions(), stores.isEmpty,
            // What a killed command left is brought in order first: there may be one then.
            (try? StoreContext().registry.definitions().isEmpty) == true
        else { return }
        throw CommandFailure(sentence)
    }

    /// There is no store, and how to begin.
    static var sentence: String {
        let lack = Daemon.lack(of: "no store yet", environment: CallerEnvironment.variables())
        return "\(lack): \(Daemon.waysToAStore)"
    }
}
