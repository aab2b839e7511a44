import SystemPackage
import TestKit
import Testing

/// Symbolic links that others push.
///
/// Holds:
/// - A symbolic link to a list of recipients or to a scratch name is shown and not followed: what is saved under a secret's name
///   becomes a secret.
@Suite struct PushedLinkTests {
    @Test(
        arguments: sampled([
            ".gpg-id", "./.gpg-id", "sub/.gpg-id", "sub/../.gpg-id", "sub//.gpg-id", ".gpg-id.gpg",
            ".gpg-id.sig",
            "a~", "sub/a~", ".a.swp.gpg",
        ]))
    func aSaveThroughItStaysASecret(_ target: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.push("mkdir -p sub; cp .gpg-id sub; ln -s '\(target)' l; ln -s '\(target)' m.gpg")
            let lists = try home.succeed(["sh", "-c", "cat work/.gpg-id work/sub/.gpg-id"])
            let names = try home.succeed(["sh", "-c", "cd work && find . -name .git -prune -o -print | sort"])
            try home.mount()
            for link in ["l", "m"] {
                let path = home.path("mnt/work/\(link)").string
                #expect(try home.run(["sh", "-c", "ls mnt/work"]).output.contains("\(link)\n"))
                for words in [["cat", path], ["sh", "-c", "echo $EVE >'\(path)'"]] {
                    let refused = try home.run(words, extra: ["EVE": shared.eve.fingerprint])
                    #expect(refused.exitCode != 0, "\(words): \(refused.output)")
                }
            }
            #expect(try home.run(["sh", "-c", "cat mnt/work/l"]).errors.contains("Permission denied"))
            try home.unmount()
            #expect(try home.succeed(["sh", "-c", "cat work/.gpg-id work/sub/.gpg-id"]) == lists)
            let after = try home.succeed(["sh", "-c", "cd work && find . -name .git -prune -o -print | sort"])
            #expect(after == names)
        }
    }

    /// While a program writes below a folder, others push something else of its name: what is written keeps its path, and is
    /// there when the program has ended.
    @Test(.slow, arguments: ["ln -s team x", "cp a.gpg x"])
    func anOpenFileKeepsItsFolder(_ deed: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.push("mkdir -p x team; cp a.gpg x/b.gpg; cp a.gpg team/b.gpg")
            try home.mount()
            // The program waits for a line between the two that it writes.
            try home.succeed(["mkfifo", "go"])
            let writer = try home.start(["sh", "-c", "{ echo one; read line <go; echo two; } >mnt/work/x/b"])
            try home.succeed(["sh", "-c", "until [ -s mnt/work/x/b ]; do :; done"])
            try shared.push("rm -r x; \(deed)")
            let meanwhile = try home.run(["sh", "-c", "cat mnt/work/x"])
            #expect(
                meanwhile.errors.contains("busy") || meanwhile.errors.contains("Is a directory"),
                "\(meanwhile)")
            try home.succeed(["sh", "-c", "echo >go"])
            #expect(try writer.wait(limit: .seconds(60)).exitCode == 0)
            // There is no place for it on the disk until the user makes one.
            let status = try home.passdir("status").output
            #expect(status.contains("unsaved  x/b: "), "\(status)")
            try home.succeed(["sh", "-ec", "mv work/x work/y; mkdir work/x"])
            try home.unmount()
            #expect(try shared.store.show("x/b") == Array("one\ntwo\n".utf8))
        }
    }
}
