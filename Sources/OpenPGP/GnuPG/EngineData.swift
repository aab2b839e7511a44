import CGPGME
import Glibc
import System
import SystemPackage

/// A `gpgme_data_t` and what stands behind it. gpgme wipes its own buffers of it ("sensitive").
final class EngineData {
    let handle: OpaquePointer
    /// Kept alive while gpgme may call it.
    private let sink: Sink?

    /// Data that gpgme reads from memory of the caller, which must outlive this value.
    init(reading bytes: UnsafeRawBufferPointer) throws(OpenPGPError) {
        var data: gpgme_data_t?
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let error = gpgme_data_new_from_mem(&data, start, bytes.count, 0)
        guard error == 0, let data else { throw EngineFailure.error(error, "cannot prepare data for gpg") }
        handle = data
        sink = nil
        prepare()
    }

    /// Data that gpgme writes to `sink`.
    init(writing sink: Sink) throws(OpenPGPError) {
        var data: gpgme_data_t?
        // gpgme keeps the pointer to the callbacks, so that they must stay where they are.
        let error = gpgme_data_new_from_cbs(
            &data, Sink.callbacks.pointer, Unmanaged.passUnretained(sink).toOpaque())
        guard error == 0, let data else { throw EngineFailure.error(error, "cannot prepare data for gpg") }
        handle = data
        self.sink = sink
        prepare()
    }

    deinit { gpgme_data_release(handle) }

    private func prepare() {
        // 512 bytes at a time otherwise. A gpgme that knows neither flag works all the same.
        _ = gpgme_data_set_flag(handle, "io-buffer-size", "65536")
        _ = gpgme_data_set_flag(handle, "sensitive", "1")
    }
}

/// Where gpg's output goes.
class Sink {
    /// Why the last write was refused.
    private(set) var failure: Errno?

    /// Takes all bytes or throws.
    func accept(_ bytes: UnsafeRawBufferPointer) throws(Errno) {}

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        do throws(Errno) {
            try accept(bytes)
            return bytes.count
        } catch {
            failure = error
            errno = error.rawValue
            return -1
        }
    }

    /// The table of C functions, at one address for the life of the process.
    // The pointer is to memory written once, before anybody can see it; gpgme only reads it.
    struct Callbacks: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<gpgme_data_cbs>
    }

    static let callbacks: Callbacks = {
        let pointer = UnsafeMutablePointer<gpgme_data_cbs>.allocate(capacity: 1)
        pointer.initialize(
            to: gpgme_data_cbs(
                read: nil,
                write: { handle, buffer, size in
                    guard let handle else { return -1 }
                    let sink = Unmanaged<Sink>.fromOpaque(handle).takeUnretainedValue()
                    return sink.receive(UnsafeRawBufferPointer(start: buffer, count: size))
                },
                seek: nil, release: nil))
        return Callbacks(pointer: pointer)
    }()
}

/// Takes what is no secret.
final class ByteSink: Sink {
    private(set) var bytes: [UInt8] = []

    override func accept(_ more: UnsafeRawBufferPointer) throws(Errno) { bytes.append(contentsOf: more) }
}

extension [String] {
    /// Lends the words as C has them, a nil behind the last.
    func withCStrings<R>(_ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> R) -> R {
        var words = map { strdup($0).map { UnsafePointer($0) } } + [nil]
        defer { for word in words { free(UnsafeMutablePointer(mutating: word)) } }
        return words.withUnsafeMutableBufferPointer { body($0.baseAddress) }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` that keeps the type of the error.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { (buffer) throws(E) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}
