import Glibc
import SystemPackage
import TestKit
import Testing

/// A command that is typed in a folder others pushed takes nothing from it.
@Suite struct WorkingDirectoryTests {
    /// git's credential helpers are asked for a clone: those of the user's configuration, not those of a repository that
    /// the working directory looks like.
    ///
    /// Holds:
    /// - A credential helper is never taken from the folder you stand in.
    @Test func aCredentialHelperIsTheUsers() throws {
        try TestHome.with { home in
            try home.write(
                """
                import http.server, sys
                class Refusing(http.server.BaseHTTPRequestHandler):
                    def do_GET(self):
                        self.send_response(401)
                        self.send_header("WWW-Authenticate", "Basic realm=x")
                        self.send_header("Content-Length", "0")
                        self.end_headers()
                    def log_message(self, *words): pass
                server = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
                open("port.new", "w").write(str(server.server_port))
                import os; os.rename("port.new", "port")
                server.serve_forever()

                """, to: "server.py")
            let server = try home.start(["python3", "server.py"])
            defer {
                kill(server.pid, SIGKILL)
                _ = try? server.wait(limit: .seconds(10))
            }
            try home.waitUntil("the server listens") { access(home.path("port").string, F_OK) == 0 }
            let url = "http://127.0.0.1:\(try home.text(of: "port"))/x.git"
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    git init -q --bare pushed
                    git -C pushed config credential.helper '!echo theirs >> "$HOME/ran"; echo username=a; echo password=b; #'
                    git config --global credential.helper '!echo mine >> "$HOME/ran"; echo username=a; echo password=b; #'
                    """,
                ])
            let result = try home.run(
                ["passdir", "store", "add", "x", "--url", url, "--authentication", "helper"],
                in: home.path("pushed"))
            #expect(result.exitCode != 0, "\(result.errors)")
            let ran = try home.text(of: "ran")
            #expect(ran.contains("mine") && !ran.contains("theirs"), "\(ran)")
        }
    }
}

/// What a command means by STORE/PATH does not depend on names in the folder that you stand in.
@Suite struct WorkingFolderNameTests {
    /// Holds:
    /// - A command takes STORE/PATH for that store whatever others push into the folder you stand in; only a path that
    ///   begins with `./`, `../` or `/` is one of files.
    @Test(.slow) func aFolderNamedLikeTheStoreRedirectsNothing() throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.push(
                "mkdir -p work/sub; cp a.gpg work/a.gpg; echo $ANN >work/.gpg-id; echo $ANN >work/sub/.gpg-id"
            )
            try home.mount()
            let (top, list) = (home.mountPoint.appending("work"), "named in .gpg-id\n")
            for folder in [shared.store.path, top, home.mountPoint] {
                func show(_ words: String...) throws -> String {
                    let result = try home.run(["passdir"] + words, in: folder)
                    return result.output + result.errors
                }
                #expect(try show("recipients", "show", "work").hasPrefix("work: \(list)"), "\(folder)")
                #expect(
                    try show("recipients", "show", "work/sub").hasPrefix("work/sub: \(list)"), "\(folder)")
                #expect(try show("recipients", "check", "work").contains("3 secrets"), "\(folder)")
                #expect(try show("log", "work/work/a").contains("Change."), "\(folder)")
                #expect(!(try show("log", "work/a").contains("Change.")), "\(folder)")
            }
            func title(_ path: String) throws -> String {
                try home.run(["passdir", "recipients", "show", path], in: top).output
            }
            for (path, shown) in [
                ("./work", "work/work: named in work/.gpg-id"), ("work/work", "work/work: "),
                ("../work/work/sub", "work/work/sub: "), (".", "work: "), ("sub", "work/sub: "),
                (top.appending("work").string, "work/work: "),
            ] { #expect(try title(path).hasPrefix(shown), "\(path)") }
            #expect(try home.run(["passdir", "log", "./work/a"], in: top).output.contains("Change."))
            try home.unmount()
        }
    }
}
