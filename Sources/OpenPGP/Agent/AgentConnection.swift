import CLinux
import Glibc
import System
import SystemPackage

/// Why gpg-agent gave no answer.
enum AgentFailure: Error {
    /// It refused, with a code of libgpg-error (without the source).
    case refused(UInt32)
    /// There is none, it ended, or it speaks no Assuan.
    case broken
    /// The caller's time is over, or it does not want the answer any more.
    case ended(OpenPGPError)
}

/// A conversation with gpg-agent: lines over its socket, one thread at a time (Assuan, as libassuan's manual has it).
///
/// libassuan itself waits for the next line whoever cancels, and has what it reads in memory that is not protected. Of the
/// protocol only what a client needs is here: a command, data both ways, a few questions back.
///
/// Commands go together where none depends on an answer: the agent reads line after line, and each turn that one waits for
/// the other costs two threads that wake up, more than a short secret takes to decrypt.
final class AgentConnection {
    /// The longest line, with its end.
    private static let lineLength = 1002
    /// More lines than an honest answer has.
    private static let maximalLines = 100

    private let descriptor: OwnedDescriptor
    /// What was read and not used yet; a session key may be in it.
    private let buffer: SecureBytes
    private var unread = 0..<0
    /// What goes with the next command.
    private var queued: [UInt8] = []
    /// The answers that are still to come: first of all the agent's greeting.
    private var owed = 1
    /// Whether what the agent is going to ask for goes with the command.
    private let answersAhead: Bool

    /// Connects.
    /// - Parameter asks: whether the agent may ask a person; nothing is sent to it then before it asks for it.
    init(to path: FilePath, asks: Bool, _ wait: AgentWait) throws(AgentFailure) {
        guard let connected = Self.connected(to: path), let buffer = try? SecureBytes(count: 4096) else {
            throw .broken
        }
        // Whoever else listens there is not asked.
        guard passdir_peer_uid(connected) == Int64(getuid()) else {
            close(connected)
            throw .broken
        }
        descriptor = OwnedDescriptor(connected)
        self.buffer = buffer
        answersAhead = !asks
        guard asks else { return }
        try receive(wait)
    }

    /// Has a command sent with the next one, for which its answer need not be known; a refusal is that one's, too.
    func queue(_ command: String) throws(AgentFailure) {
        queued += try Self.line(command)
        owed += 1
    }

    /// Sends a command and hears the answer out.
    /// - Parameter inquired: what the agent gets when it asks for it.
    func run(
        _ command: String, _ wait: AgentWait, inquired: (keyword: String, data: [UInt8])? = nil,
        into answer: AgentAnswer? = nil
    ) throws(AgentFailure) {
        var lines = try queued + Self.line(command)
        queued = []
        if answersAhead, let inquired { lines += Self.dataLines(inquired.data) }
        owed += 1
        try send(lines, wait)
        while owed > 1 { try receive(wait) }
        try receive(wait, answer, inquired: inquired)
    }

    /// The longest that the answer to a command is waited for which nobody wants any more: gpg-agent itself waits a minute for
    /// another prompt, and asks for what comes before it.
    private static let patienceWithForgone = Duration.seconds(600)

    /// Hears the answer to the last command out, on a thread of its own, and has nobody asked for it any more: gpg-agent 2.2
    /// was seen not to notice that a client has gone, and to open its prompt when another one was answered.
    func forgo(_ answer: AgentAnswer) {
        guard owed > 0 else { return }
        answer.isForgone = true
        let rest = Rest(connection: self, answer: answer)
        // Without a thread there is nobody who could hear it.
        try? PosixThread.start(named: "forgone") { rest.hearOut() }
    }

    // Sendable because whoever has given it to the thread uses neither any more.
    private struct Rest: @unchecked Sendable {
        let connection: AgentConnection
        let answer: AgentAnswer

        func hearOut() {
            guard
                let wait = try? AgentWait(
                    Bounds(timeout: AgentConnection.patienceWithForgone, to: "decrypt"))
            else {
                return
            }
            while connection.owed > 0 {
                do throws(AgentFailure) { try connection.receive(wait, answer) } catch .refused {} catch {
                    return
                }
            }
        }
    }

    private static func line(_ command: String) throws(AgentFailure) -> [UInt8] {
        let line = Array(command.utf8) + [UInt8(ascii: "\n")]
        guard line.count <= lineLength, line.dropLast().allSatisfy({ $0 >= 0x20 }) else { throw .broken }
        return line
    }

    /// As `run`, but that the agent does not know the option is no failure.
    func set(_ option: String, to value: String, _ wait: AgentWait) throws(AgentFailure) {
        do {
            try run("OPTION \(option)=\(value)", wait)
        } catch .refused {}
    }

    private static func connected(to path: FilePath) -> CInt? {
        var address = sockaddr_un()
        let bytes = Array(path.string.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return nil }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if status == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private func receive(
        _ wait: AgentWait, _ answer: AgentAnswer? = nil, inquired: (keyword: String, data: [UInt8])? = nil
    ) throws(AgentFailure) {
        for _ in 0..<Self.maximalLines {
            let line = try nextLine(wait)
            let word = line.prefix { $0 != UInt8(ascii: " ") }
            let rest = UnsafeRawBufferPointer(rebasing: line.dropFirst(word.count + 1))
            switch String(decoding: word, as: UTF8.self) {
            case "OK":
                owed -= 1
                return
            case "ERR":
                owed -= 1
                let digits = rest.prefix { $0 != UInt8(ascii: " ") }
                guard let code = UInt32(String(decoding: digits, as: UTF8.self)) else { throw .broken }
                throw .refused(code & 0xffff)
            case "S": answer?.status.append(String(decoding: rest, as: UTF8.self))
            case "D": guard answer?.take(rest) != false else { throw .broken }
            case "INQUIRE": try reply(to: String(decoding: rest, as: UTF8.self), inquired, answer, wait)
            case let other where other.hasPrefix("#"): break
            default: throw .broken
            }
        }
        throw .broken
    }

    private func reply(
        to question: String, _ inquired: (keyword: String, data: [UInt8])?, _ answer: AgentAnswer?,
        _ wait: AgentWait
    ) throws(AgentFailure) {
        let words = question.split(separator: " ")
        switch words.first {
        case "PINENTRY_LAUNCHED":
            answer?.asked(by: words.dropFirst().first.flatMap { pid_t($0) })
            guard answer?.isForgone != true else {
                // It has not asked yet, and now never will.
                answer?.closePrompt()
                return try send(Array("CAN\n".utf8), wait)
            }
            wait.personIsAsked()
            try send(Array("END\n".utf8), wait)
        case .some(let word) where inquired.map { $0.keyword == word } == true:
            if !answersAhead { try send(Self.dataLines(inquired?.data ?? []), wait) }
        default: try send(Array("CAN\n".utf8), wait)
        }
    }

    /// Data in lines, what would end one escaped.
    private static func dataLines(_ data: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        for start in stride(from: 0, to: data.count, by: 300) {
            lines += Array("D ".utf8)
            for byte in data[start..<min(start + 300, data.count)] {
                switch byte {
                case UInt8(ascii: "%"): lines += Array("%25".utf8)
                case UInt8(ascii: "\n"): lines += Array("%0A".utf8)
                case UInt8(ascii: "\r"): lines += Array("%0D".utf8)
                default: lines.append(byte)
                }
            }
            lines.append(UInt8(ascii: "\n"))
        }
        return lines + Array("END\n".utf8)
    }

    private func send(_ bytes: [UInt8], _ wait: AgentWait) throws(AgentFailure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor.raw, $0.baseAddress.map { $0 + sent }, $0.count - sent,
                    CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                try wait.untilReady(POLLOUT, descriptor.raw)
            } else if errno != EINTR {
                throw .broken
            }
        }
    }

    /// A line without its end; valid until the next call.
    private func nextLine(_ wait: AgentWait) throws(AgentFailure) -> UnsafeRawBufferPointer {
        var searched = unread.lowerBound
        while true {
            if let end = buffer.bytes[searched..<unread.upperBound].firstIndex(of: UInt8(ascii: "\n")) {
                let line = UnsafeRawBufferPointer(rebasing: buffer.bytes[unread.lowerBound..<end])
                unread = end + 1..<unread.upperBound
                return line
            }
            guard unread.count < Self.lineLength else { throw .broken }
            // To the front, so that there is room for a whole line.
            memmove(buffer.base, buffer.base + unread.lowerBound, unread.count)
            unread = 0..<unread.count
            searched = unread.count
            let count = read(
                descriptor.raw, buffer.base + unread.count, buffer.count - unread.count)
            if count > 0 {
                unread = 0..<unread.count + count
            } else if count < 0, errno == EAGAIN {
                try wait.untilReady(POLLIN, descriptor.raw)
            } else if count == 0 || errno != EINTR {
                throw .broken
            }
        }
    }
}
