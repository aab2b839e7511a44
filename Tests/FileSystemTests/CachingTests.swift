import Dispatch
import Glibc
import SystemPackage
import TestKit
import Testing

/// The kernel keeps what it was told of names, attributes and sizes, and never what is no longer so.
@Suite struct CachingTests {
    private func size(_ path: FilePath) -> Int64? {
        var facts = stat()
        return path.withPlatformString { lstat($0, &facts) } == 0 ? Int64(facts.st_size) : nil
    }

    @Test func outsideChangesAreSeenWithinASecond() throws {
        try Mounted.with { mounted in
            let (store, folder) = (mounted.store, mounted.folder)
            try store.insert("d/a", "one")
            try store.insert("b", "the other")
            let place = store.path
            for round in 0..<20 {
                // Known to the kernel, and kept.
                try mounted.bash("ls -lR >/dev/null; ls -lR >/dev/null")
                let file = folder.appending("d").appending("a")
                let old = try #require(size(file))
                // As git does: another file takes its place.
                try mounted.bash("cp \"$S/b.gpg\" \"$S/new\"; cp \"$S/d/a.gpg\" \"$S/other\"")
                rename(place.appending("new").string, place.pushing("d/a.gpg").string)
                rename(place.appending("other").string, place.appending("b.gpg").string)
                #expect(
                    mounted.within {
                        size(file)
                    } is: {
                        $0 == 12 - old
                    }, "round \(round)")
                #expect(try mounted.read("d/a").utf8.count == Int(12 - old))
                rename(place.pushing("d/a.gpg").string, place.pushing("d/c.gpg").string)
                #expect(
                    mounted.within {
                        size(file)
                    } is: {
                        $0 == nil
                    })
                #expect(size(folder.pushing("d/c")) == 12 - old, "what was not there is looked for")
                #expect(try mounted.names(in: "d") == ["c"])
                rename(place.appending("d").string, place.appending("e").string)
                #expect(
                    mounted.within {
                        size(folder.pushing("d/c"))
                    } is: {
                        $0 == nil
                    })
                #expect(size(folder.pushing("e/c")) == 12 - old)
                rename(place.appending("e").string, place.appending("d").string)
                rename(place.pushing("d/c.gpg").string, place.pushing("d/a.gpg").string)
            }
        }
    }

    /// Names and attributes come from the kernel: the daemon may stand still.
    @Test func whatIsKnownIsNotAskedForAgain() throws {
        try Mounted.with { mounted in
            for index in 0..<30 { try mounted.save("secret \(index)", to: "s\(index)") }
            try mounted.waitUntilCommitted()
            let daemon = try #require(mounted.home.daemons().first)
            // On a busy machine what is kept for less than a second may be gone before it is looked at.
            let isKept = try (0..<20).contains { _ in
                try mounted.bash("ls -l >/dev/null")
                let start = ContinuousClock.now
                kill(daemon, SIGSTOP)
                // A look that asks the daemon ends no sooner than this, and cannot be killed.
                let ended = DispatchSemaphore(value: 0)
                Thread.start {
                    _ = ended.wait(timeout: .now() + .seconds(2))
                    kill(daemon, SIGCONT)
                }
                defer { ended.signal() }
                let sizes = (0..<30).map { size(mounted.folder.appending("s\($0)")) }
                return sizes.allSatisfy { $0 != nil } && ContinuousClock.now - start < .seconds(1)
            }
            #expect(isKept)
        }
    }

    /// Holds:
    /// - What is changed through the mount is seen by the next look.
    @Test func whatIsDoneThroughTheMountIsSeenAtOnce() throws {
        try Mounted.with { mounted in
            try mounted.bash(
                """
                for i in $(seq 1 40); do
                    mkdir d$i; ls -lR >/dev/null
                    printf %0${i}d 0 >d$i/f; ls -lR >/dev/null
                    [ "$(stat -c %s d$i/f)" = $i ]
                    printf more >>d$i/f; [ "$(stat -c %s d$i/f)" = $((i + 4)) ]
                    before=$(stat -c %.9Y d$i)
                    mv d$i/f d$i/g; [ ! -e d$i/f ]; [ "$(ls d$i)" = g ]
                    [ "$(stat -c %.9Y d$i)" != "$before" ]
                    cd d$i; [ "$(pwd -P)" = "$(realpath .)" ]; rm g; [ -z "$(ls)" ]; cd ..
                    rmdir d$i; mkdir d$i; cd d$i; sleep 0.01; [ "$(/bin/pwd)" = "$(realpath .)" ]; cd ..
                    rmdir d$i; [ ! -e d$i ]
                done
                """)
        }
    }

    /// Holds:
    /// - What was read is kept in locked memory and in the kernel for `cache.time` after the last close (60 s; `0s`: not at
    ///   all), up to 4 MiB in the daemon: an open in that time decrypts nothing, as long as the ciphertext is the same file.
    @Test func whatWasReadIsNotDecryptedAgain() throws {
        try Mounted.with { mounted in
            for name in ["a", "b"] { try mounted.store.insert(name, "text of \(name)") }
            #expect(try mounted.read("a") == "text of a")
            let keys = mounted.home.path("gnupg/private-keys-v1.d").string
            try mounted.home.succeed(["mv", keys, keys + ".away"])
            try mounted.home.succeed(["gpgconf", "--kill", "gpg-agent"])
            #expect(try mounted.read("a") == "text of a")
            #expect(try mounted.run("cat b").errors.contains("denied"))
            // The same bytes in another file are not known to be the same.
            try mounted.bash("cp $S/a.gpg $S/new; mv $S/new $S/a.gpg")
            #expect(try mounted.run("cat a").errors.contains("denied"))
            // The agent has made a new folder.
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
            #expect(try mounted.read("a") == "text of a")
        }
        try Mounted.with(["cache.time": "0s"]) { mounted in
            try mounted.store.insert("a", "text")
            #expect(try mounted.read("a") == "text")
            let keys = mounted.home.path("gnupg/private-keys-v1.d").string
            try mounted.home.succeed(["mv", keys, keys + ".away"])
            try mounted.home.succeed(["gpgconf", "--kill", "gpg-agent"])
            #expect(try mounted.run("cat a").errors.contains("denied"))
            // The agent has made a new folder.
            try mounted.home.succeed(["rm", "-rf", keys])
            try mounted.home.succeed(["mv", keys + ".away", keys])
        }
    }

    /// A mapping and sendfile(2) get the content of now once the file is opened anew.
    @Test func mappingsAndCopiesFollowOutsideChanges() throws {
        try Mounted.with { mounted in
            let script = """
                import mmap, os, subprocess, sys, shutil
                store = os.environ["S"]
                def insert(text):
                    subprocess.run(["pass", "insert", "-m", "a"], input=text.encode(), check=True, stdout=subprocess.DEVNULL,
                        env=dict(os.environ, PASSWORD_STORE_DIR=store))
                def look():
                    with open("a", "rb") as file:
                        size = os.fstat(file.fileno()).st_size
                        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapping: mapped = bytes(mapping)
                        read, write = os.pipe()
                        sent = os.sendfile(write, file.fileno(), 0, 65536)
                        copied = os.read(read, 65536)
                        os.close(read); os.close(write)
                    assert mapped == copied and size == len(mapped) == sent, (mapped, copied, size)
                    return mapped.decode()
                insert("first")
                old = open("a", "rb")
                kept = mmap.mmap(old.fileno(), 0, prot=mmap.PROT_READ)
                for text in ["first", "second", "third, longer", "x" * 9000, "x" * 8999 + "y", ""]:
                    insert(text)
                    if text: assert look() == text, text
                    else: assert open("a").read() == ""
                assert bytes(kept) == b"first" and old.read() == b"first"
                """
            try mounted.home.succeed(["cp", "/dev/stdin", "disk/look.py"], input: Array(script.utf8))
            try mounted.bash("python3 \"$D/look.py\"")
        }
    }
}
