"""Names, folders, links and other files of stores. What is in a secret here matters less than where it lies."""

import dataclasses
import os
import socket

from entry import Entry, secret, write
from messages import TEXT, gpg, run, sealed

OTHERS = "Other files of the store, such as `.gitattributes`, are shown as they are and cannot be written: opening one for writing is EACCES."
SCRATCH = "A file of a name that an editor gives to files of its own (the table in `ScratchNames`, and the patterns of `mount.scratch`) lives in memory only"
LEADING_OUT = "a symbolic link leads out of its store"
UNFOLLOWED = "A symbolic link to a list of recipients or to a scratch name is shown and not followed"
BARE = "A symbolic link on disk whose name does not end with `.gpg` tells its target as it is"
UNSHOWN = "Pipes, sockets and devices that lie in a store are not shown."
LISTS = "`.gpg-id` is shown as it is and can be written: saving it encrypts what is below to the keys that it names"
TOO_LONG = "A name has up to 251 bytes, as `.gpg` is added to it on disk; a longer one is ENAMETOOLONG."
LONG = "rsync(1) writes under a longer name first: for a secret's name of more than 243 bytes it needs `--inplace`."

# Names that any disk takes.
NAMES = {
    "newline": b"new\nline", "two newlines": b"\n\n", "tab": b"tab\there", "carriage return": b"cr\r",
    "escape": b"\x1b[31mred\x1b[0m", "bell": b"\x07", "delete": b"\x7f", "one control byte": b"\x01",
    "space": b" ", "leading space": b" x", "spaces": b"a  b", "trailing space": b"x ", "trailing dot": b"x.",
    "three dots": b"...", "leading dots": b"..x", "leading dot": b".hidden", "dash": b"-", "option": b"-rf",
    "long option": b"--help", "two dashes": b"--", "star": b"*", "question mark": b"?", "brackets": b"[a-z]",
    "backslash": b"back\\slash", "quotes": b"'\"`", "dollar": b"$(id)", "semicolon": b"a;b", "pipe": b"a|b", "ampersand": b"&",
    "percent": b"%s%n", "hash": b"#", "at": b"user@example.org", "equals": b"a=b", "plus": b"+", "comma": b"a,b",
    "invalid UTF-8": b"\xff\xfe", "cut UTF-8": b"caf\xc3", "overlong UTF-8": b"\xc0\xaf", "surrogate": b"\xed\xa0\x80", "Latin-1": b"caf\xe9",
    "NFC": "Zürich".encode(), "NFD": "Zu\u0308rich".encode(), "emoji": "🔑".encode(), "right to left": "\u202egpj.exe".encode(),
    "byte order mark": "\ufeffx".encode(), "no-break space": "\u00a0".encode(), "Cyrillic": "пароль".encode(),
    "251 bytes": b"n" * 251, "251 bytes of UTF-8": "ü".encode() * 125 + b"x",
    "upper case": b"CASE", "lower case": b"case", "conflict name": b"x.conflict-host-20260101T000000Z",
    "bare suffix": b".gpg", "suffix twice": b"s.gpg", "suffix thrice": b"t.gpg.gpg", "upper suffix": b"x.GPG", "asc": b"x.asc",
    "gopass binary": b"x.b64", "tar": b"x.tar.gz", "README": b"README",
}
# Names that Windows or macOS would read as others.
ELSEWHERE = {
    "colon": b"https://example.org".replace(b"/", b"_"), "device": b"con", "device with an extension": b"aux.txt",
    "git's folder by its short name": b"git~1", "git's folder in capitals": b".GIT",
    "git's folder with an ignored letter": ".g\u200cit".encode(), "git's folder with a dot": b".git.",
}
EDITORS = {"backup": b"x~", "swap file": b".x.swp", "autosave": b"#x#"}


def names():
    """Secrets of strange names; all of one ciphertext."""
    ciphertext = gpg("-e", "-r", "a@example.org", data=TEXT)

    def copy(path):
        write(path, ciphertext)

    for what, name in NAMES.items():
        yield secret(f"name: {what}", b"n/" + name, copy, TEXT, LONG if what == "251 bytes" else "")
    for what, name in ELSEWHERE.items():
        yield secret(f"name: {what}", b"w/" + name, copy, TEXT)
    for what, name in EDITORS.items():
        yield secret(f"name: {what}", b"e/" + name, copy, TEXT, SCRATCH)
    yield secret("name: vim's probe", b"e/4913", copy, TEXT)
    yield secret("deep", b"/".join([b"d"] * 30 + [b"deep"]), copy, TEXT)
    yield secret("in a folder x.gpg/", "f/x.gpg/in", copy, TEXT)
    yield Entry("beside the folder x.gpg/", b"f/x.gpg.gpg", b"f/x.gpg.gpg", copy, TEXT)
    yield Entry("beside a folder of its name", b"f/y.gpg", b"f/y.gpg", copy, TEXT)
    yield secret("in the folder beside", "f/y/in", copy, TEXT)
    yield Entry("beside a file of its name", b"f/z.gpg", b"f/z.gpg", copy, TEXT)
    yield Entry("file beside a secret", b"f/z", b"f/z", lambda path: write(path, TEXT), TEXT, why=OTHERS)
    yield secret("in a folder of a long name", b"f/" + b"f" * 255 + b"/in", copy, TEXT, why=TOO_LONG)
    yield secret("mode 0644", "m/644", lambda path: (copy(path), os.chmod(path, 0o644)), TEXT)
    yield secret("mode 0400", "m/400", lambda path: (copy(path), os.chmod(path, 0o400)), TEXT)
    yield secret("mode 0755", "m/755", lambda path: (copy(path), os.chmod(path, 0o755)), TEXT)
    yield secret("of 1970", "m/old", lambda path: (copy(path), os.utime(path, ns=(1, 1))), TEXT)
    yield secret("of before 1970", "m/older", lambda path: (copy(path), os.utime(path, (-10**8, -10**8))), TEXT)
    yield secret("of 2100", "m/new", lambda path: (copy(path), os.utime(path, (4102444800, 4102444800))), TEXT)


def folders():
    """Folders with recipients of their own, repositories within, and the layout of gopass."""
    def ids(*recipients):
        return lambda path: write(path, "".join(f"{recipient}\n" for recipient in recipients).encode())

    def listed(what, name, make, content, why=""):
        return Entry(what, name, name, make, content, why=why)

    both = ["a@example.org", "foreign@example.org"]
    yield listed("recipients of a folder", b"r/both/.gpg-id", ids(*both), "".join(f"{r}\n" for r in both).encode())
    yield secret("in a folder for two", "r/both/in", sealed("-r", "foreign@example.org"), TEXT)
    yield listed("recipients without a key", b"r/lost/.gpg-id", ids("nobody@example.org"), b"nobody@example.org\n", LISTS)
    lost = secret("in a folder for nobody", "r/lost/in", sealed(), TEXT, "ENOKEY without a `.gpg-id` or for a recipient without a key")
    yield dataclasses.replace(lost, is_by_order=True)
    yield listed("recipients with comments", b"r/words/.gpg-id", ids("# us", "", "a@example.org # alice"), b"# us\n\na@example.org # alice\n")
    yield secret("in a folder with comments", "r/words/in", sealed(), TEXT)
    yield secret("in a nested repository", "s/nested/in", in_repository, TEXT)
    yield secret("in a worktree of another", "s/tree/in", beside_pointer, TEXT)
    for name, data in {
        ".public-keys/0xA": b"a key\n", ".gitattributes": b"*.gpg diff=gpg\n", ".gitignore": b"*.tmp\n", "notes.txt": b"plain\n",
        ".extensions/x.bash": b"#!/bin/bash\n", "empty.txt": b"", ".gopass/index": b"x\n", ".age-recipients": b"age1\n",
        "secret.age": b"age-encryption.org/v1\n", "script": b"#!/bin/sh\n",
    }.items():
        name = os.fsencode("g/" + name)
        yield Entry("other file", name, name, lambda path, data=data: (write(path, data), os.chmod(path, 0o755 if data[:2] == b"#!" else 0o644)), data, why=OTHERS)
    mime = b"GOPASS-SECRET-1.0\nPassword: hunter2\nUser: alice\n\nnotes\n"
    yaml = b"hunter2\n---\nuser: alice\nurl: https://example.org\n"
    binary = b"content-disposition: attachment; filename=\"x\"\ncontent-transfer-encoding: base64\n\nAAECAwQ=\n"
    for name, data in {"mime": mime, "yaml": yaml, "binary": binary, "websites/example.org/alice": yaml}.items():
        yield secret("gopass", "g/" + name, sealed("--compress-algo", "none", data=data), data)
    yield Entry("pipe", b"x/pipe.gpg", b"x/pipe", os.mkfifo, None, why=UNSHOWN)
    yield Entry("socket", b"x/socket.gpg", b"x/socket", make_socket, None, why=UNSHOWN)


def in_repository(path):
    folder = os.path.dirname(path)
    run(["git", "init", "-q", folder])
    sealed()(path)


def beside_pointer(path):
    write(os.path.join(os.path.dirname(path), b".git"), b"gitdir: /nowhere\n")
    sealed()(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/" + os.fsdecode(os.path.basename(path)))
        os.close(folder)


def links(store):
    """Links of every kind, made in the store as pass or a person does."""
    ciphertext = gpg("-e", "-r", "a@example.org", data=TEXT)
    yield secret("linked to", "l2/s", lambda path: write(path, ciphertext), TEXT)
    yield secret("linked to, in a folder", "l2/in/s", lambda path: write(path, ciphertext), TEXT)
    yield Entry("file linked to", b"l2/plain", b"l2/plain", lambda path: write(path, TEXT), TEXT, why=OTHERS)

    def link(what, name, to, shown, told, content=TEXT, why=""):
        return Entry(f"link {what}", b"l2/" + name, b"l2/" + shown, lambda path: os.symlink(to, path), content, told, why)

    yield link("to a secret", b"one.gpg", b"s.gpg", b"one", b"s")
    yield link("into a folder", b"in1.gpg", b"in/s.gpg", b"in1", b"in/s")
    yield link("from a folder", b"in/up.gpg", b"../s.gpg", b"in/up", b"../s")
    yield link("by way of the top", b"way.gpg", b"../l2/s.gpg", b"way", b"../l2/s")
    yield link("to a link", b"two.gpg", b"one.gpg", b"two", b"one")
    yield link("with ./", b"dot.gpg", b"./s.gpg", b"dot", b"./s")
    yield link("of a strange name", b"new\nline.gpg", b"s.gpg", b"new\nline", b"s")
    yield link("without suffix", b"bare", b"s.gpg", b"bare", b"s", why=BARE)
    yield link("to a name without suffix", b"short.gpg", b"s", b"short", b"s")
    yield link("to a folder", b"folder", b"in", b"folder", b"in", None)
    yield link("named as a secret to a folder", b"folder2.gpg", b"in", b"folder2", b"in", None)
    yield link("to nowhere", b"lost.gpg", b"nowhere.gpg", b"lost", b"nowhere", None)
    yield link("to itself", b"self.gpg", b"self.gpg", b"self", b"self", None)
    yield link("one of a loop", b"loop1.gpg", b"loop2.gpg", b"loop1", b"loop2", None)
    yield link("the other", b"loop2.gpg", b"loop1.gpg", b"loop2", b"loop1", None)
    yield link("to a plain file", b"plain2", b"plain", b"plain2", b"plain", TEXT, OTHERS)
    yield link("to a list of recipients", b"list", b"../.gpg-id", b"list", b"../.gpg-id", None, UNFOLLOWED)
    yield link("absolute, in the store", b"absolute.gpg", store + b"/l2/s.gpg", b"absolute", b"s", why=LEADING_OUT)
    yield link("absolute, out of it", b"out", b"/etc/hostname", b"out", b"/etc/hostname", None, LEADING_OUT)
    yield link("absolute, named as a secret", b"out2.gpg", b"/etc/hostname", b"out2", b"/etc/hostname", None, LEADING_OUT)
    yield link("up and out", b"up.gpg", b"../" * 20 + b"etc/hostname", b"up", b"../" * 20 + b"etc/hostname", None, LEADING_OUT)
    yield link("to git's folder", b"git", b"../.git", b"git", b"../.git", None, LEADING_OUT)
    yield Entry("hard link", b"l2/hard.gpg", b"l2/hard", lambda path: os.link(os.path.dirname(path) + b"/s.gpg", path), TEXT)
