import Glibc
import SystemPackage
import TestKit
import Testing

/// The heart of it: an adopted store, one cloned over SSH, one over HTTPS with a token, and two key pairs.
@Suite struct ThreeStoresTests {
    @Test(.slow) func threeStoresTwoKeys() throws {
        try TestHome.with { home in
            let servers = Servers(home)
            defer { try? servers.end() }
            let (ann, ben) = (try home.makeKey("ann@example.org"), try home.makeKey("ben@example.org"))
            let adopted = try home.makeStore("adopted", recipients: [ann], remote: true)
            let shell = try home.makeStore("shell", recipients: [ben], remote: true)
            let web = try home.makeStore("web", recipients: [ann], remote: true)
            for store in [adopted, shell, web] {
                try store.insert("mail/imap", "\(store.path.lastComponent?.string ?? "")'s")
                try store.git("push", "-q")
                try store.remoteGit("config", "http.receivepack", "true")
            }
            let ssh = try servers.startSSH()
            let https = try servers.startHTTPS()
            try home.addStores([adopted])
            let key = home.path("client").string
            // Before the server is known nothing is cloned, and what is said to do about that works.
            let place = ssh(home.path("shell.git"))
            let add = [
                "store", "add", "shell", "--url", place, "--ssh-key", key, "--authentication", "ssh-key",
            ]
            try home.succeed(["mv", ".ssh/known_hosts", "known"])
            var result = try home.run(["passdir"] + add)
            #expect(
                result.exitCode == 1 && result.errors.contains("passdir store trust-host '\(place)'"),
                "\(result.errors)")
            let print = try home.succeed(["ssh-keygen", "-l", "-f", "host.pub"])
            let words = String(decoding: print, as: UTF8.self).split(separator: " ")
            try home.succeed(["passdir", "store", "trust-host", place, "--fingerprint", String(words[1])])
            result = try home.run(["passdir"] + add)
            #expect(result.exitCode == 0, "\(result.errors)")
            // A wrong token leaves nothing; the right one comes in the URL, and is taken out of it.
            let url = https("web.git")
            result = try home.passdir(
                "store", "add", "web", "--url", url, "--user-name", "tester", "--password-stdin",
                input: Array("wrong".utf8))
            #expect(result.exitCode == 1, "\(result.errors)")
            #expect(try !home.text(of: "config/passdir/config").contains("web"))
            result = try home.passdir(
                "store", "add", "web", "--url", url.replacing("https://", with: "https://tester:token@"))
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try !home.text(of: "config/passdir/config").contains("token"))
            #expect(try home.text(of: "config/passdir/config").contains("url = \(url)"))
            #expect(try home.passdir("credential", "list", "web").output.contains("encrypted file"))
            // What a command commits by itself goes to the remote with the store's credential, too.
            result = try home.passdir("recipients", "set", "web", ann.fingerprint, ben.fingerprint, "--yes")
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try web.remoteGit("show", "main:.gpg-id").contains(ben.fingerprint), "\(result.output)")
            try home.mount()
            for name in ["adopted", "shell", "web"] {
                #expect(
                    try home.bytes(at: home.mountPoint.pushing(FilePath("\(name)/mail/imap")))
                        == Array("\(name)'s".utf8))
                try home.succeed(["sh", "-c", "printf 'new \(name)' > '\(home.mountPoint)/\(name)/added'"])
            }
            for store in [adopted, shell, web] {
                let name = store.path.lastComponent?.string ?? ""
                try home.waitUntil("the edit of \(name) is pushed", limit: .seconds(30)) {
                    try store.remoteGit("ls-tree", "-r", "--name-only", "main").contains("added.gpg")
                }
                #expect(try store.remoteGit("log", "-1", "--format=%s", "main").contains("added"))
            }
            #expect(!home.hasFile(with: Array("tester:token@".utf8)))
            // One is hidden, one is removed, while files of them are open.
            let open = try FileDescriptor.open(home.mountPoint.pushing("web/mail/imap"), .readOnly)
            try home.succeed(["passdir", "store", "hide", "shell"])
            try home.succeed(["passdir", "store", "remove", "web", "--yes"])
            #expect(try home.succeed(["ls", home.mountPoint.string]) == Array("adopted\n".utf8))
            var bytes = [UInt8](repeating: 0, count: 16)
            #expect(try bytes.withUnsafeMutableBytes { try open.read(into: $0) } == 5)
            try open.close()
            #expect(try home.passdir("credential", "list").output.isEmpty)
            try home.unmount()
            // Each is readable with its own key only.
            try home.succeed(["passdir", "store", "unhide", "shell"])
            try home.deleteKey(ben)
            try home.mount()
            #expect(try home.bytes(at: home.mountPoint.pushing("adopted/added")) == Array("new adopted".utf8))
            #expect(throws: (any Error).self) {
                _ = try home.bytes(at: home.mountPoint.pushing("shell/mail/imap"))
            }
            try home.unmount()
            try servers.end()
        }
    }

    /// `authentication` names the one way that is tried; without it everything that the user has is.
    @Test func onlyTheWayThatIsNamedIsOffered() throws {
        try TestHome.with { home in
            let servers = Servers(home)
            defer { try? servers.end() }
            let store = try home.makeStore(
                "web", recipients: [try home.makeKey("ann@example.org")], remote: true)
            try store.insert("mail", "secret")
            try store.git("push", "-q")
            try store.remoteGit("config", "http.receivepack", "true")
            let url = try servers.startHTTPS()("web.git")
            try home.write(
                "#!/bin/sh\necho asked >>~/asked\n[ $1 = get ] && echo username=tester && echo password=token\n",
                to: "helper", mode: .ownerReadWriteExecute)
            try home.succeed(["git", "config", "--global", "credential.helper", home.path("helper").string])
            try home.succeed(["passdir", "store", "add", "copy", "--url", url])
            for (method, works) in [("none", false), ("password", false), ("helper", true), ("", true)] {
                _ = try home.run(["rm", "-f", "asked"])
                try home.succeed(
                    ["passdir", "store", "set", "copy", "authentication"] + (method.isEmpty ? [] : [method]))
                try home.mount()
                try home.succeed(["ls", home.mountPoint.pushing("copy").string])
                let result = try home.passdir("sync", "copy")
                #expect((result.exitCode == 0) == works, "\(method): \(result.errors)")
                if !works { #expect(result.errors.contains("credentials"), "\(method): \(result.errors)") }
                #expect((access(home.path("asked").string, F_OK) == 0) == works, "\(method)")
                try home.unmount()
            }
            try servers.end()
        }
    }

    @Test(.slow) func twoPeopleShareAStore() throws {
        try TestHome.with { ann in
            try TestHome.with { ben in
                let annsKey = try ann.makeKey("ann@example.org")
                let bensKey = try ben.makeKey("ben@example.org")
                let exported = try ben.succeed(["gpg", "--batch", "--export", bensKey.fingerprint])
                try ann.succeed(["gpg", "--batch", "--import"], input: exported)
                try ben.succeed(
                    ["gpg", "--batch", "--import"],
                    input: try ann.succeed(["gpg", "--batch", "--export", annsKey.fingerprint]))
                for home in [ann, ben] { try home.write("trust-model always\n", to: "gnupg/gpg.conf") }
                let store = try ann.makeStore("team", recipients: [annsKey, bensKey], remote: true)
                try store.insert("door", "open sesame")
                try store.git("push", "-q")
                try ann.addStores([store])
                try ben.succeed(["passdir", "store", "add", "team", "--url", store.remote?.string ?? ""])
                for home in [ann, ben] {
                    try home.mount()
                    #expect(
                        try home.bytes(at: home.mountPoint.pushing("team/door")) == Array("open sesame".utf8))
                }
                for home in [ann, ben] { try home.unmount() }
            }
        }
    }
}
