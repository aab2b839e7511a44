import Settings
import Stores

extension CredentialReport {
    /// Those of all stores, for `status`; none where nothing can be said in a moment.
    public static func known(environment: [String: String]) -> [CredentialReport] {
        guard
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let stores = try? Registry(configuration, environment: environment).definitions()
        else { return [] }
        let credentials = LayeredCredentialStore.standard(
            environment: environment, ownKey: nil, timeout: .seconds(3))
        return (try? all(of: stores, in: credentials)) ?? []
    }
}

extension [StoreReport] {
    /// The same with the credentials that are kept for each.
    public func with(_ credentials: [CredentialReport]) -> [StoreReport] {
        map { store in
            var store = store
            store.credentials = credentials.filter { $0.store == store.name }
            return store
        }
    }
}
