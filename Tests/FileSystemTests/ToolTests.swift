import SystemPackage
import TestKit
import Testing

/// Real tools write and read secrets as they do files of any disk.
@Suite struct ToolTests {
    private static let edits = [
        SaveCase("sed -i", "sed -i s/one/uno/ f"),
        SaveCase("perl -i", "perl -i -pe s/one/uno/ f"),
        SaveCase(
            "patch",
            #"printf -- '--- f\n+++ f\n@@ -1,2 +1,2 @@\n-%s one\n+%s uno\n two\n' $MARK $MARK | patch -s f"#),
        SaveCase("rsync", "\(new); rsync -c $D/n f"),
        SaveCase("rsync --inplace", "\(new); rsync -c --inplace $D/n f"),
        SaveCase("cp", "\(new); cp $D/n f"),
        SaveCase("cp -a", "\(new); cp -a $D/n f"),
        SaveCase("cp --remove-destination", "\(new); cp --remove-destination $D/n f"),
        SaveCase("mv into the mount", "\(new); mv $D/n f"),
        SaveCase("install", "\(new); install -m 600 $D/n f"),
        SaveCase("tee", "\(new); tee f <$D/n >/dev/null"),
        SaveCase("a shell's redirection", "\(new); cat $D/n >f"),
        SaveCase("dd notrunc", "printf uno | dd of=f bs=1 seek=$((${#MARK} + 1)) conv=notrunc status=none"),
        SaveCase(
            "dd append", "echo three | dd of=f oflag=append conv=notrunc status=none",
            after: "one\ntwo\nthree\n"),
        SaveCase("a shell's >>", "echo three >>f", after: "one\ntwo\nthree\n"),
        SaveCase(
            "sort -o",
            #"printf '%s two\n%s one\n' $MARK $MARK | cat >f; sort -o f f; sed -i "2s/$MARK //" f"#,
            after: "one\ntwo\n"),
        SaveCase("truncate", "truncate -s $((${#MARK} + 4)) f", after: "one"),
        SaveCase(
            "tar out and in", "tar cf $D/t f; \(new); cp $D/n f; tar xf $D/t", after: "one\ntwo\n"),
        SaveCase("tar in", "\(new); cd $D; mv n f; tar cf t f; cd $M/e; tar xf $D/t"),
        SaveCase("unzip", "\(new); cd $D; mv n f; zip -q z.zip f; cd $M/e; unzip -qo $D/z.zip"),
        SaveCase(
            "git diff and apply",
            "\(new); (git diff --no-index f $D/n | sed \"s,b$D/n,b/f,\" >$D/p) || true; git apply $D/p"),
        SaveCase(
            "python, r+",
            python(
                "f = open('f', 'r+'); t = f.read(); f.seek(0); f.write(t.replace('one', 'uno')); f.close()")),
        SaveCase(
            "python, w",
            python("t = open('f').read(); f = open('f', 'w'); f.write(t.replace('one', 'uno')); f.close()")),
        SaveCase(
            "python, a", python("f = open('f', 'a'); f.write('three\\n'); f.close()"),
            after: "one\ntwo\nthree\n"),
        SaveCase(
            "python, tempfile and os.replace",
            python(
                "import os, tempfile; t = open('f').read(); n = tempfile.NamedTemporaryFile('w', dir='.', delete=False);"
                    + "n.write(t.replace('one', 'uno')); n.flush(); os.fsync(n.fileno()); n.close(); os.replace(n.name, 'f')"
            )),
        SaveCase(
            "python, mmap",
            python(
                "import mmap; f = open('f', 'r+b'); m = mmap.mmap(f.fileno(), 0); i = m.find(b'one'); m[i:i+3] = b'uno'; m.flush(); m.close(); f.close()"
            )),
    ]

    /// Puts the new content beside the mount.
    private static let new = #"printf '%s uno\ntwo\n' $MARK >$D/n"#

    private static func python(_ program: String) -> String {
        "/usr/bin/python3 -c \"\(program)\""
    }

    @Test(.slow) func toolsThatEdit() throws {
        try Mounted.with { mounted in
            for save in Self.edits { try mounted.check(save) }
            try mounted.checkNothingElse()
        }
    }

    private static let others = [
        SaveCase(
            "sed -i.bak", "sed -i.bak s/one/uno/ f", other: ("f.bak", "one\ntwo\n"),
            subjects: ["Change 2 secrets."]),
        SaveCase(
            "perl -i.bak", "perl -i.bak -pe s/one/uno/ f", other: ("f.bak", "one\ntwo\n"),
            subjects: ["Change 2 secrets."]),
        SaveCase("sed -i~", "sed -i~ s/one/uno/ f"),
        SaveCase("perl -i~", "perl -i~ -pe s/one/uno/ f"),
        SaveCase(
            "mv", "mv f g", after: nil, other: ("g", "one\ntwo\n"), subjects: ["Rename e/f to e/g."]),
        SaveCase(
            "cp in the mount", "cp f g", after: "one\ntwo\n", other: ("g", "one\ntwo\n"),
            subjects: ["Add given password for e/g to store."]),
        SaveCase(
            "cp --reflink=auto --sparse=always", "cp --sparse=always f g", after: "one\ntwo\n",
            other: ("g", "one\ntwo\n"), subjects: ["Add given password for e/g to store."]),
        SaveCase(
            "python, x", python("f = open('g', 'x'); f.write(open('f').read()); f.close()"),
            after: "one\ntwo\n",
            other: ("g", "one\ntwo\n"), subjects: ["Add given password for e/g to store."]),
        SaveCase(
            "mv out of the mount", "mv f $D/f; grep -q one $D/f", after: nil,
            subjects: ["Remove e/f from store."]),
        SaveCase("rm", "rm f", after: nil, subjects: ["Remove e/f from store."]),
        SaveCase(
            "shred", "shred -u f", after: nil, subjects: ["Remove e/f from store."]),
    ]

    @Test(.slow) func toolsThatMakeAndMove() throws {
        try Mounted.with { mounted in
            for save in Self.others { try mounted.check(save) }
            try mounted.checkNothingElse(names: ["e/f.gpg", "e/g.gpg", "e/f.bak.gpg"])
        }
    }

    @Test func toolsThatRead() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            let script = """
                fail() { echo "wrong: $*"; }
                cp f $D/f
                cmp f $D/f || fail cmp
                diff f $D/f || fail diff
                diff -r . $D || fail diff -r
                [ "$(git hash-object f)" = "$(git hash-object $D/f)" ] || fail git hash-object
                [ "$(sha256sum <f)" = "$(sha256sum <$D/f)" ] || fail sha256sum
                [ "$(file -b f)" = "$(file -b $D/f)" ] || fail file
                [ "$(less f | cat)" = "$(cat $D/f)" ] || fail less
                [ "$(tail -n 1 f)" = two ] || fail tail
                [ "$(head -c ${#MARK} f)" = $MARK ] || fail head
                [ "$(tac f | head -n 1)" = two ] || fail tac
                [ "$(wc -c <f)" = "$(wc -c <$D/f)" ] || fail wc
                [ "$(grep -rl two .)" = ./f ] || fail grep -r
                [ "$(find . -size "$(stat -c %s $D/f)c")" = ./f ] || fail find -size
                [ "$(du -b f | cut -f 1)" = "$(stat -c %s $D/f)" ] || fail du
                [ "$(stat -c '%s %a %h %F' f)" = "$(chmod 600 $D/f; stat -c '%s %a %h %F' $D/f)" ] || fail stat
                mkdir $D/r $D/t $D/z $D/c
                rsync -a --no-times ./ $D/r; cmp f $D/r/f || fail rsync
                tar c . | tar x -C $D/t; cmp f $D/t/f || fail tar
                zip -qr $D/z.zip .; unzip -q $D/z.zip -d $D/z; cmp f $D/z/f || fail zip
                cp -a . $D/c; cmp f $D/c/f || fail cp -a
                [ "$(rsync -ain . $D/c)" = "" ] || fail rsync -ain: "$(rsync -ain . $D/c)"
                """
            let result = try mounted.run("cd e; \(script)")
            let complaints = result.output + result.errors
            #expect(complaints == "")
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == [])
        }
    }

    /// A database under a name that is told to be scratch, its journal too: nothing of it reaches the disk.
    @Test(.slow) func aDatabaseInMemory() throws {
        try Mounted.with(["mount.scratch": "*.db *.db-*"]) { mounted in
            let start = try mounted.prepare()
            for mode in ["delete", "truncate", "persist", "memory", "wal"] {
                let output = try mounted.bash(
                    """
                    cd e; sqlite3 x.db "pragma journal_mode=\(mode); create table t(a); insert into t values('$MARK');
                    begin; update t set a = a || 1; commit; select count(*) from t; pragma integrity_check"
                    ls -A >$D/names; rm x.db*
                    """)
                #expect(output.hasSuffix("1\nok\n"), "\(mode): \(output)")
                #expect(try mounted.backingFiles() == ["e/f.gpg"])
            }
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == [])
            try mounted.checkNothingElse()
        }
    }

    /// A zip inside of the mount is a secret as any other; what zip makes meanwhile is not left.
    @Test(.slow) func aZipInTheMount() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            try mounted.bash("cd e; zip -q z.zip f; unzip -p z.zip f | cmp - f")
            try mounted.waitUntilCommitted()
            #expect(try mounted.subjects(since: start) == ["Add given password for e/z.zip to store."])
            try mounted.checkNothingElse(names: ["e/f.gpg", "e/z.zip.gpg"])
        }
    }
}
