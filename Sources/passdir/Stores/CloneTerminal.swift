import Git
import Glibc
import OpenPGP
import Settings
import Stores
import System
import SystemPackage
import Synchronization

/// A clone as the user sees it: a bar, Ctrl-C, questions for credentials.
enum CloneTerminal {
    private static let isStopped = Atomic<Bool>(false)

    /// Runs a clone with a bar on a terminal; Ctrl-C stops it and leaves nothing. When the server wants credentials, and
    /// there is somebody to ask, it is tried again with what they say.
    static func run(
        _ wish: CloneWish,
        _ clone: (CloneWish, (TransferProgress) -> Bool) throws(LifecycleError) ->
            StoreAdministration.CloneReport
    ) throws(LifecycleError) -> StoreAdministration.CloneReport {
        catchInterrupt()
        var wish = wish
        // What is said next, of an error too, begins a line.
        defer { clear() }
        for _ in 0..<3 {
            do throws(LifecycleError) {
                return try clone(wish, draw)
            } catch  where error.code == .authentication && Terminal.isThere && wish.url.isHTTP {
                clear()
                StandardError.print("passdir: \(error.message)")
                guard try ask(&wish) else { throw error }
            }
        }
        return try clone(wish, draw)
    }

    /// Asks for name and password; false when nothing was typed.
    private static func ask(_ wish: inout CloneWish) throws(LifecycleError) -> Bool {
        if wish.userName == nil {
            guard let name = Terminal.line("User name for \(wish.url.host): "), !name.isEmpty else {
                return false
            }
            wish.userName = name
        }
        do throws(Errno) {
            guard let secret = try Terminal.secret("Password or token for \(wish.url.host): "),
                secret.count > 0
            else {
                return false
            }
            wish.secrets[.password] = secret
            return true
        } catch {
            throw LifecycleError(.failed, "cannot read the password: \(error)")
        }
    }

    private static func clear() {
        if isatty(STDERR_FILENO) == 1 { StandardError.clearLine() }
    }

    private static func draw(_ progress: TransferProgress) -> Bool {
        if isatty(STDERR_FILENO) == 1 {
            let width = 24
            let full = progress.totalObjects > 0 ? width * progress.objects / progress.totalObjects : 0
            let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
            StandardError.redraw(
                "[\(bar)] \(progress.objects) of \(progress.totalObjects) objects, \(progress.bytes / 1024) KiB"
            )
        }
        return !isStopped.load(ordering: .relaxed)
    }

    private static func catchInterrupt() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in CloneTerminal.isStopped.store(true, ordering: .relaxed)
        }
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaction(signal, &action, nil) }
    }
}
