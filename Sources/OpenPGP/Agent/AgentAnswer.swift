import Glibc

/// What gpg-agent says to one command.
final class AgentAnswer {
    /// Its status lines.
    var status: [String] = []
    /// Its data.
    private let data: SecureBytes
    private var count = 0
    /// What asks a person on behalf of the command, or did.
    private var prompt: OpenedPrompt?
    /// Whether a person was asked.
    private(set) var hasAsked = false
    /// Nobody waits for it any more: whoever would be asked is not.
    var isForgone = false

    /// - Throws: `broken` when there is no secure memory.
    init() throws(AgentFailure) {
        do { data = try SecureBytes(count: 4096) } catch { throw .broken }
    }

    /// The data, in secure memory; valid while this lives.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: data.bytes[..<count]) }

    /// Takes a line of data.
    /// - Returns: whether it is well formed, and there is room for it.
    func take(_ line: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < line.count {
            var byte = line[place]
            place += 1
            if byte == UInt8(ascii: "%") {
                guard place + 2 <= line.count, let high = Self.digit(line[place]),
                    let low = Self.digit(line[place + 1])
                else { return false }
                byte = high << 4 | low
                place += 2
            }
            guard count < data.count else { return false }
            data[count] = byte
            count += 1
        }
        return true
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// A person is asked, by a program of this id.
    func asked(by process: pid_t?) {
        hasAsked = true
        prompt = process.flatMap { OpenedPrompt($0) } ?? prompt
    }

    /// Closes a prompt whose answer nobody wants any more; returns when it is gone.
    func closePrompt() { prompt?.close() }
}
