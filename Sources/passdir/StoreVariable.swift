import Daemon
import Stores
import System
import SystemPackage

/// PASSWORD_STORE_DIR, which names pass's only store, where passdir has stores of its own.
enum StoreVariable {
    /// Says of the variable that it is not heeded, where it names another folder than that of a store: one sentence.
    static func tell() {
        let environment = CallerEnvironment.variables()
        let stores = StoreContext.definitions()
        guard let named = environment["PASSWORD_STORE_DIR"], !named.isEmpty, !stores.isEmpty else { return }
        let folder = FilePath(named)
        guard !stores.contains(where: { isSame($0.path, folder) }) else { return }
        StandardError.warn(
            "PASSWORD_STORE_DIR is not used once you have added stores: passdir store add NAME --path "
                + "\(ShellWord.quoted(named)) adds that one")
    }

    private static func isSame(_ one: FilePath, _ other: FilePath) -> Bool {
        one == other.lexicallyNormalized()
            || (try? one.resolvingLinks()).map { $0 == (try? other.resolvingLinks()) } ?? false
    }
}
