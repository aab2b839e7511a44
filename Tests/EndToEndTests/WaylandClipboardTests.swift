import Glibc
import SystemPackage
import TestKit
import Testing

/// A secret on the clipboard of a Wayland compositor without a screen.
@Suite struct WaylandClipboardTests {
    /// Holds:
    /// - A secret is copied, and what was there before is back when its time is over, or nothing is; what was copied since stays.
    /// - wl-copy leaves no file in /tmp meanwhile.
    @Test func aSecretLeavesTheClipboard() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("one", "MARKER\n")
            try home.addStores([store])
            let display = try Compositor(home)
            defer { display.end(home) }
            func paste() throws -> String {
                try home.run(["wl-paste", "--no-newline"], extra: display.variables).output
            }
            func put(_ text: String) throws {
                try home.succeed(
                    ["wl-copy", "--type", "text/plain"], input: Array(text.utf8), extra: display.variables)
            }
            func show(_ time: String) throws {
                try home.succeed(
                    ["passdir", "show", "--clip", "--for", time, "one"], extra: display.variables)
            }
            try show("1s")
            #expect(try home.run(["sh", "-c", "grep -rl MARKER /tmp/wl-copy-buffer-*"]).output.isEmpty)
            #expect(try paste() == "MARKER")
            try home.waitUntil("nothing is there") { try paste().isEmpty }
            try put("before")
            try show("1s")
            #expect(try paste() == "MARKER")
            try home.waitUntil("it is as before") { try paste() == "before" }
            try show("1s")
            try put("since")
            usleep(2_000_000)
            #expect(try paste() == "since")
        }
    }

    /// sway without a screen. It refuses to run as root, so that there it is another user's; and its socket must not be in /tmp,
    /// of which wl-copy gets another one.
    private struct Compositor {
        let variables: [String: String]
        private let program: Program
        private let folder: FilePath

        init(_ home: TestHome) throws {
            var template = Array("/var/tmp/pd-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
            folder = template.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
            try FileCalls.save(Array("xwayland disable\n".utf8), to: folder.appending("config"))
            let isRoot = geteuid() == 0
            if isRoot {
                for path in [folder, folder.appending("config")] { chown(path.string, 65534, 65534) }
            }
            let user = isRoot ? ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] : []
            program = try home.start(
                user + ["sway", "-c", folder.appending("config").string], in: folder,
                extra: [
                    "HOME": folder.string, "XDG_RUNTIME_DIR": folder.string, "WLR_BACKENDS": "headless",
                    "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
                ])
            let socket = folder.appending("wayland-1")
            variables = ["WAYLAND_DISPLAY": socket.string]
            try home.waitUntil("the compositor is there") { FileCalls.exists(socket) }
            guard isRoot else { return }
            // In a namespace of its own, root is no more than the owner of its files.
            chmod(folder.string, 0o711)
            chmod(socket.string, 0o777)
        }

        func end(_ home: TestHome) {
            program.signal(SIGTERM)
            _ = try? program.wait(limit: .seconds(10))
            _ = try? home.run(["rm", "-rf", folder.string])
        }
    }
}
