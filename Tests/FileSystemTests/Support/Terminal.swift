import Glibc
import SystemPackage
import TestKit

/// A program in a terminal (tmux's), typed into as a person does.
struct Terminal {
    private let home: TestHome
    private let socket: String

    /// Starts a command line of the shell.
    init(_ home: TestHome, _ command: String, in folder: FilePath) throws {
        self.home = home
        socket = home.path("tmux").string
        try home.succeed(
            [
                "tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-s", "t", "-x", "100", "-y",
                "30", command,
            ],
            in: folder, extra: ["TERM": "xterm", "TMPDIR": home.path("disk").string])
    }

    /// Runs a program in a terminal and ends it afterwards.
    static func with(
        _ home: TestHome, _ command: String, in folder: FilePath, _ body: (Terminal) throws -> Void
    ) throws {
        let terminal = try Terminal(home, command, in: folder)
        defer {
            _ = try? home.run(["tmux", "-S", terminal.socket, "kill-server"])
            try? home.waitUntil("tmux has ended", limit: .seconds(5)) { try !terminal.isRunning() }
        }
        try body(terminal)
    }

    /// Types keys, by tmux's names.
    func type(_ keys: String...) throws {
        try home.succeed(["tmux", "-S", socket, "send-keys", "-t", "t"] + keys)
    }

    /// What the terminal shows.
    func screen() throws -> String {
        try home.run(["tmux", "-S", socket, "capture-pane", "-p", "-t", "t"]).output
    }

    /// Waits until the terminal shows a text.
    func wait(for text: String) throws {
        do {
            try home.waitUntil("the terminal shows '\(text)'") { try screen().contains(text) }
        } catch {
            throw TestFailure("\(error): \(try screen())")
        }
    }

    /// Waits until the program has ended.
    func waitForEnd() throws {
        do {
            try home.waitUntil("the program in the terminal has ended") { try !isRunning() }
        } catch {
            throw TestFailure("\(error): \(try screen())")
        }
    }

    private func isRunning() throws -> Bool {
        try home.run(["tmux", "-S", socket, "has-session", "-t", "t"]).exitCode == 0
    }
}
