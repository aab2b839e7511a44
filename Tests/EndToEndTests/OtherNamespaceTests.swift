import Glibc
import SystemPackage
import TestKit
import Testing

/// A mount that another mount namespace, such as a container's, has a copy of.
@Suite struct OtherNamespaceTests {
    /// Holds:
    /// - What is unmounted is unmounted in other mount namespaces, too, such as that of a container that was started meanwhile.
    @Test func anUnmountedMountIsReadNowhereElse() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org")], git: false)
            try store.insert("site", "text\n")
            try home.addStores([store])
            try home.mount()
            let (secret, ready, read) = (home.visible("work/site"), home.path("ready"), home.path("read"))
            try home.succeed(["mkfifo", read.string])
            let script = """
                cat "$1"; : > "$2"; read _ < "$3"
                cat "$1"; echo $?
                """
            let unshare = ["unshare", geteuid() == 0 ? "-m" : "-rm", "--propagation", "private"]
            let other = try home.start(
                unshare + ["bash", "-c", script, "bash", secret.string, ready.string, read.string])
            try home.waitUntil("the other namespace") { access(ready.string, F_OK) == 0 || other.hasEnded }
            let unmounting = try home.run(["passdir", "unmount"])
            try home.succeed(["sh", "-c", "echo > \"$1\"", "sh", read.string])
            let told = try other.wait()
            #expect(unmounting.exitCode == 0, "\(unmounting.errors)")
            #expect(told.output == "text\n1\n", "\(told.output)")
            // It mounts again while the other namespace has its copy.
            try home.waitUntil("the daemon's end") { home.daemons().isEmpty }
        }
    }
}
