import Daemon
import Settings
import Stores
import SystemPackage

/// A store as `--json` tells of it; every key is always there.
struct StoreFacts: Encodable {
    let name: String
    let id: String?
    let path: String
    let url: String?
    let branch: String?
    let isImplicit: Bool
    let isCloned: Bool
    let mount: Bool
    let autofill: Bool
    let readOnly: Bool
    let authentication: String?
    let userName: String?
    let sshKey: String?
    let key: String?
    let keyring: String?
    /// Whether saving works in all of it; nil where nobody has looked.
    let canSave: Bool?
    /// How it is doing; nil where nobody has looked, as at a store that is hidden.
    let state: String?
    /// The remote's server; nil where it is a path, or there is none.
    let host: String?
    /// When it and its remote last met.
    let lastSync: Timestamp?
    /// The general settings that it may set for itself, as they are in force for it; nil where they are not looked at.
    let settings: [SettingInForce]?

    /// - Parameter look: what status tells of it.
    init(_ store: StoreDefinition, _ look: StoreReport? = nil, _ settings: [SettingInForce]? = nil) {
        self.settings = settings
        name = store.name
        id = store.id
        path = store.path.string
        url = store.url
        branch = look?.branch ?? store.branch
        isImplicit = store.isImplicit
        isCloned = store.isCloned
        mount = store.isInMount
        autofill = store.isInAutofill
        readOnly = store.isReadOnly
        authentication = store.authentication?.rawValue
        userName = store.userName
        sshKey = store.sshKey?.string
        key = store.key
        keyring = store.keyring?.string
        state = look?.state.rawValue
        canSave = store.isReadOnly ? false : look?.canSave
        let url = (look?.remote ?? store.url).flatMap { RemoteURL($0) }
        host = url.flatMap { $0.host.isEmpty ? nil : $0.host }
        lastSync = [look?.lastFetch, look?.lastPush].compactMap(\.self).max { $0.seconds < $1.seconds }
    }

    /// Writes null where there is no value; the synthesized form would leave the key out.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        let texts: [(Key, String?)] = [
            (.name, name), (.id, id), (.path, path), (.url, url), (.branch, branch),
            (.authentication, authentication), (.userName, userName), (.sshKey, sshKey), (.key, key),
            (.keyring, keyring), (.state, state), (.host, host),
        ]
        for (key, text) in texts { try container.encode(text, forKey: key) }
        let switches: [(Key, Bool)] = [
            (.isImplicit, isImplicit), (.isCloned, isCloned), (.mount, mount), (.autofill, autofill),
            (.readOnly, readOnly),
        ]
        for (key, value) in switches { try container.encode(value, forKey: key) }
        try container.encode(canSave, forKey: .canSave)
        try container.encode(lastSync, forKey: .lastSync)
        guard let settings else { return }
        var values: [String: String?] = [:]
        for setting in settings {
            values.updateValue(setting.text.isEmpty ? nil : setting.text, forKey: setting.key)
        }
        try container.encode(values, forKey: .settings)
    }

    private enum Key: String, CodingKey {
        case name, id, path, url, branch, isImplicit, isCloned, mount, autofill, readOnly, authentication
        case userName, sshKey, key, keyring, canSave, state, host, lastSync, settings
    }

    /// Lines for people.
    var lines: [String] {
        let facts: [(String, String?)] = [
            ("name", name), ("id", id), ("path", path), ("url", url), ("branch", branch),
            ("authentication", authentication), ("userName", userName), ("sshKey", sshKey), ("key", key),
            ("keyring", keyring), ("mount", mount ? "yes" : "no"), ("autofill", autofill ? "yes" : "no"),
            ("readOnly", readOnly ? "yes" : "no"),
            ("origin", isImplicit ? "pass's own store" : isCloned ? "cloned by passdir" : "adopted"),
        ]
        let inForce = (settings ?? []).map { setting in
            let source = setting.isDefault ? " (default)" : setting.general.map { " (\($0))" } ?? ""
            return (setting.key, setting.text.isEmpty ? nil : setting.text + source)
        }
        return (facts + inForce).compactMap { name, value in
            value.map { name + String(repeating: " ", count: 19 - name.count) + $0 }
        }
    }
}
