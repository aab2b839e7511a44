import Settings
public import System
import SystemPackage

/// Puts a secret on the clipboard for a while. A process of ours outlives the command for that, and takes the secret away.
public enum Clipboard {
    /// The command that this program is started with to hold a secret; not for people.
    public static let holderCommand = "hold-clipboard"
    /// As pass's PASSWORD_STORE_CLIP_TIME.
    private static let usualSeconds = 45
    /// Nobody wants it for longer than a day.
    private static let mostSeconds = 86_400

    /// How long a secret stays: what was typed, as `45`, `45s` or `2m`; else PASSWORD_STORE_CLIP_TIME, else 45 s.
    /// - Throws: one sentence where that is no time.
    public static func seconds(
        _ typed: String?, environment: [String: String]
    ) throws(DaemonError) -> Int {
        let variable = environment["PASSWORD_STORE_CLIP_TIME"].flatMap { $0.isEmpty ? nil : $0 }
        guard let text = typed ?? variable else { return usualSeconds }
        let units = ["s": 1, "m": 60, "h": 3600]
        let unit = text.last.flatMap { units[String($0)] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard let number = Int(digits), number > 0, number <= mostSeconds / (unit ?? 1) else {
            let source = typed == nil ? "PASSWORD_STORE_CLIP_TIME is" : "--for was given"
            throw DaemonError(
                message: "\(source) \"\(text)\", but must be a time from 1s to 24h, such as 45s or 2m")
        }
        return number * (unit ?? 1)
    }

    /// Whether there is a clipboard and a program for it that reaches it.
    /// - Throws: one sentence where nothing could be copied.
    public static func check(environment: [String: String]) throws(DaemonError) {
        try ClipboardProgram(environment: environment).check()
    }

    /// Returns when the text is on the clipboard.
    /// - Throws: one sentence where it cannot get there.
    public static func copy(
        _ text: SecretBytes, seconds: Int, environment: [String: String]
    ) throws(DaemonError) {
        // Said by the command itself, and before anything is started.
        _ = try ClipboardProgram(environment: environment)
        do throws(Detached.Failure) {
            try Detached.start(
                arguments: [holderCommand, "--seconds", "\(seconds)"], environment: environment, logFile: nil,
                limit: .seconds(20), input: text, as: "the holder of the clipboard")
        } catch {
            throw DaemonError(message: error.message)
        }
    }
}
