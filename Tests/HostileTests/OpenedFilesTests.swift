import Glibc
import SystemPackage
import TestKit
import Testing

/// What the daemon and every program it starts open, as the kernel saw it.
@Suite(.enabled(if: getuid() == 0 && access("/usr/bin/strace", X_OK) == 0)) struct OpenedFilesTests {
    /// Each makes a home with a store `work` of its own, and one more that is beside, around or below repositories which
    /// are none of its; gives the git directories that nobody may open.
    static let scenes: [(name: String, script: String, isRefused: Bool)] = [
        (
            "a store in a dotfiles repository",
            "git init -q dotfiles; mkdir dotfiles/odd; cp work/.gpg-id work/known.gpg dotfiles/odd; ln -s dotfiles/odd odd",
            false
        ),
        (
            "a store whose parent is a repository with a remote",
            """
            git init -q --bare parent.git; git clone -q parent.git parent; git init -q parent/odd
            cp work/.gpg-id work/known.gpg parent/odd; ln -s parent/odd odd
            """, false
        ),
        (
            "a source tree with a stray .gpg file",
            "mkdir odd; git init -q odd/app; cp work/known.gpg odd/app/stray.gpg; git init -q odd/lib", false
        ),
        (
            "a store with links to repositories",
            """
            mkdir odd; cp work/.gpg-id work/known.gpg odd; git init -q elsewhere; cp work/known.gpg elsewhere
            git -C elsewhere add .; git -C elsewhere commit -qm x
            ln -s ../elsewhere odd/linked; ln -s ../elsewhere/.git odd/mail; mkdir odd/sub; ln -s ../../elsewhere/.git odd/sub/.git
            cp work/known.gpg odd/sub
            """, false
        ),
        ("the system's folder", "ln -s /etc odd", true),
    ]

    /// Holds:
    /// - passdir opens no git directory but those of your stores.
    @Test(arguments: sampled(scenes.indices)) func noRepositoryOutsideTheStoreIsOpened(_ index: Int) throws {
        let scene = Self.scenes[index]
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("known", "1\n")
            try home.addStores([store])
            try home.succeed(["sh", "-ec", scene.script])
            let section = "\n[store \"odd\"]\n\tpath = \(home.path("odd"))\n[store \"etc\"]\n\tpath = /etc\n"
            try home.succeed(["sh", "-c", "printf '%s' \"$1\" >> config/passdir/config", "sh", section])
            let trace = home.path("trace").string
            let traced = try home.start([
                "strace", "-f", "-qq", "-o", trace, "-e", "trace=openat,open,openat2,chdir,execve", "-s",
                "4096",
                "passdir", "mount", home.mountPoint.string,
            ])
            try home.waitUntil("the traced daemon answers", limit: .seconds(60)) {
                try home.passdir("status").exitCode == 0
            }
            // Nothing is ever tried to be written in the system's folder.
            for name in scene.isRefused ? ["work"] : ["work", "odd"] {
                let visible = home.mountPoint.appending(name).string
                _ = try home.run([
                    "sh", "-c",
                    """
                    cd "$0" && cat known; echo new > new; echo 1 > linked/new; echo 2 > sub/new; echo 3 > app/new; ls -lR .
                    """, visible,
                ])
                _ = try home.passdir("sync", name)
            }
            try home.unmount(discardUnsaved: true)
            #expect(try traced.wait(limit: .seconds(120)).timedOut == false)
            // Its own remote is the store's, and so is what lies in its own `.git`.
            let allowed =
                [store.path.string + "/", home.path("work.git").string]
                + (scene.name.contains("parent") ? [home.path("parent/odd").string + "/"] : [])
            let opened = try home.text(of: "trace").split(separator: "\n").filter { line in
                guard let path = Self.path(in: line) else { return false }
                let isGits =
                    path.hasSuffix("/.git") || path.contains("/.git/") || path == ".git"
                    || path.hasPrefix(".git/") || path.hasSuffix(".git") || path.contains(".git/")
                return isGits && path.hasPrefix("/") && !allowed.contains { path.hasPrefix($0) }
            }
            #expect(opened == [], "\(scene.name)")
            #expect(try store.remoteGit("ls-tree", "--name-only", "main").contains("new.gpg"))
        }
    }

    /// The path that a traced call names; nil for a call that failed because there is nothing of the name.
    private static func path(in line: Substring) -> String? {
        guard !line.contains("ENOENT"), line.contains("open"),
            let start = line.firstIndex(of: "\""),
            let end = line[line.index(after: start)...].firstIndex(of: "\"")
        else { return nil }
        return String(line[line.index(after: start)..<end])
    }
}
