import FoundationEssentials

/// A call's envelope (https://varlink.org/Method-Call); its parameters are read apart, by the method.
struct VarlinkCall: Decodable {
    let method: String
    let oneway: Bool?
    let more: Bool?
    let upgrade: Bool?
}

/// A call as the client writes it.
struct VarlinkRequest<Parameters: Encodable>: Encodable {
    let method: String
    let parameters: Parameters
}

/// The parameters of a call or a reply whose envelope is known already.
struct VarlinkParameters<Parameters: Decodable>: Decodable {
    let parameters: Parameters
}

/// As `VarlinkParameters`, of a call in which they may be left out.
struct VarlinkOptionalParameters<Parameters: Decodable>: Decodable {
    let parameters: Parameters?
}

/// A reply that is no error.
struct VarlinkReply<Parameters: Encodable>: Encodable {
    let parameters: Parameters
}

/// A reply that is an error.
struct VarlinkErrorReply<Parameters: Encodable>: Encodable {
    let error: String
    let parameters: Parameters
}

/// No parameters: `{}`.
struct NoParameters: Codable {}

/// One JSON message of the protocol as bytes, without the NUL that ends it.
enum VarlinkMessage {
    /// The bytes of a message; keys in alphabetical order, so that equal messages are equal bytes.
    static func encode(_ message: some Encodable) throws(ControlError) -> [UInt8] {
        do {
            return try Array(StatusJSON.encoder().encode(message))
        } catch {
            throw ControlError(.failed, "a message for the control socket cannot be written as JSON")
        }
    }

    /// Reads a message; nil when it is not JSON of that shape.
    static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) -> Message? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}

/// How reports become JSON, over the socket and for `status --json` alike.
public enum StatusJSON {
    /// The report as one line of JSON.
    public static func line(_ report: StatusReport) throws(ControlError) -> String {
        var report = report
        // For people who look right now; programs get what they can rely on.
        for index in report.stores.indices { report.stores[index].activity = nil }
        return String(decoding: try VarlinkMessage.encode(report), as: UTF8.self)
    }

    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
