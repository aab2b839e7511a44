import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Access

/// How a reader that was looked at is known again without a look.
@Suite struct KnownReaderTests {
    /// A child of vfork(2) that waits for a pipe has the memory of its parent, whatever becomes of that.
    private static let program = """
        import os, sys
        print("ready", flush=True)
        sys.stdin.readline()
        if sys.argv[1] == "exec": os.execv("/bin/sleep", ["sleep", "60"])
        os.posix_spawn("/bin/true", ["true"], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 7, "pipe", os.O_RDONLY, 0)])
        """

    @Test(arguments: ["exec", "exit"]) func whoeverHasGoneIsNotThere(_ way: String) throws {
        try TestHome.with { home in
            try home.succeed(["mkfifo", "pipe"])
            let script =
                "mkfifo said in; python3 -c \"$0\" \(way) <in >said & exec 3>in; read x <said; echo $! >pid; wait"
            let shell = try home.start(["sh", "-c", script, Self.program])
            try home.waitUntil("it is ready") { (try? home.text(of: "pid"))?.hasSuffix("\n") == true }
            let process = try #require(pid_t(home.text(of: "pid").dropLast()))
            // A look would tell; a glance has to.
            let readers = KnownReaders(lookHolds: .max)
            let known = readers.find(process)
            #expect(known.isThereAtAGlance(within: .max) && known.isStillThere)
            #expect(readers.find(process) === known)
            try home.succeed(["sh", "-c", "echo go >in"])
            if way == "exec" {
                try home.waitUntil("it is another program") { !known.isStillThere }
            } else {
                try home.waitUntil("its child has its memory") {
                    try home.run(["pgrep", "-P", "\(process)"]).exitCode == 0
                }
                kill(process, SIGKILL)
                _ = try shell.wait(limit: .seconds(20))
                // What the memory alone says.
                #expect(known.isThereAtAGlance(within: .max))
            }
            #expect(readers.find(process) !== known)
            kill(process, SIGKILL)
            // Lets the child go on.
            let pipe = open(home.path("pipe").string, O_WRONLY | O_NONBLOCK)
            if pipe >= 0 { close(pipe) }
            if way == "exec" { _ = try shell.wait(limit: .seconds(20)) }
        }
    }
}
