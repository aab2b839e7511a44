import Logging
import Stores
import System

/// Lines on standard error whose text goes through `VisibleText`: names, messages of commits and words of servers can
/// forge no line of the log, and steer no terminal that shows it.
struct VisibleLogHandler: LogHandler {
    private var handler: StreamLogHandler

    /// Longer ones hold what a server or a name put into them.
    private static let limit = 4000

    init(label: String) {
        handler = StreamLogHandler.standardError(label: label)
    }

    var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue.mapValues(Self.visible) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue.map(Self.visible) }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(VisibleText.line(event.message.description, atMost: Self.limit))"
        event.metadata = event.metadata?.mapValues(Self.visible)
        handler.log(event: event)
    }

    private static func visible(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
        switch value {
        case .string(let text): .string(VisibleText.line(text, atMost: limit))
        case .stringConvertible(let value): .string(VisibleText.line(value.description, atMost: limit))
        case .array(let values): .array(values.map(visible))
        case .dictionary(let values): .dictionary(values.mapValues(visible))
        }
    }
}
