import Glibc
import System
import SystemPackage

/// The programs by which the clipboard of this session is reached: those of Wayland where there is a display of it, else one
/// of X11's. What is copied reaches them through a pipe.
struct ClipboardProgram: Sendable {
    private enum Kind { case wayland, xclip, xsel }

    private let kind: Kind
    private let selection: String
    private let environment: [String: String]

    /// So much of what was on the clipboard before is put back.
    private static let mostKept = 1 << 20
    private static let patience = Duration.seconds(5)

    /// - Parameter environment: PASSWORD_STORE_X_SELECTION is heeded, as by pass.
    /// - Throws: one sentence where there is no display, or no program for it.
    init(environment: [String: String]) throws(DaemonError) {
        self.environment = environment
        let named = environment["PASSWORD_STORE_X_SELECTION"] ?? ""
        selection = named.isEmpty ? "clipboard" : named
        guard ["clipboard", "primary", "secondary"].contains(selection) else {
            throw DaemonError(
                message:
                    "PASSWORD_STORE_X_SELECTION is \"\(selection)\": it can be clipboard, primary or secondary"
            )
        }
        let path = environment["PATH"] ?? ""
        func isThere(_ program: String) -> Bool {
            path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
        }
        func isSet(_ variable: String) -> Bool { !(environment[variable] ?? "").isEmpty }
        let (isWayland, isX11) = (isSet("WAYLAND_DISPLAY"), isSet("DISPLAY"))
        if isWayland, isThere("wl-copy"), isThere("wl-paste") {
            kind = .wayland
        } else if isX11, isThere("xclip") {
            kind = .xclip
        } else if isX11, isThere("xsel") {
            kind = .xsel
        } else if isWayland || isX11 {
            throw DaemonError(
                message:
                    "nothing was copied: install \(isWayland ? "wl-clipboard" : "xclip or xsel"), by which the "
                    + "clipboard is reached")
        } else {
            throw DaemonError(
                message:
                    "nothing was copied: there is no clipboard here, as neither WAYLAND_DISPLAY nor DISPLAY is set"
            )
        }
    }

    private var copying: [String] {
        switch kind {
        case .wayland:
            (Self.hasTemporaryFilesInMemory ? [] : Self.withOwnTemporaryFolder)
                + ["wl-copy", "--type", "text/plain"] + (selection == "primary" ? ["--primary"] : [])
        case .xclip: ["xclip", "-selection", selection, "-in"]
        case .xsel: ["xsel", "--\(selection)", "--input"]
        }
    }

    /// wl-copy keeps what it serves in a file below /tmp, whatever TMPDIR says: it gets a /tmp of its own that is in memory, in a
    /// namespace of its own. Where the system allows no such, nothing is copied.
    private static let withOwnTemporaryFolder = [
        "unshare", "--map-root-user", "--mount", "sh", "-c",
        "mount -t tmpfs -o mode=700 tmpfs /tmp && exec \"$@\"", "sh",
    ]

    /// Whether /tmp is a tmpfs of its own; proc_pid_mountinfo(5).
    private static var hasTemporaryFilesInMemory: Bool {
        let table = ProcessFolder(getpid())?.bytes(of: "mountinfo", atMost: 4 << 20) ?? []
        let last = table.split(separator: UInt8(ascii: "\n")).map { $0.split(separator: UInt8(ascii: " ")) }
            .last { $0.count > 6 && $0[4].elementsEqual("/tmp".utf8) }
        guard let last, let dash = last.firstIndex(where: { $0.elementsEqual("-".utf8) }) else {
            return false
        }
        return last.indices.contains(dash + 1) && last[dash + 1].elementsEqual("tmpfs".utf8)
    }

    private var pasting: [String] {
        switch kind {
        case .wayland: ["wl-paste", "--no-newline"] + (selection == "primary" ? ["--primary"] : [])
        case .xclip: ["xclip", "-selection", selection, "-out"]
        case .xsel: ["xsel", "--\(selection)", "--output"]
        }
    }

    private var clearing: [String]? {
        switch kind {
        case .wayland: ["wl-copy", "--clear"] + (selection == "primary" ? ["--primary"] : [])
        case .xclip: nil
        case .xsel: ["xsel", "--\(selection)", "--clear"]
        }
    }

    /// - Throws: one sentence where the display does not answer.
    func check() throws(DaemonError) {
        let words: [String] =
            switch kind {
            case .wayland: ["wl-paste", "--list-types"]
            case .xclip: ["xclip", "-selection", selection, "-out", "-target", "TARGETS"]
            case .xsel: ["xsel", "--\(selection)", "--output"]
            }
        let outcome = try? ChildProcess.run(words, environment: environment, timeout: Self.patience) { _ in }
        // An empty clipboard is none that is out of reach, though the programs end with 1 there, too.
        let said = outcome?.errors.lowercased() ?? ""
        guard outcome == nil || outcome?.status == 124 || said.contains("display") || said.contains("connect")
        else { return }
        throw DaemonError(message: "nothing was done: \(words[0]) does not reach the display")
    }

    /// Puts a text on the clipboard. The program goes on in the background and serves it.
    func copy(_ text: SecretBytes) throws(DaemonError) {
        try text.withUnsafeBytes { (bytes) throws(DaemonError) in try run(copying, bytes) }
    }

    /// Takes away what is on the clipboard.
    func clear() throws(DaemonError) {
        try run(clearing ?? copying, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The text on the clipboard; nil where there is none, it is no text, or much longer than what anybody copies by hand.
    func paste() -> SecretBytes? {
        var buffer = SecretBuffer()
        var isWhole = true
        let outcome = try? ChildProcess.run(pasting, environment: environment, timeout: Self.patience) {
            piece in
            guard isWhole, buffer.count + piece.count <= Self.mostKept else { return isWhole = false }
            isWhole = (try? buffer.write(piece, at: buffer.count)) != nil
        }
        guard isWhole, outcome?.status == 0, buffer.count > 0 else { return nil }
        return buffer.freeze()
    }

    /// What serves the clipboard lives on, and must hold neither our output nor anything else that is open here.
    private func run(_ words: [String], _ input: UnsafeRawBufferPointer) throws(DaemonError) {
        let child: ChildProcess
        do throws(Errno) {
            let pipe = try Pipe()
            child = try ChildProcess(
                words, environment: environment, descriptors: [pipe.reading.raw, nil, nil], group: .newSession
            )
            let writing = pipe.takeWriting()
            do throws(Errno) { try writing.writeAll(input) } catch .brokenPipe {
                // How it ended tells more.
            }
        } catch {
            throw DaemonError(message: "cannot run \(words[0]): \(error)")
        }
        guard child.waitForEnd(atMost: Self.patience) else {
            child.kill()
            child.wait()
            throw DaemonError(
                message: "nothing was copied: \(words[0]) does not end; is the display reachable?")
        }
        let status = child.wait().status
        guard status == 0 else {
            if words.first == "unshare" {
                throw DaemonError(
                    message:
                        "nothing was copied: wl-copy would keep the secret in a file in /tmp, which is on a disk, and "
                        + "cannot be given another /tmp here; install xclip and unset WAYLAND_DISPLAY, or mount a tmpfs there"
                )
            }
            throw DaemonError(
                message:
                    "nothing was copied: \(words[0]) ended with status \(status); is the display reachable?")
        }
    }
}
