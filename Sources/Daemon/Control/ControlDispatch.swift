import Access
import Sync

/// Answers one message of the control protocol; knows nothing of sockets.
struct ControlDispatch: Sendable {
    let service: any ControlService

    private struct InterfaceParameters: Decodable {
        let interface: String
    }

    private struct Info: Encodable {
        let vendor = "passdir"
        let product = "passdir"
        let version = Version.number
        let url = ""
        let interfaces = [ControlInterface.service, ControlInterface.name]
    }

    /// The reply to a message; nil when the caller asked for none (`oneway`).
    ///
    /// `more` is respected as the specification allows: one reply that does not say `continues`.
    func reply(to message: [UInt8], of peer: ControlPeer = ControlPeer()) -> [UInt8]? {
        guard let call = VarlinkMessage.decode(VarlinkCall.self, from: message) else {
            return invalid(parameterOf: message)
        }
        let reply =
            call.upgrade == true
            ? error(ControlInterface.invalidParameter, ["parameter": "upgrade"])
            : answer(call, message, peer)
        return call.oneway == true ? nil : reply
    }

    /// The reply to a message that was too long to be read.
    func replyToTooLong() -> [UInt8]? {
        error(ControlInterface.invalidParameter, ["parameter": "message"])
    }

    private func answer(_ call: VarlinkCall, _ message: [UInt8], _ peer: ControlPeer) -> [UInt8]? {
        switch call.method {
        case ControlInterface.status:
            return result(service.status())
        case ControlInterface.unmount:
            return unmount(message)
        case ControlInterface.reload:
            return reload(message)
        case ControlInterface.retrySaves:
            service.retrySaves()
            return result(NoParameters())
        case ControlInterface.discardUnsaved:
            return discardUnsaved(message)
        case ControlInterface.abortSave:
            return abortSave(message)
        case ControlInterface.lock:
            return lock(message)
        case ControlInterface.unlock:
            return unlock(message)
        case ControlInterface.synchronize:
            return synchronize(message)
        case ControlInterface.access:
            return result(service.access())
        case ControlInterface.judgeRead:
            return judgeRead(message, peer)
        case ControlInterface.holdFiles:
            return holdFiles(message, peer.process)
        case ControlInterface.getInfo:
            return result(Info())
        case ControlInterface.getDescription:
            return describe(message)
        default:
            let interface = call.method.split(separator: ".").dropLast().joined(separator: ".")
            return ControlInterface.descriptions[interface] == nil
                ? error(ControlInterface.interfaceNotFound, ["interface": interface])
                : error(ControlInterface.methodNotFound, ["method": call.method])
        }
    }

    private func unmount(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable { let discardUnsaved: Bool? }
        return answer(message, "discardUnsaved") { (parameters: Parameters?) throws(ControlError) in
            let left = try service.unmount(discardUnsaved: parameters?.discardUnsaved ?? false)
            return left.isEmpty ? result(NoParameters()) : result(["left": left])
        }
    }

    private func reload(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable {
            let settle: String?
            let reopen: String?
        }
        return answer(message, "settle") { (parameters: Parameters?) throws(ControlError) in
            try service.reload(pushing: parameters?.settle, reopening: parameters?.reopen)
            return result(NoParameters())
        }
    }

    private func discardUnsaved(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable {
            let store: String
            let path: String?
        }
        guard let call = VarlinkMessage.decode(VarlinkParameters<Parameters>.self, from: message) else {
            return error(ControlInterface.invalidParameter, ["parameter": "store or path"])
        }
        let discarded = service.discardUnsaved(store: call.parameters.store, path: call.parameters.path)
        return result(["discarded": discarded])
    }

    private func abortSave(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable { let store: String }
        guard let call = VarlinkMessage.decode(VarlinkParameters<Parameters>.self, from: message) else {
            return error(ControlInterface.invalidParameter, ["parameter": "store"])
        }
        let aborted = service.abortSave(store: call.parameters.store)
        return result(["aborted": aborted].compactMapValues(\.self))
    }

    private struct Stores: Decodable { let stores: [String]? }

    private func lock(_ message: [UInt8]) -> [UInt8]? {
        answer(message, "stores") { (parameters: Stores?) throws(ControlError) in
            let complaint = try service.lock(stores: parameters?.stores)
            return result(["complaint": complaint].compactMapValues(\.self))
        }
    }

    private func unlock(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable {
            let stores: [String]?
            let entered: Bool?
        }
        return answer(message, "stores") { (parameters: Parameters?) throws(ControlError) in
            if parameters?.entered == true {
                try service.passphrasesEntered(stores: parameters?.stores)
            } else {
                try service.unlock(stores: parameters?.stores)
            }
            return result(NoParameters())
        }
    }

    private func judgeRead(_ message: [UInt8], _ peer: ControlPeer) -> [UInt8]? {
        struct Parameters: Decodable {
            let secret: String
            let changesRecipients: Bool?
            let judgedBy: String?
            let end: ReadEnd?
        }
        guard let call = VarlinkMessage.decode(VarlinkParameters<Parameters>.self, from: message) else {
            return error(ControlInterface.invalidParameter, ["parameter": "secret"])
        }
        // Who asks is what the kernel says, not what is said: else anybody could pass for another program.
        let parameters = call.parameters
        return result(
            service.judge(
                parameters.secret, isChanged: parameters.changesRecipients == true,
                judgedBy: parameters.judgedBy, end: parameters.end, for: peer))
    }

    private func holdFiles(_ message: [UInt8], _ peer: Int32) -> [UInt8]? {
        struct Parameters: Decodable { let files: [HeldFileRequest] }
        return answer(message, "files") { (parameters: Parameters?) throws(ControlError) in
            let folder = try service.holdFiles(parameters?.files ?? [], for: peer)
            return result(["folder": folder])
        }
    }

    private func synchronize(_ message: [UInt8]) -> [UInt8]? {
        struct Parameters: Decodable {
            let stores: [String]?
            let choose: HistoryChoice?
        }
        return answer(message, "stores or choose") { (parameters: Parameters?) throws(ControlError) in
            let reports = try service.synchronize(stores: parameters?.stores, choosing: parameters?.choose)
            return result(["stores": reports])
        }
    }

    /// The reply of a method that may fail. Its parameters may be left out altogether, as none is required.
    /// - Parameter names: of the parameters, for a call in which they cannot be read.
    private func answer<Parameters: Decodable>(
        _ message: [UInt8], _ names: String, _ body: (Parameters?) throws(ControlError) -> [UInt8]?
    ) -> [UInt8]? {
        guard let call = VarlinkMessage.decode(VarlinkOptionalParameters<Parameters>.self, from: message)
        else {
            return error(ControlInterface.invalidParameter, ["parameter": names])
        }
        do throws(ControlError) {
            return try body(call.parameters)
        } catch {
            switch error.code {
            case .busy: return self.error(ControlInterface.busy, ["message": error.message])
            case .unsaved: return self.error(ControlInterface.unsaved, ["paths": error.paths])
            default: return self.error(ControlInterface.failed, ["message": error.message])
            }
        }
    }

    private func describe(_ message: [UInt8]) -> [UInt8]? {
        guard let call = VarlinkMessage.decode(VarlinkParameters<InterfaceParameters>.self, from: message)
        else {
            return error(ControlInterface.invalidParameter, ["parameter": "interface"])
        }
        guard let text = ControlInterface.descriptions[call.parameters.interface] else {
            return error(ControlInterface.interfaceNotFound, ["interface": call.parameters.interface])
        }
        return result(["description": text])
    }

    /// Says which part of the envelope is wrong, as far as it can be told.
    private func invalid(parameterOf message: [UInt8]) -> [UInt8]? {
        struct Method: Decodable { let method: String }
        struct JSONObject: Decodable {
            init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: NoKey.self) }
        }
        enum NoKey: CodingKey {}
        let part =
            VarlinkMessage.decode(JSONObject.self, from: message) == nil
            ? "message"
            : VarlinkMessage.decode(Method.self, from: message) == nil ? "method" : "oneway, more or upgrade"
        return error(ControlInterface.invalidParameter, ["parameter": part])
    }

    private func result(_ parameters: some Encodable) -> [UInt8]? {
        try? VarlinkMessage.encode(VarlinkReply(parameters: parameters))
    }

    private func error(_ name: String, _ parameters: some Encodable) -> [UInt8]? {
        try? VarlinkMessage.encode(VarlinkErrorReply(error: name, parameters: parameters))
    }
}
