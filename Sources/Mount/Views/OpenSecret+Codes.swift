import Contents
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// One-time passwords of a secret that is open.
extension OpenSecret {
    /// How long a code is good for at least when it is given, in seconds: who reads it has to hand it on.
    static let leastValidity = 1.0

    /// The code of this moment and a newline; nil where a counter makes the codes.
    func timedCode() throws(ValueError) -> MadeValue? {
        let now = FileTime.now
        return try withText { (text) throws(ValueError) -> MadeValue? in
            try ValueError.catching { () throws(ContentsError) in
                let password = try OneTimePassword(of: text)
                guard case .time = password.movement else { return nil }
                let code = try password.code(at: now.seconds)
                let end = code.validUntil ?? .max
                let rest = Double(end - now.seconds) - Double(now.nanoseconds) / 1e9
                guard rest < Self.leastValidity else { return MadeValue(bytes: try code.text.line()) }
                return MadeValue(bytes: try password.code(at: end).text.line(), delay: rest)
            }
        }
    }

    /// The code of the counter that the text has, and a newline. The counter goes on by a save first: whoever reads next finds
    /// it one higher. Only for who has the turn.
    /// - Returns: nil where another program has saved the secret meanwhile: it is to be read again.
    func countedCode() throws(ValueError) -> MadeValue? {
        let isCurrent = try ValueError.wrapping { () throws(Errno) in try store.hasSeen(node, file) }
        guard isCurrent else { return nil }
        return MadeValue(bytes: try raiseCounter(), isOfOneReader: true)
    }

    private func raiseCounter() throws(ValueError) -> SecretBytes {
        try ValueError.wrapping { () throws(Errno) in
            try store.checkWritable()
            if let path = store.tree.backingPath(of: node) { try store.checkCanSave(path) }
        }
        let code = try file.state.withLock { (state) throws(ValueError) in
            guard state.isLoaded, state.wipes == wipes else { throw ValueError(.permissionDenied) }
            var made = Result<(SecretBytes, SecretBytes), ContentsError>.failure(
                ContentsError(.missing, "it is empty"))
            state.read(at: 0, count: state.count) { text in
                made = Result { () throws(ContentsError) in try Self.countUp(text) }
            }
            let (code, text) = try ValueError.catching { () throws(ContentsError) in try made.get() }
            try ValueError.wrapping { () throws(Errno) in
                try text.withUnsafeBytes { (bytes) throws(Errno) in
                    try state.write(bytes, at: 0, time: now)
                    try state.resize(to: bytes.count, at: now)
                }
            }
            return code
        }
        store.markDirty(node)
        try ValueError.wrapping { () throws(Errno) in try store.save(node, file) }
        return code
    }

    private var now: FileTime { .now }

    /// - Returns: the code and a newline, and the text with the next counter.
    private static func countUp(
        _ text: UnsafeRawBufferPointer
    ) throws(ContentsError) -> (SecretBytes, SecretBytes) {
        let password = try OneTimePassword(of: text)
        guard case .counter(let counter) = password.movement, counter < .max else {
            throw ContentsError(.invalid, "the counter of its otpauth URI cannot go on")
        }
        return (
            try password.code(counter: counter).line(),
            try SecretEdit.settingCounter(of: text, to: counter + 1)
        )
    }
}

extension OneTimePassword {
    /// What the otpauth URI of a secret says.
    fileprivate init(of text: UnsafeRawBufferPointer) throws(ContentsError) {
        guard let place = SecretText(text).oneTimeURI else {
            throw ContentsError(.missing, "it has no otpauth URI")
        }
        try self.init(uri: UnsafeRawBufferPointer(rebasing: text[place]))
    }
}

extension SecretBytes {
    /// This and a newline.
    fileprivate func line() throws(ContentsError) -> SecretBytes {
        do throws(Errno) {
            var buffer = try SecretBuffer(copying: self)
            try Swift.withUnsafeBytes(of: UInt8(ascii: "\n")) { (newline) throws(Errno) in
                try buffer.write(newline, at: buffer.count)
            }
            return buffer.freeze()
        } catch {
            throw ContentsError(.system, "there is no memory for a secret: \(error)")
        }
    }
}

extension ValueError {
    /// Runs `body`; its sentence is told.
    fileprivate static func catching<Value>(
        _ body: () throws(ContentsError) -> Value
    ) throws(ValueError) -> Value {
        do throws(ContentsError) { return try body() } catch { throw ValueError(error) }
    }
}
