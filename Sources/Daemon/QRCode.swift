import CQREncode
import Glibc
public import System
import SystemPackage

/// A secret as a QR code, drawn for a terminal with a block of two modules a character.
public enum QRCode {
    /// Light modules around the code, without which scanners do not find it.
    private static let margin = 2

    /// The lines of the drawing, in secret memory: what reads them has the secret. White on black whatever the terminal's
    /// colours are.
    /// - Throws: one sentence where the text is too long for a code.
    public static func drawn(_ text: SecretBytes, coloured: Bool = true) throws(DaemonError) -> SecretBytes {
        let code = text.withUnsafeBytes { bytes in
            QRcode_encodeData(
                CInt(bytes.count), bytes.bindMemory(to: UInt8.self).baseAddress, 0, QR_ECLEVEL_L)
        }
        guard let code else {
            throw DaemonError(
                message: text.count == 0
                    ? "an empty text makes no QR code"
                    : "the text is too long for a QR code, which holds 2,953 bytes: choose a line of it")
        }
        let width = Int(code.pointee.width)
        defer {
            // The library frees it as it is.
            explicit_bzero(code.pointee.data, width * width)
            QRcode_free(code)
        }
        // A light module is drawn, a dark one is the background; what lies outside is light.
        func isLight(_ column: Int, _ row: Int) -> Bool {
            guard (0..<width).contains(column), (0..<width).contains(row) else { return true }
            return code.pointee.data[row * width + column] & 1 == 0
        }
        do throws(Errno) {
            var drawing = SecretBuffer()
            for row in stride(from: -margin, to: width + margin, by: 2) {
                if coloured { try add("\u{1B}[38;5;231;48;5;16m", to: &drawing) }
                for column in -margin..<(width + margin) {
                    let isLower = row + 1 < width + margin && isLight(column, row + 1)
                    switch (isLight(column, row), isLower) {
                    case (true, true): try add("█", to: &drawing)
                    case (true, false): try add("▀", to: &drawing)
                    case (false, true): try add("▄", to: &drawing)
                    case (false, false): try add(" ", to: &drawing)
                    }
                }
                try add(coloured ? "\u{1B}[0m\n" : "\n", to: &drawing)
            }
            return drawing.freeze()
        } catch {
            throw DaemonError(message: "cannot draw the QR code: \(error)")
        }
    }

    private static func add(_ part: StaticString, to drawing: inout SecretBuffer) throws(Errno) {
        let bytes = UnsafeRawBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount)
        try drawing.write(bytes, at: drawing.count)
    }
}
