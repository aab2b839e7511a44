public import Settings

/// By what a store works: its section of the configuration, and what holds for all stores where that says nothing.
public struct StoreSettings: Sendable, Equatable {
    /// Its section.
    public var definition: StoreDefinition
    /// `commit.delay`.
    public var commitDelay: Duration
    /// `commit.each`.
    public var commitsEach: Bool
    /// `push.timeout`.
    public var pushTimeout: Duration
    /// `sync.interval`; nil where the remote is not asked regularly.
    public var syncInterval: Duration?
    /// `sync.transport`.
    public var transport: TransportChoice
    /// `sync.integration`.
    public var integration: IntegrationChoice
    /// `limits.transfer`, in bytes.
    public var transferLimit: Int
    /// `limits.secret`, in bytes.
    public var secretLimit: Int
    /// `prompt.timeout`.
    public var promptTimeout: Duration
    /// The fingerprints of `signingKeys`, separated by spaces.
    public var signingKeys: String?
    /// `recipients.trust`.
    public var trust: RecipientTrust
    /// `recipients.confirm`; nil: where the store's repository has a remote.
    public var mustConfirm: Bool?

    /// As the configuration has it now.
    public init(
        _ configuration: Configuration, of definition: StoreDefinition
    ) throws(SettingsError) {
        self.definition = definition
        let store = definition.name
        commitDelay = try configuration.value(Catalogue.commitDelay, store: store)
        commitsEach = try configuration.value(Catalogue.commitEach, store: store)
        pushTimeout = try configuration.value(Catalogue.pushTimeout)
        let interval = try configuration.value(Catalogue.syncInterval, store: store)
        syncInterval = interval > .zero ? interval : nil
        transport = try configuration.value(Catalogue.syncTransport, store: store)
        integration = try configuration.value(Catalogue.syncIntegration, store: store)
        transferLimit = try configuration.value(Catalogue.transferLimit)
        secretLimit = try configuration.value(Catalogue.secretLimit)
        promptTimeout = try configuration.value(Catalogue.promptTimeout)
        signingKeys = try configuration.value(Catalogue.storeSigningKeys, store: store)
        trust = try configuration.value(Catalogue.recipientTrust, store: store)
        mustConfirm = try configuration.value(Catalogue.recipientConfirm, store: store)
    }

    /// Whether a store works by both alike: under which name it is shown, and whether, is no matter of that.
    public func isSameWork(as other: StoreSettings) -> Bool {
        var other = other
        other.definition.name = definition.name
        other.definition.identifier = definition.identifier
        other.definition.isInMount = definition.isInMount
        other.definition.isInAutofill = definition.isInAutofill
        other.definition.isReadOnly = definition.isReadOnly
        return self == other
    }
}
