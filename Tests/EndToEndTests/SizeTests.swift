import SystemPackage
import TestKit
import Testing

/// Programs that trust st_size see the right bytes of a secret that was never opened before, whoever encrypted it.
@Suite struct SizeTests {
    /// Around the steps of packet lengths (one byte to 191, two to 8383, partial ones in powers of two) less the
    /// bytes that wrap a plaintext.
    private static let sizes = [
        0, 1, 2, 43, 120, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 184, 185, 186, 191, 192, 193,
        460,
        512, 4096, 8336, 8337, 8338, 8339, 8340, 8341, 8342, 8343, 8377, 8383, 8384, 8385, 8192, 8193, 65_535,
        65_536, 70_000, 200_000,
    ]
    /// Enough for each tool: every decryption takes its time.
    private static let sizesForTools = [0, 1, 43, 191, 192, 512, 8383, 8384, 65_536, 200_000]
    /// How a secret came to be: the name of its folder, and the command that encrypts $IN to $OUT.
    private static let makers = [
        (
            "stdin",
            "gpg --batch -q --compress-algo=none --no-encrypt-to -r a@example.org -e <\"$IN\" >\"$OUT\""
        ),
        ("named", "gpg --batch -q --compress-algo=none -r a@example.org -o \"$OUT\" -e \"$IN\""),
        ("compressed", "gpg --batch -q -r a@example.org -o \"$OUT\" -e \"$IN\""),
        ("armored", "gpg --batch -q --compress-algo=none --armor -r a@example.org -o \"$OUT\" -e <\"$IN\""),
        (
            "several",
            "gpg --batch -q --compress-algo=none -r a@example.org -r rsa@example.org -o \"$OUT\" -e <\"$IN\""
        ),
        ("rsa", "gpg --batch -q --compress-algo=none -r rsa@example.org -o \"$OUT\" -e <\"$IN\""),
    ]

    /// The tools, each with how it shows a whole folder of secrets; each gets secrets that nothing has opened yet.
    /// $SEEN is the folder in the mount, $PLAIN the same in plaintext, $WORK an empty one.
    private static let tools = [
        (
            "wc",
            "cd \"$SEEN\"; for f in *; do test \"$(wc -c <$f)\" = \"$(wc -c <\"$PLAIN/$f\")\" || exit 1; done"
        ),
        ("cp", "cp -r \"$SEEN/.\" \"$WORK\" && diff -r \"$WORK\" \"$PLAIN\""),
        (
            "tar",
            "tar -C \"$SEEN\" -cf \"$WORK.tar\" . && tar -C \"$WORK\" -xf \"$WORK.tar\" && diff -r \"$WORK\" \"$PLAIN\""
        ),
        ("rsync", "rsync -r \"$SEEN/\" \"$WORK/\" && diff -r \"$WORK\" \"$PLAIN\""),
        ("cmp", "cd \"$SEEN\"; for f in *; do cmp $f \"$PLAIN/$f\" || exit 1; done"),
        (
            "git",
            "cd \"$SEEN\"; git hash-object * >\"$WORK/a\"; cd \"$PLAIN\"; git hash-object * | cmp - \"$WORK/a\""
        ),
        (
            "mmap",
            """
            python3 - "$SEEN" "$PLAIN" <<'END'
            import mmap, os, sys
            for name in os.listdir(sys.argv[2]):
                with open(sys.argv[1] + "/" + name, "rb") as file, open(sys.argv[2] + "/" + name, "rb") as plain:
                    wanted = plain.read()
                    size = os.fstat(file.fileno()).st_size
                    if size != len(wanted): sys.exit(f"{name}: {size}")
                    if size and mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:] != wanted: sys.exit(name)
            END
            """
        ),
    ]

    /// Holds:
    /// - open(2) for reading decrypts; from then on the size is right, so that programs that rely on it, and
    ///   those that map the file, see exactly the secret's bytes.
    @Test(.slow) func everyReaderSeesTheRightBytesOfASecretNeverOpened() throws {
        try TestHome.guarded(limit: .seconds(300)) { home in
            let store = try prepare(home, Self.sizesForTools, copies: Self.tools.map(\.0))
            try home.addStores([store])
            try home.mount()
            for (tool, script) in Self.tools {
                for (maker, _) in Self.makers {
                    let work = home.path("work-\(tool)-\(maker)")
                    try FileCalls.makeDirectory(work)
                    let result = try home.run(
                        ["bash", "-c", script],
                        extra: [
                            "SEEN": home.visible("work/\(tool)/\(maker)").string,
                            "PLAIN": home.path("plain").string, "WORK": work.string,
                        ], limit: .seconds(120))
                    #expect(result.exitCode == 0, "\(tool) on \(maker): \(result.output)\(result.errors)")
                }
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - The size of a secret that `pass insert` or `pass generate` has made is right before it is opened for the first time;
    ///   so is that of an armored one of up to 1 MiB.
    /// - A secret that gpg has compressed, signed or given a file name (as `pass edit` does), read as text lines, or encrypted
    ///   by a cipher of 8-byte blocks such as 3DES, may be shown with another size until it is opened for the first time; after
    ///   that its size is right, and is remembered across restarts.
    @Test(.slow) func sizesAreKnownBeforeTheFirstOpenOrRemembered() throws {
        try TestHome.guarded(limit: .seconds(300)) { home in
            let store = try prepare(home, Self.sizes, copies: ["copy"])
            for size in [0, 1, 43, 8384, 70_000] {
                try store.insert("pass/\(size)", try home.bytes(of: "plain/\(size)"))
            }
            try home.addStores([store])
            try home.mount()
            for size in [0, 1, 43, 8384, 70_000] {
                #expect(try FileCalls.size(home.visible("work/pass/\(size)")) == size, "made by pass")
            }
            for size in Self.sizes {
                for maker in ["stdin", "several", "rsa", "armored"] {
                    #expect(
                        try FileCalls.size(home.visible("work/copy/\(maker)/\(size)")) == size, "\(maker)")
                }
            }
            for (maker, _) in Self.makers {
                for size in Self.sizes {
                    let path = home.visible("work/copy/\(maker)/\(size)")
                    #expect(try FileCalls.read(path).count == size)
                    #expect(try FileCalls.size(path) == size, "\(maker), after it was open")
                }
            }
            try home.unmount()
            // Without the secret keys nothing could be opened now; what was learned is still known.
            try home.succeed(["mv", "gnupg/private-keys-v1.d", "gnupg/away"])
            try home.succeed(["gpgconf", "--homedir", home.path("gnupg").string, "--kill", "gpg-agent"])
            try home.mount()
            for (maker, _) in Self.makers {
                for size in Self.sizes {
                    let path = home.visible("work/copy/\(maker)/\(size)")
                    #expect(try FileCalls.size(path) == size, "\(maker), remembered")
                }
            }
            try home.unmount()
        }
    }

    /// As above: 1 MiB is that of the text, not of its armour.
    @Test(.slow) func theSizeOfALongArmoredSecretIsKnown() throws {
        try TestHome.guarded { home in
            let store = try prepare(home, [1 << 20], copies: ["copy"])
            try home.addStores([store])
            try home.mount()
            #expect(try FileCalls.size(home.visible("work/copy/armored/\(1 << 20)")) == 1 << 20)
            try home.unmount()
        }
    }

    /// A store without git: for each of `copies` a folder with every maker's secrets; `plain` in the home holds
    /// their contents.
    private func prepare(_ home: TestHome, _ sizes: [Int], copies: [String]) throws -> TestStore {
        let key = try home.makeKey("a@example.org")
        try home.succeed([
            "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
            "rsa <rsa@example.org>", "rsa2048", "default", "never",
        ])
        let rsa = String(
            decoding: try home.succeed(["gpg", "--batch", "--with-colons", "--list-keys", "rsa@example.org"]),
            as: UTF8.self)
        let print =
            rsa.split(separator: "\n").first { $0.hasPrefix("fpr:") }
            .map { String($0.split(separator: ":", omittingEmptySubsequences: false)[9]) } ?? ""
        try home.succeed([
            "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", print,
            "rsa2048",
            "encr", "never",
        ])
        let store = try home.makeStore("work", recipients: [key], git: false)
        try FileCalls.makeDirectory(home.path("plain"))
        for size in sizes {
            // Half of each is text that compresses well.
            let content = try FileCalls.randomBytes(size / 2) + Array(repeating: 0x61, count: size - size / 2)
            try FileCalls.save(content, to: home.path("plain/\(size)"))
        }
        var script = "set -e; cd \"$HOME/work\"\n"
        for (maker, command) in Self.makers {
            script += "mkdir -p made/\(maker); for s in \(sizes.map(String.init).joined(separator: " ")); do "
            script += "IN=$HOME/plain/$s OUT=made/\(maker)/$s.gpg; \(command); done\n"
        }
        for copy in copies { script += "cp -r made \(copy)\n" }
        script += "rm -r made\n"
        try home.succeed(["bash", "-c", script], limit: .seconds(120))
        return store
    }

    /// What the packets tell is looked for once, and kept by the identity of the ciphertext.
    @Test func aSizeIsLookedForOnce() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            try store.insert("s", "text\n")
            try home.addStores([store])
            try home.mount()
            #expect(try FileCalls.size(home.visible("work/s")) == 5)
            try home.unmount()
            let script = """
                import sqlite3, sys
                print(sqlite3.connect(sys.argv[1]).execute("SELECT plaintext FROM plaintextSize").fetchall())
                """
            let kept = try home.succeed([
                "python3", "-c", script, home.path("state/passdir/state.sqlite").string,
            ])
            #expect(String(decoding: kept, as: UTF8.self) == "[(5,)]\n")
        }
    }
}
