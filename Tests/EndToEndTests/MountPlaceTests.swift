import Glibc
import SystemPackage
import TestKit
import Testing

/// Commands about the mount and places in it, typed where people type them.
@Suite struct MountPlaceTests {
    /// Nothing answers for the mount point of a daemon that was killed; `unmount` frees it, once.
    @Test func unmountFreesWhatAKilledDaemonLeft() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try store.insert("a", "text\n")
            try home.addStores([store])
            try home.configure(["mount.path": home.mountPoint.string])
            kill(try home.mount(), SIGKILL)
            try home.waitUntil("the mount is stale") {
                try home.run(["ls", home.mountPoint.string]).errors.contains("not connected")
            }
            for command in ["status", "sync"] {
                let said = try home.passdir(command)
                #expect(
                    said.exitCode == 1
                        && said.errors.hasPrefix(
                            "passdir: the daemon for \(home.mountPoint) exited without unmounting; 'passdir mount' "
                        ),
                    "\(said)")
            }
            let freed = try home.passdir("unmount", home.mountPoint.string)
            #expect(freed.exitCode == 0 && freed.errors.contains("had already exited"), "\(freed)")
            #expect(try home.run(["mountpoint", "-q", home.mountPoint.string]).exitCode != 0)
            let again = try home.passdir("unmount", home.mountPoint.string)
            #expect(again.exitCode == 1 && again.errors == "passdir: nothing is mounted\n", "\(again)")
        }
    }

    @Test func theMountIsKnownByALinkToIt() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key], git: false)])
            _ = try home.mount()
            for command in ["show", "log"] {
                let told = try home.run(["passdir", command, "\(home.mountPoint)/.passdir/first/work/x"])
                #expect(
                    told.exitCode != 0 && told.errors.contains("is a value that passdir shows"), "\(told)")
            }
            try home.succeed(["ln", "-s", home.mountPoint.string, "link"])
            try home.succeed(["ln", "-s", home.path("work").string, "other"])
            #expect(try home.run(["passdir", "unmount", home.path("other").string]).exitCode != 0)
            try home.succeed(["passdir", "unmount", home.path("link").string])
            try home.waitUntil("the daemon has ended") { home.daemons().isEmpty }
        }
    }

    /// The log says who ended a mount where it was not passdir.
    @Test func aMountThatIsEndedFromOutsideIsLogged() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key], git: false)])
            let sentence =
                "the mount at \(home.mountPoint) was ended from outside: passdir mount mounts it again"
            _ = try home.mount()
            try home.unmount()
            #expect(try !home.text(of: "state/passdir/log").contains("from outside"))
            _ = try home.mount()
            try home.succeed(["fusermount3", "-uz", home.mountPoint.string])
            try home.waitUntil("the daemon has ended") { home.daemons().isEmpty }
            #expect(try home.text(of: "state/passdir/log").contains(sentence))
        }
    }

    /// Holds:
    /// - Where XDG_RUNTIME_DIR is another one than where the stores were mounted, or none, commands say that they are mounted, and
    ///   what to set; so does `mount`, which mounts them nowhere else.
    @Test(.slow) func aMountOfAnotherSessionIsTold() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("a", "text\n")
            try home.addStores([store])
            try home.mount()
            try home.succeed(["mkdir", "-m", "700", home.path("other").string])
            let sentence =
                "your stores are mounted at \(home.mountPoint), by a daemon that is not found in this session: "
                + "export XDG_RUNTIME_DIR=\(home.path("run"))\n"
            for runtime in [home.path("other").string, ""] {
                for words in [["status"], ["lock"], ["unlock"], ["unmount"], ["edit", "a"]] {
                    let told = try home.run(
                        ["passdir"] + words, extra: ["XDG_RUNTIME_DIR": runtime, "EDITOR": "true"])
                    #expect(told.exitCode == 1 && told.errors.hasSuffix(sentence), "\(words): \(told)")
                }
                let elsewhere = home.path("elsewhere").string
                for words in [
                    [home.mountPoint.string], ["--foreground", home.mountPoint.string], [elsewhere],
                ] {
                    let told = try home.run(
                        ["passdir", "mount"] + words, extra: ["XDG_RUNTIME_DIR": runtime])
                    #expect(told.exitCode == 1 && told.errors == "passdir: " + sentence, "\(words): \(told)")
                }
            }
            try home.unmount()
            let none = try home.passdir("status", extra: ["XDG_RUNTIME_DIR": home.path("other").string])
            #expect(none.errors.contains("nothing is mounted"), "\(none)")
        }
    }

    /// A relative path below the mount is one; a store's name stays that everywhere.
    @Test(.slow) func namesAreFoundInTheMount() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.succeed(["mkdir", "-p", store.path.appending("sub").string])
            for name in ["a", "sub/b", "sub/work"] { try store.insert(name, "text\n") }
            try home.addStores([store])
            try home.mount()
            func log(_ place: String, in folder: String) throws -> ProgramResult {
                try home.run(["passdir", "log", place], in: home.visible(folder))
            }
            for (place, folder) in [
                ("a", "work"), ("b", "work/sub"), ("sub/b", "work"), ("work/a", "work/sub"),
            ] {
                let found = try log(place, in: folder)
                #expect(found.exitCode == 0 && !found.output.isEmpty, "\(place): \(found)")
            }
            let (named, whole) = (try log("work", in: "work/sub"), try log("work", in: ""))
            #expect(named.output == whole.output && !whole.output.isEmpty)
            // So is one in the store's own folder, and for the commands that list names.
            for place in ["a", "a.gpg", "./a"] {
                let found = try home.run(["passdir", "log", place], in: store.path)
                #expect(found.exitCode == 0 && !found.output.isEmpty, "\(place): \(found)")
            }
            let listed = try home.run(["passdir", "list", "sub"], in: home.visible("work"))
            #expect(listed.output == "work/sub/b\nwork/sub/work\n", "\(listed)")
            // The mount point holds all stores.
            let all = try home.succeed(["passdir", "list"])
            for (place, folder) in [(".", ""), (home.mountPoint.string, "work"), ("..", "work"), ("./", "")] {
                let listed = try home.run(["passdir", "list", place], in: home.visible(folder))
                #expect(listed.output == String(decoding: all, as: UTF8.self), "\(place): \(listed)")
            }
            for words in [["store", "show"], ["keys"]] {
                let named = try home.succeed(["passdir"] + words + ["work"])
                for (place, folder) in [(".", "work"), ("..", "work/sub")] {
                    let here = try home.run(["passdir"] + words + [place], in: home.visible(folder))
                    #expect(here.output == String(decoding: named, as: UTF8.self), "\(words): \(here)")
                }
                let here = try home.run(["passdir"] + words + ["."], in: home.visible("work/sub"))
                #expect(here.exitCode != 0 && here.errors.contains("needs a whole store: work"), "\(here)")
            }
            // Outside, a name alone is looked for in all stores.
            let anywhere = try home.run(["passdir", "log", "a"])
            #expect(anywhere.exitCode == 0 && !anywhere.output.isEmpty, "\(anywhere)")
            let missing = try home.run(["passdir", "log", "nowhere"])
            #expect(missing.exitCode == 1 && missing.errors.contains("nowhere"), "\(missing)")
            try home.unmount()
        }
    }

    /// What a sentence tells people to type can be typed, also where a store's name has a blank.
    @Test func namesInAdviceAreWords() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("we b", recipients: [key])])
            for setting in ["url", "branch", "path"] {
                let refused = try home.passdir("store", "set", "we b", setting, "x")
                #expect(refused.exitCode != 0 && refused.errors.contains(" 'we b' "), "\(refused)")
            }
        }
    }
}
