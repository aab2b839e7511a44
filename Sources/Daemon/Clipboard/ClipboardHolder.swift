import Glibc
import Settings
import System
import SystemPackage

/// The process that outlives the command: it has the secret in secret memory only, takes it from the clipboard when its time
/// is over, and puts back what was there before. Whatever somebody else has copied meanwhile stays.
public enum ClipboardHolder {
    /// A password, a key, a file of keys: no longer text is copied.
    private static let longest = 1 << 20

    /// Reads the secret from standard input, and returns when it is no longer on the clipboard.
    public static func run(
        seconds: Int, environment: [String: String], readiness: Readiness
    ) {
        do throws(DaemonError) {
            let end = Monitor(false)
            do throws(Errno) {
                try TerminationSignals.start { _ in
                    end.withLock { $0 = true }
                    end.broadcast()
                }
            } catch {
                throw DaemonError(message: "cannot catch signals: \(error)")
            }
            let secret = try read()
            let program = try ClipboardProgram(environment: environment)
            let turn = try Turn(environment: environment)
            let before = program.paste()
            try program.copy(secret)
            readiness.succeeded()
            let deadline = MonotonicTime(secondsFromNow: Double(seconds))
            end.waiting { isOver, timeIsOver in isOver || timeIsOver ? .done(()) : .wait(until: deadline) }
            if let now = program.paste(), now.isEqual(to: secret) {
                // The display may be gone, and the clipboard with it.
                if let before { try? program.copy(before) } else { try? program.clear() }
            }
            turn.end()
        } catch {
            readiness.failed(error.message)
        }
    }

    private static func read() throws(DaemonError) -> SecretBytes {
        do throws(Errno) {
            return try SecretBytes.all(of: STDIN_FILENO, atMost: longest)
        } catch {
            throw DaemonError(
                message: error == .fileTooLarge
                    ? "nothing was copied: the text is longer than 1 MiB" : "nothing was copied: \(error)")
        }
    }
}

/// One holder at a time: a second one has the first put back what was there before it, as pass does.
private struct Turn: ~Copyable {
    private let file: OwnedDescriptor

    init(environment: [String: String]) throws(DaemonError) {
        let folder = Directories(environment: environment).runtime
        do {
            try Directories.makePrivate(folder)
            let opened = try OwnedDescriptor(
                opening: folder.appending("clipboard"), O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            let end = ContinuousClock.now + .seconds(5)
            while (try? opened.lock()) == nil {
                guard ContinuousClock.now < end else {
                    throw DaemonError(
                        message: "nothing was copied: another passdir holds on to the clipboard")
                }
                // Whoever has it locked has written its number there, or is about to.
                lseek(opened.raw, 0, SEEK_SET)
                let text = String(decoding: try opened.readAll(atMost: 32), as: UTF8.self)
                if let holder = pid_t(text), Self.isHolder(holder) { kill(holder, SIGTERM) }
                PosixThread.sleep(for: .milliseconds(20))
            }
            ftruncate(opened.raw, 0)
            lseek(opened.raw, 0, SEEK_SET)
            try opened.writeAll(Array("\(getpid())".utf8))
            file = opened
        } catch let error as DaemonError {
            throw error
        } catch {
            throw DaemonError(message: "nothing was copied: \(folder) cannot be used: \(error)")
        }
    }

    /// Whether a process is one of these: a number that was written long ago may be another's by now.
    private static func isHolder(_ process: pid_t) -> Bool {
        guard process > 1, let words = ProcessFolder(process)?.bytes(of: "cmdline", atMost: 4096) else {
            return false
        }
        return words.split(separator: 0).contains { $0.elementsEqual(Clipboard.holderCommand.utf8) }
    }

    /// Lets the next one begin.
    consuming func end() {}
}
