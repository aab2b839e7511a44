import Glibc
import SystemPackage
import TestKit
import Testing

/// A secret on the clipboard of X11, as `xclip` and `xsel` reach it, and of Wayland.
@Suite(.serialized) struct ClipboardTests {
    /// A display of its own, which ends with the test and takes along who serves its clipboard.
    private func onDisplay(_ body: (TestHome, _ display: [String: String]) throws -> Void) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "XK7-MARKER\nsecond\n")
            try home.addStores([store])
            let server = try home.start([
                "sh", "-c", "exec Xvfb -displayfd 3 -nolisten tcp -screen 0 64x64x8 3>display 2>/dev/null",
            ])
            defer {
                server.signal(SIGTERM)
                _ = try? server.wait(limit: .seconds(10))
            }
            try home.waitUntil("the display is there") {
                (try? home.text(of: "display").hasSuffix("\n")) == true
            }
            let display = [
                "DISPLAY": ":" + (try home.text(of: "display").split(separator: "\n").first ?? "")
            ]
            try body(home, display)
            try home.waitUntil("nobody holds a secret") {
                try home.run(["pgrep", "-f", "hold-clipboard.*\(home.folder)"]).exitCode == 1
            }
        }
    }

    private func pasted(_ home: TestHome, _ display: [String: String]) throws -> String {
        try home.run(["xclip", "-selection", "clipboard", "-o"], extra: display).output
    }

    private func put(_ text: String, _ home: TestHome, _ display: [String: String]) throws {
        try home.succeed(
            ["sh", "-c", "xclip -selection clipboard -i >/dev/null 2>&1"], input: Array(text.utf8),
            extra: display)
    }

    /// Holds:
    /// - A line is copied, and what was there before is back when its time is over; no argument and no variable of any process
    ///   ever holds it.
    @Test(.slow) func aSecretLeavesTheClipboard() throws {
        try onDisplay { home, display in
            try put("before", home, display)
            try home.succeed(["passdir", "show", "--clip", "--for", "5s", "one"], extra: display)
            #expect(try pasted(home, display) == "XK7-MARKER")
            // The pattern is not to be found itself.
            let search = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -a 'X[K]7-MARKER'"
            let found = try home.run(["sh", "-c", search])
            #expect(found.exitCode == 1, "\(found)")
            try home.waitUntil("it is as before") { try pasted(home, display) == "before" }
            try home.succeed(
                ["passdir", "show", "-c2", "one"], extra: display.with("PASSWORD_STORE_CLIP_TIME", "5"))
            #expect(try pasted(home, display) == "second")
            try home.waitUntil("it is as before again") { try pasted(home, display) == "before" }
        }
    }

    /// Holds:
    /// - What is chosen in a picker is copied.
    @Test(.slow) func whatIsChosenIsCopied() throws {
        try onDisplay { home, display in
            try put("before", home, display)
            let top = FilePath(#filePath).removingLastComponent().removingLastComponent()
            let script = top.removingLastComponent().pushing("share/pickers/passdir-fzf").string
            let choice = ["FZF_DEFAULT_OPTS": "--filter=one", "PASSWORD_STORE_CLIP_TIME": "5"]
            try home.succeed([script], extra: display.merging(choice) { $1 })
            #expect(try pasted(home, display) == "XK7-MARKER")
            let none = ["FZF_DEFAULT_OPTS": "--filter=none", "PASSWORD_STORE_CLIP_TIME": "5"]
            #expect(try home.run([script], extra: display.merging(none) { $1 }).exitCode == 1)
            try home.waitUntil("it is as before") { try pasted(home, display) == "before" }
        }
    }

    /// Holds:
    /// - What somebody copies meanwhile stays; a second secret does not become what was there before.
    @Test(.slow) func whatWasCopiedSinceStays() throws {
        try onDisplay { home, display in
            try put("before", home, display)
            try home.succeed(["passdir", "show", "--clip", "--for", "1s", "one"], extra: display)
            try put("since", home, display)
            usleep(2_000_000)
            #expect(try pasted(home, display) == "since")
            try home.succeed(["passdir", "show", "-c", "--for", "60s", "one"], extra: display)
            try home.succeed(["passdir", "show", "-c2", "--for", "1s", "one"], extra: display)
            #expect(try pasted(home, display) == "second")
            try home.waitUntil("it is as before") { try pasted(home, display) == "since" }
        }
    }

    /// Holds:
    /// - Without a display, or a program for it, one sentence says so, and nothing is left running.
    ///
    /// Nor is anything decrypted for it, or noted as read.
    @Test func withoutAClipboardItIsSaid() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "MARKER\n")
            try home.addStores([store])
            try home.configure(["access.log": "true"])
            func said(
                _ extra: [String: String], _ words: String..., status: Int32 = 1
            ) throws -> String {
                let done = try home.run(["passdir", "show", "--clip", "one"] + words, extra: extra)
                #expect(done.exitCode == status && done.output.isEmpty, "\(done)")
                return done.errors
            }
            #expect(try said([:]).contains("neither WAYLAND_DISPLAY nor DISPLAY is set"))
            #expect(try said(["DISPLAY": ":4711"]).contains("does not reach the display"))
            #expect(
                try said(["DISPLAY": ":1", "PASSWORD_STORE_CLIP_TIME": "soon"]).contains("must be a time"))
            #expect(try said(["DISPLAY": ":1"], "--for", "0", status: 64).contains("45s or 2m"))
            let log = ["passdir", "access", "log", "--json"]
            #expect(try !home.run(log).output.contains("one"))
            try home.succeed(["passdir", "show", "one"])
            #expect(try home.run(log).output.contains("one"), "the log is on")
        }
    }
}

extension [String: String] {
    fileprivate func with(_ name: String, _ value: String) -> [String: String] {
        merging([name: value]) { $1 }
    }
}
