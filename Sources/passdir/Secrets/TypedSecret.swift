import Daemon
import Glibc
import System
import SystemPackage

/// A secret that is typed or piped in.
enum TypedSecret {
    private static let longestLine = 1 << 20

    /// A password and the newline that pass ends it with. Where standard input is no terminal, its first line; a second one must
    /// be the same, as programs that feed pass write it twice.
    static func password(for name: String, isShown: Bool) throws -> SecretBytes {
        if isShown, Terminal.isThere { StandardError.ask("Password for \(name): ") }
        let typed =
            isShown || !Terminal.isThere ? try line() : try Terminal.secret("Password for \(name): ")
        guard let typed else { throw CommandFailure("nothing was changed: no password was entered") }
        if !isShown {
            let again =
                Terminal.isThere ? try Terminal.secret("Retype it: ") : try line()
            let isMissing = again == nil && !Terminal.isThere
            guard isMissing || again?.isEqual(to: typed) == true else {
                throw CommandFailure(
                    Terminal.isThere
                        ? "nothing was changed: the two passwords differ"
                        : "nothing was changed: there is a second line that differs from the first; --multiline "
                            + "takes all lines")
            }
        }
        return try typed.endingWithNewline()
    }

    /// All of standard input, byte for byte.
    static func all(for name: String, atMost limit: Int) throws -> SecretBytes {
        if Terminal.isThere {
            StandardError.print("Enter the text of \(name); Ctrl-D at the beginning of a line ends it:")
        }
        do throws(Errno) {
            return try Terminal.read(toLineEnd: false, atMost: limit)
                ?? SecretBuffer().freeze()
        } catch {
            guard error == .fileTooLarge else { throw error }
            throw CommandFailure(
                "nothing was changed: standard input is longer than limits.secret (\(limit) bytes) allows")
        }
    }

    /// An otpauth URI: an argument, what is typed or piped in, or the QR code of a picture that standard input is.
    static func oneTimeURI(
        _ argument: String?, for name: String, environment: [String: String]
    ) throws -> SecretBytes {
        if var argument {
            return try argument.withUTF8 { try SecretBytes(copying: UnsafeRawBufferPointer($0)) }
        }
        if let picture = QRCodePicture(standardInput: STDIN_FILENO) {
            return try picture.oneTimeURI(environment: environment)
        }
        let typed = Terminal.isThere ? try Terminal.secret("otpauth URI for \(name): ") : try line()
        guard let typed else { throw CommandFailure("nothing was changed: no URI was entered") }
        guard !QRCodePicture.begins(typed) else {
            throw CommandFailure("nothing was changed: a picture cannot be piped in; --image names its file")
        }
        return typed
    }

    private static func line() throws -> SecretBytes? {
        do throws(Errno) {
            return try Terminal.read(toLineEnd: true, atMost: longestLine)
        } catch {
            guard error == .fileTooLarge else { throw error }
            throw CommandFailure(
                "nothing was changed: the line is longer than 1 MiB; --multiline takes longer ones")
        }
    }
}
