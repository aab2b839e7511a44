import Contents
import Glibc
public import System
public import SystemPackage

/// A PNG file with a QR code, read by zbarimg (zbar).
///
/// The program gets the file as it is opened here, and nothing else: of what comes by a pipe, ImageMagick, by which it reads
/// pictures, would put a copy into /tmp.
public final class QRCodePicture: Sendable {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// No picture of a code is larger, in bytes.
    private static let largest: Int64 = 16 << 20
    /// An otpauth URI is shorter, and so is what a code can hold.
    private static let longestAnswer = 64 << 10
    private static let patience = Duration.seconds(30)

    private let file: OwnedDescriptor
    private let name: String

    /// Opens a file.
    /// - Throws: one sentence where it is no PNG file.
    public init(_ path: FilePath) throws(DaemonError) {
        name = path.string
        do throws(Errno) {
            file = try OwnedDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
        } catch {
            throw DaemonError(message: "cannot read \(path): \(error)")
        }
        guard Self.isPicture(file.raw) else {
            throw DaemonError(message: "\(path) is no PNG file of at most 16 MiB: save the QR code as one")
        }
    }

    /// What standard input is redirected from; nil where that is no PNG file.
    public init?(standardInput: CInt) {
        guard Self.isPicture(standardInput) else { return nil }
        let copy = fcntl(standardInput, F_DUPFD_CLOEXEC, 10)
        guard copy >= 0 else { return nil }
        file = OwnedDescriptor(copy)
        name = "standard input"
    }

    /// Whether text that came by a pipe is the first line of a PNG file.
    public static func begins(_ line: SecretBytes) -> Bool {
        line.withUnsafeBytes { $0.elementsEqual(signature.prefix(5)) }
    }

    private static func isPicture(_ file: CInt) -> Bool {
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= largest else {
            return false
        }
        var first = [UInt8](repeating: 0, count: signature.count)
        return pread(file, &first, first.count, 0) == first.count && first == signature
    }

    /// The otpauth URI of the code.
    /// - Throws: one sentence where there is none, or no zbarimg.
    public func oneTimeURI(environment: [String: String]) throws(DaemonError) -> SecretBytes {
        let text = try text(environment)
        let found = text.withUnsafeBytes { bytes in
            bytes.split(separator: UInt8(ascii: "\n")).map { $0.startIndex..<$0.endIndex }.filter {
                OneTimePassword.isURI(UnsafeRawBufferPointer(rebasing: bytes[$0]))
            }
        }
        guard let range = found.first, found.count == 1 else {
            throw DaemonError(
                message: found.isEmpty
                    ? "\(name) shows no QR code of an otpauth URI"
                    : "\(name) shows several QR codes of otpauth URIs: cut out the one that you mean")
        }
        return try DaemonError.wrapping {
            try text.withUnsafeBytes { try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }

    private func text(_ environment: [String: String]) throws(DaemonError) -> SecretBytes {
        var environment = environment
        // In memory or not at all.
        for limit in ["MAGICK_DISK_LIMIT", "MAGICK_MAP_LIMIT"] { environment[limit] = "0" }
        let words = [
            // It would tell the code to everybody on the system's bus.
            "zbarimg", "--nodbus", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", "png:/dev/stdin",
        ]
        let status: Int32
        var buffer = SecretBuffer()
        do throws(Errno) {
            let pipe = try Pipe()
            let child = try ChildProcess(
                words, environment: environment, descriptors: [file.raw, pipe.writing.raw, nil])
            let output = pipe.takeReading()
            do throws(Errno) { try Self.read(output.raw, &buffer) } catch {
                child.kill()
                child.wait()
                throw error
            }
            status = child.wait().status
        } catch {
            throw DaemonError(
                message: error == .noSuchFileOrDirectory
                    ? "no QR code can be read without zbarimg: install zbar-tools, or pass the URI itself"
                    : "zbarimg cannot read \(name): \(error)")
        }
        // 4: it found nothing.
        guard status == 0 || status == 4 else {
            throw DaemonError(
                message: "zbarimg cannot read \(name): it ended with status \(status); is it a picture?")
        }
        return buffer.freeze()
    }

    private static func read(_ output: CInt, _ buffer: inout SecretBuffer) throws(Errno) {
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer {
            explicit_bzero(chunk.baseAddress!, chunk.count)
            chunk.deallocate()
        }
        let end = ContinuousClock.now + patience
        while true {
            guard try Poll.wait(for: POLLIN, on: output, until: end) else { throw .timedOut }
            let count = Glibc.read(output, chunk.baseAddress, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            try buffer.write(UnsafeRawBufferPointer(rebasing: chunk[..<count]), at: buffer.count)
            guard buffer.count <= longestAnswer else { throw .fileTooLarge }
        }
    }
}
