import Foundation
import SystemPackage
import TestKit
import Testing

/// Which program reads, where one process runs several.
@Suite struct AccessProgramTests {
    private static let python = """
        import os, sys
        way, path = sys.argv[1:]
        for _ in range(200):
            with open(path) as file: assert file.read() == "MARK\\n"
        # In the same process: its number and its beginning stay.
        if way == "exec": os.execv("/bin/cat", ["cat", path])
        # By vfork(2): the child has the memory of its parent, which keeps it when cat has its own.
        child = os.posix_spawn("/bin/cat", ["cat", path], os.environ,
                               file_actions=[(os.POSIX_SPAWN_OPEN, 7, path, os.O_RDONLY, 0)])
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """

    private struct Line: Decodable {
        var program: String
        var outcome: String
        var count: Int
    }

    /// Holds:
    /// - A program that another one becomes, or that it starts, is judged as what it is from its first read on, however soon that
    ///   comes after a read that was allowed.
    @Test(arguments: ["exec", "vfork"]) func whatAProgramBecomesIsJudged(_ way: String) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            try store.insert("key", "MARK\n")
            try home.addStores([store])
            let path = "import os; print(os.path.realpath('/proc/self/exe'), end='')"
            let python = String(decoding: try home.succeed(["python3", "-c", path]), as: UTF8.self)
            try home.succeed(["passdir", "access", "set", "work", "--allow", python])
            try home.succeed(["passdir", "access", "set", "work", "--deny"])
            try home.mount()
            let secret = home.visible("work/key").string
            let result = try home.run(["python3", "-c", Self.python, way, secret])
            #expect(result.exitCode == 1 && result.output == "", "\(result)")
            #expect(
                result.errors.contains("cat: ") && result.errors.contains("Permission denied"), "\(result)")
            let lines = try home.passdir("access", "log", "--json").output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            let allowed = lines.filter { $0.outcome == "allowed" }
            let denied = lines.filter { $0.outcome != "allowed" }
            #expect(allowed.allSatisfy { $0.program == python }, "\(lines)")
            // The child opens it once before it is cat.
            #expect(allowed.reduce(0) { $0 + $1.count } == (way == "vfork" ? 201 : 200), "\(lines)")
            #expect(denied.count == 1 && denied[0].program.hasSuffix("/cat"), "\(lines)")
            try home.unmount()
        }
    }
}
