import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

/// URLs that make git or ssh run something, or that a program of git's would take for something else.
@Suite struct RemoteURLTests {
    static let refused = [
        "", "-", "--upload-pack=touch ran", "ext::sh -c touch% ran", "ext::touch", "EXT::touch ran", "fd::3",
        "x::y",
        "http::http://127.0.0.1/x", "ext://x/y", "gopher://h/x", "javascript://h/x",
        "ssh://-oProxyCommand=touch ran/x", "ssh://-oProxyCommand=touch/x", "ssh://u@-oProxyCommand=touch/x",
        "ssh://-u@h/x", "-oProxyCommand=touch:x", "u@-oProxyCommand=touch:x", "-u@h:x", "h:-x", "git://-h/x",
        "https://h/x\nhost=evil", "https://h/x%0ahost=evil", "https://h%0A/x", "https://h%0d/x",
        "https://h/%00",
        "https://h\r/x", "https://u\u{1B}[31m@h/x", "https://h\u{202E}/x", "https://h\u{200B}/x",
        "https://h\u{2028}/x",
        "https:///x", "https://u@/x", "https://h:x/y", "https://h:80;id/y", "https://h\\@evil/x",
        "https://h;id/x",
        "https://h|id/x", "ssh://`id`/x", "ssh://$(id)/x", "$(id):x", ":x",
    ]

    @Test(arguments: refused)
    func isRefusedWithASentence(_ url: String) throws {
        #expect(RemoteURL.objection(to: url) != nil)
        #expect(RemoteURL(url) == nil)
    }

    @Test(arguments: [
        "https://h/x.git", "https://h:8443/x", "http://u@h/x", "https://u:p@h/x", "ssh://git@h:22/~/x.git",
        "git@h:x.git",
        "h:x", "git://h/x", "file:///srv/x.git", "/srv/x.git", "../x.git", "./-x", "https://[::1]:8080/x",
        "ssh://u@[::1]/x",
        "https://bücher.example/x", "https://h/a%20b", "https://10.0.0.1/x", "git+ssh://h/x",
        "https://h/x?y=z::w",
    ])
    func isAccepted(_ url: String) {
        #expect(RemoteURL.objection(to: url) == nil)
        #expect(RemoteURL(url) != nil)
    }

    /// Wherever a URL comes from: an argument, the configuration of a repository; whatever the configuration allows.
    ///
    /// Holds:
    /// - No remote's URL starts a program.
    @Test func noProgramIsStartedForOne() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("one", recipients: [key], remote: true)
            try home.addStores([store])
            try store.git("config", "protocol.allow", "always")
            try store.git("config", "protocol.ext.allow", "always")
            let ran = home.path("ran")
            let attacks = [
                "ext::touch \(ran)", "ext::sh -c touch% \(ran)", "ssh://-oProxyCommand=touch%20\(ran)/x",
            ]
            for attack in attacks {
                let added = try home.passdir("store", "add", "two", "--url", attack)
                #expect(added.exitCode == 64 && !added.errors.isEmpty, "\(attack): \(added)")
            }
            for transport in ["auto", "libgit2", "git"] {
                try home.succeed([
                    "git", "config", "-f", "config/passdir/config", "store.one.transport", transport,
                ])
                for attack in attacks {
                    try store.git("config", "remote.origin.url", attack)
                    _ = try home.mount()
                    let result = try home.passdir("sync", "one")
                    #expect(result.exitCode == 1, "\(transport) \(attack)")
                    #expect(result.errors.contains("because"), "\(transport) \(attack): \(result.errors)")
                    #expect(try home.passdir("store", "trust-host", "one").exitCode == 1)
                    try home.unmount()
                }
                // What the user lets git put in its place.
                try store.git("config", "remote.origin.url", "https://h/x")
                try store.git("config", "url.ext::touch \(ran) .insteadOf", "https://h/")
                _ = try home.mount()
                #expect(try home.passdir("sync", "one").exitCode == 1)
                try home.unmount()
                try store.git("config", "--unset", "url.ext::touch \(ran) .insteadOf")
            }
            #expect(access(ran.string, F_OK) != 0, "a URL ran a program")
        }
    }
}
