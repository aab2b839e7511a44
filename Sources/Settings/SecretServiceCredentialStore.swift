import CSecret
import Dispatch
import Glibc
import OpenPGP
import System
import SystemPackage

/// Credentials in the Secret Service of the desktop session (gnome-keyring, KWallet, KeePassXC), through libsecret.
///
/// An item is found by its attributes `store` and `kind` in the schema `org.passdir.Credential`; attributes are not
/// secret. Unlocking may ask the user; that is given up after a while.
public struct SecretServiceCredentialStore: CredentialStore {
    private let timeout: Duration
    private let hasBus: Bool

    /// The service on the session bus that the environment names; without one libsecret is never called, as it might
    /// start a bus of its own.
    public init(environment: [String: String], timeout: Duration = .seconds(120)) {
        self.timeout = timeout
        let runtime = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(geteuid())"
        hasBus =
            environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false || access(runtime + "/bus", R_OK) == 0
    }

    /// "Secret Service".
    public var place: String { "Secret Service" }

    /// Whether a service answers; it is started where the bus knows how.
    public var isAvailable: Bool {
        guard hasBus else { return false }
        return (try? search(CredentialKey(store: "-", kind: .password))) != nil
    }

    /// As the protocol says; goes to the user's default collection.
    public func save(
        _ secret: SecretBytes, as key: CredentialKey, expires: Int64?
    ) throws(CredentialError) {
        // The expiry is an attribute: with another one the service would make a second item. What has the same one is
        // replaced by the service at once.
        if let kept = try search(key)[key], kept.expires != expires { try delete(key) }
        let value = secret.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                secret_value_new($0.baseAddress, gssize($0.count), "application/octet-stream")
            }
        }
        defer { secret_value_unref(value.map { UnsafeMutableRawPointer($0) }) }
        try call("stored") { cancellable, error in
            let attributes = passdir_secret_attributes(
                key.store, key.kind.rawValue, expires.map { String($0) })
            defer { g_hash_table_unref(attributes) }
            return secret_password_storev_binary_sync(
                passdir_secret_schema(), attributes, nil,
                "passdir: \(key.kind.rawValue) of store \(key.store)",
                value, cancellable, &error)
        }
    }

    /// As the protocol says.
    public func load(_ key: CredentialKey) throws(CredentialError) -> SecretBytes? {
        let value = try call("read") { cancellable, error in
            let attributes = passdir_secret_attributes(key.store, key.kind.rawValue, nil)
            defer { g_hash_table_unref(attributes) }
            return secret_password_lookupv_binary_sync(
                passdir_secret_schema(), attributes, cancellable, &error)
        }
        guard let value else { return nil }
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        var count = gsize(0)
        let bytes = secret_value_get(value, &count)
        return try rethrowing(SecretBytes(copying: UnsafeRawBufferPointer(start: bytes, count: Int(count)))) {
            (_: Errno) in CredentialError(.failed, "not enough memory for the credential")
        }
    }

    /// As the protocol says.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
        _ = try call("removed") { cancellable, error in
            let attributes = passdir_secret_attributes(key.store, key.kind.rawValue, nil)
            defer { g_hash_table_unref(attributes) }
            return secret_password_clearv_sync(passdir_secret_schema(), attributes, cancellable, &error)
        }
    }

    /// As the protocol says.
    public func entries() throws(CredentialError) -> [CredentialKey: CredentialFacts] {
        try search(nil)
    }

    /// Items of our schema whose kind is none of the catalogue.
    public func undeclared() throws(CredentialError) -> [String] {
        var found: [String] = []
        try eachItem(nil) { item in
            let kind = attribute("kind", of: item)
            guard kind.flatMap({ CredentialKind(rawValue: $0) }) == nil || attribute("store", of: item) == nil
            else { return }
            found.append("\(place): an item of the kind \(kind ?? "?")")
        }
        return found
    }

    private func search(_ key: CredentialKey?) throws(CredentialError) -> [CredentialKey: CredentialFacts] {
        var found: [CredentialKey: CredentialFacts] = [:]
        try eachItem(key) { item in
            guard let store = attribute("store", of: item), let word = attribute("kind", of: item),
                let kind = CredentialKind(rawValue: word)
            else { return }
            found[CredentialKey(store: store, kind: kind)] = CredentialFacts(
                place: place, made: passdir_secret_modified(item).nonZero,
                expires: attribute("expires", of: item).flatMap { Int64($0) })
        }
        return found
    }

    private func eachItem(
        _ key: CredentialKey?, _ body: (UnsafeMutableRawPointer) -> Void
    ) throws(CredentialError) {
        let list = try call("listed") { cancellable, error in
            let attributes = passdir_secret_attributes(key?.store, key?.kind.rawValue, nil)
            defer { g_hash_table_unref(attributes) }
            return secret_password_searchv_sync(
                passdir_secret_schema(), attributes, SECRET_SEARCH_ALL, cancellable, &error)
        }
        var entry = list
        while let item = entry?.pointee.data {
            body(item)
            g_object_unref(item)
            entry = entry?.pointee.next
        }
        g_list_free(list)
    }

    private func attribute(_ name: String, of item: UnsafeMutableRawPointer) -> String? {
        guard let text = passdir_secret_attribute(item, name) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Runs a call of libsecret that ends after the time allowed.
    @discardableResult
    private func call<Result>(
        _ doing: String,
        _ body: (UnsafeMutablePointer<GCancellable>?, inout UnsafeMutablePointer<GError>?) -> Result
    ) throws(CredentialError) -> Result {
        guard hasBus else { throw CredentialError(.unavailable, "there is no session bus") }
        // libsecret would give libgcrypt another kind of secure memory, for the whole process.
        OpenPGPEngine.prepareLibraries()
        let cancellable = g_cancellable_new()
        defer { g_object_unref(cancellable) }
        // The timer holds a reference of its own: it may fire after the call has returned.
        let held = UInt(bitPattern: g_object_ref(cancellable))
        let (seconds, _) = timeout.components
        let timer = DispatchWorkItem {
            g_cancellable_cancel(
                UnsafeMutableRawPointer(bitPattern: held)?.assumingMemoryBound(to: GCancellable.self))
        }
        timer.notify(queue: .global()) { g_object_unref(UnsafeMutableRawPointer(bitPattern: held)) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(seconds)), execute: timer)
        var error: UnsafeMutablePointer<GError>?
        let result = body(cancellable, &error)
        let timedOut = g_cancellable_is_cancelled(cancellable) != 0
        timer.cancel()
        guard let error else { return result }
        defer { g_error_free(error) }
        if timedOut {
            throw CredentialError(
                .timedOut, "the credential could not be \(doing): nobody unlocked the Secret Service in time")
        }
        let words = error.pointee.message.map { String(cString: $0) } ?? "no reason given"
        let isAbsent = passdir_secret_is_absent(error) != 0
        throw CredentialError(
            isAbsent ? .unavailable : .refused,
            "the credential could not be \(doing) by the Secret Service: \(words)")
    }
}

extension guint64 {
    /// As a time, where 0 stands for one that is not known.
    fileprivate var nonZero: Int64? { self == 0 ? nil : Int64(clamping: self) }
}
