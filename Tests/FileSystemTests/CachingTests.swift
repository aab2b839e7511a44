import Dispatch
import Glibc
import SystemPackage
import TestKit
import Testing

/// The kernel goes on for a moment with what a listing told it, and never with what was changed through the mount.
@Suite struct CachingTests {
    /// The names are looked up from an open folder: those of the stores the kernel never keeps.
    private func size(_ name: String, in folder: CInt) -> Int64? {
        var facts = stat()
        return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? Int64(facts.st_size) : nil
    }

    /// Names and attributes come with the listing: the daemon may stand still.
    @Test(.slow) func whatWasListedIsNotAskedFor() throws {
        try Mounted.with { mounted in
            for index in 0..<30 { try mounted.save("secret \(index)", to: "s\(index)") }
            try mounted.waitUntilCommitted()
            let daemon = try #require(mounted.home.daemons().first)
            let stream = try #require(opendir(mounted.folder.string))
            defer { closedir(stream) }
            // On a busy machine what is kept for so short a time may be gone before it is looked at.
            let isKept = (0..<50).contains { _ in
                rewinddir(stream)
                while readdir(stream) != nil {}
                let start = ContinuousClock.now
                kill(daemon, SIGSTOP)
                // A look that asks the daemon ends no sooner than this, and cannot be killed.
                let ended = DispatchSemaphore(value: 0)
                Thread.start {
                    _ = ended.wait(timeout: .now() + .seconds(2))
                    kill(daemon, SIGCONT)
                }
                defer { ended.signal() }
                let sizes = (0..<30).map { size("s\($0)", in: dirfd(stream)) }
                return sizes.allSatisfy { $0 != nil } && ContinuousClock.now - start < .seconds(1)
            }
            #expect(isKept)
        }
    }

    /// Holds:
    /// - What is changed through the mount is seen by the next look.
    @Test(.slow) func whatIsDoneThroughTheMountIsSeenAtOnce() throws {
        try Mounted.with { mounted in
            try mounted.bash(
                """
                for i in $(seq 1 20); do
                    mkdir d$i; ls -lR >/dev/null
                    printf %0${i}d 0 >d$i/f; ls -lR >/dev/null
                    [ "$(stat -c %s d$i/f)" = $i ]
                    printf more >>d$i/f; [ "$(stat -c %s d$i/f)" = $((i + 4)) ]
                    before=$(stat -c %.9Y d$i)
                    ls -l d$i >/dev/null; mv d$i/f d$i/g; [ ! -e d$i/f ]; [ "$(ls d$i)" = g ]
                    [ "$(stat -c %.9Y d$i)" != "$before" ]
                    ls -l d$i >/dev/null; touch -d @$i d$i/g; [ "$(stat -c %Y d$i/g)" = $i ]
                    ls -l d$i >/dev/null; truncate -s 1 d$i/g; [ "$(stat -c %s d$i/g)" = 1 ]
                    ls -l d$i >/dev/null; echo other >d$i/h; mv d$i/h d$i/g; [ "$(cat d$i/g)" = other ]
                    ls -l d$i >/dev/null; mv d$i/g d$i/g~; [ "$(cat d$i/g~)" = other ]; [ ! -e d$i/g ]
                    mv d$i/g~ d$i/g
                    cd d$i; [ "$(pwd -P)" = "$(realpath .)" ]; ls -l >/dev/null; rm g; [ -z "$(ls)" ]; [ ! -e g ]; cd ..
                    rmdir d$i; mkdir d$i; cd d$i; [ "$(/bin/pwd)" = "$(realpath .)" ]; cd ..
                    rmdir d$i; [ ! -e d$i ]
                done
                """)
        }
    }

    /// A read ends where the kernel takes the file to end: that is not what a listing said of what lay there before.
    @Test func whatIsOpenedHasItsOwnSize() throws {
        try Mounted.with { mounted in
            try mounted.store.insert("t/long", String(repeating: "A", count: 3000))
            try mounted.store.insert("other", "ten bytes!")
            let script = """
                import os
                store, folder = os.environ["S"], "t"
                def look():
                    for entry in os.scandir(folder): entry.stat()
                def size(name):
                    with open(folder + "/" + name, "rb") as file: return len(file.read())
                secret, other, aside = store + "/t/long.gpg", store + "/other.gpg", store + "/aside"
                for _ in range(5):
                    open(store + "/t/plain", "w").write("short")
                    look()
                    open(store + "/new", "w").write("a much longer content")
                    os.rename(store + "/new", store + "/t/plain")
                    assert size("plain") == 21, size("plain")
                    # What is kept lies there again, and the listing told of another.
                    assert size("long") == 3000
                    os.rename(secret, aside); os.rename(other, secret)
                    look()
                    os.rename(secret, other); os.rename(aside, secret)
                    assert size("long") == 3000, size("long")
                """
            try mounted.home.succeed(["cp", "/dev/stdin", "disk/sizes.py"], input: Array(script.utf8))
            try mounted.bash("python3 \"$D/sizes.py\"")
        }
    }

    /// A mapping and sendfile(2) get the content of now once the file is opened again, listed or not.
    @Test func mappingsAndCopiesFollowOutsideChanges() throws {
        try Mounted.with { mounted in
            let script = """
                import mmap, os, subprocess
                store = os.environ["S"]
                def insert(text):
                    subprocess.run(["pass", "insert", "-m", "a"], input=text.encode(), check=True, stdout=subprocess.DEVNULL,
                        env=dict(os.environ, PASSWORD_STORE_DIR=store))
                    for entry in os.scandir("."): entry.stat()
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
