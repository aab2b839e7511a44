public import Settings

/// What the configuration says of who may read.
public struct AccessOptions: Sendable, Equatable {
    /// The rules.
    public var rules = AccessRules()
    /// How long a question waits (`access.timeout`).
    public var timeout = Duration.seconds(60)
    /// Whether it is noted who reads (`access.log`); nil: while there are rules.
    public var log: Bool?
    /// How long that is kept (`access.keep`).
    public var keep = Duration.seconds(30 * 86_400)
    /// Whether the first read of a secret by a program is told on the desktop (`access.notify`).
    public var notifiesFirstReads = false

    /// Options with their defaults: everybody may read, and nothing is noted.
    public init() {}

    /// Reads the configuration.
    /// - Throws: `.value` with file and line for what is no rule, or no value.
    public init(_ configuration: Configuration) throws(SettingsError) {
        rules = try AccessRules(configuration.accessSections)
        timeout = try configuration.value(Catalogue.accessTimeout)
        log = try configuration.value(Catalogue.accessLog)
        keep = try configuration.value(Catalogue.accessKeep)
        notifiesFirstReads = try configuration.value(Catalogue.accessNotify)
    }

    /// Whether reads are noted.
    public var isLogging: Bool { log ?? !rules.isEmpty }
    /// Whether the read of a secret is judged or noted; while not, nothing is looked up.
    func concerns(_ secret: String) -> Bool {
        isLogging || notifiesFirstReads || rules.governing(secret) != nil
    }

    /// Whether reads are judged or noted.
    var isWatching: Bool { !rules.isEmpty || isLogging || notifiesFirstReads }
}
