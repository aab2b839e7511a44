"""What a successful system call changes, of the file or folder that it is given and of the folder around it."""

import os
import stat

from calls import fallocate

WATCHED = {"mtime": "st_mtime_ns", "ctime": "st_ctime_ns", "size": "st_size", "links": "st_nlink", "number": "st_ino", "mode": "st_mode"}


def put(name, data=b"content"):
    with open(name, "wb") as file:
        file.write(data)


def wait_for_tick():
    """Until the file system gives a later time than now."""
    put("../tick")
    before = os.stat("../tick").st_ctime_ns
    while os.stat("../tick").st_ctime_ns == before:
        os.utime("../tick", ns=(1, 1))


def facts(name):
    try:
        found = os.lstat(name)
    except OSError:
        return None
    return {word: getattr(found, field) for word, field in WATCHED.items()}


def changes(before, after):
    if before is None or after is None:
        return "as it was" if before == after else "gone" if before else "made"
    # The size of a folder is what the file system likes.
    words = [word for word in WATCHED if before[word] != after[word] and (word != "size" or not stat.S_ISDIR(after["mode"]))]
    return " ".join(words) or "as it was"


def with_file(name, flags, act):
    file = os.open(name, flags, 0o600)
    try:
        return act(file)
    finally:
        os.close(file)


def write_at(flags, data, place=None):
    return lambda: with_file("f", flags, lambda file: os.write(file, data) if place is None else os.pwrite(file, data, place))


def mode_of(name):
    return stat.S_IMODE(os.lstat(name).st_mode)


# Beside the call, what it needs, and what is looked at: the folder is `.`.
EFFECTS = {
    "open CREAT": (None, lambda: with_file("new", os.O_WRONLY | os.O_CREAT, os.fsync), ["new", "."]),
    "open CREAT of a file": ("f", lambda: with_file("f", os.O_WRONLY | os.O_CREAT, id), ["f", "."]),
    "open TRUNC": ("f", lambda: with_file("f", os.O_WRONLY | os.O_TRUNC, id), ["f", "."]),
    "open RDONLY": ("f", lambda: with_file("f", os.O_RDONLY, id), ["f", "."]),
    "read": ("f", lambda: with_file("f", os.O_RDONLY, lambda file: os.read(file, 9)), ["f", "."]),
    "write": ("f", write_at(os.O_WRONLY, b"CONTENT"), ["f", "."]),
    "write longer": ("f", write_at(os.O_WRONLY, b"longer content"), ["f", "."]),
    "write APPEND": ("f", write_at(os.O_WRONLY | os.O_APPEND, b"more"), ["f", "."]),
    "write behind the end": ("f", write_at(os.O_WRONLY, b"more", 100), ["f", "."]),
    "write nothing": ("f", write_at(os.O_WRONLY, b""), ["f", "."]),
    "truncate shorter": ("f", lambda: os.truncate("f", 3), ["f", "."]),
    "truncate longer": ("f", lambda: os.truncate("f", 30), ["f", "."]),
    "truncate to its size": ("f", lambda: os.truncate("f", 7), ["f", "."]),
    "ftruncate": ("f", lambda: with_file("f", os.O_WRONLY, lambda file: os.ftruncate(file, 2)), ["f", "."]),
    "fallocate": ("f", lambda: with_file("f", os.O_WRONLY, lambda file: fallocate(file, 0, 0, 50)), ["f", "."]),
    "fsync": ("f", lambda: with_file("f", os.O_RDONLY, os.fsync), ["f", "."]),
    "mkdir": (None, lambda: os.mkdir("new"), ["new", "."]),
    "rmdir": ("d", lambda: os.rmdir("d"), ["d", "."]),
    "unlink": ("f", lambda: os.unlink("f"), ["f", "."]),
    "unlink of a link": ("fl", lambda: os.unlink("l"), ["f", "l", "."]),
    "symlink": ("f", lambda: os.symlink("f", "new"), ["f", "new", "."]),
    "readlink": ("fl", lambda: os.readlink("l"), ["f", "l", "."]),
    "link": ("f", lambda: os.link("f", "new"), ["f", "new", "."]),
    "mknod": (None, lambda: os.mknod("new", stat.S_IFREG | 0o600), ["new", "."]),
    "mkfifo": (None, lambda: os.mkfifo("new"), ["new", "."]),
    "rename": ("f", lambda: os.rename("f", "new"), ["f", "new", "."]),
    "rename over": ("fg", lambda: os.rename("f", "g"), ["f", "g", "."]),
    "rename into a folder": ("fd", lambda: os.rename("f", "d/f"), ["f", "d", "."]),
    "rename of a folder": ("d", lambda: os.rename("d", "new"), ["d", "new", "."]),
    "rename of a folder into another": ("de", lambda: os.rename("d", "e/d"), ["d", "e", "."]),
    "rename of a folder over another": ("de", lambda: os.rename("d", "e"), ["d", "e", "."]),
    "rename of a link": ("fl", lambda: os.rename("l", "new"), ["f", "l", "new", "."]),
    "rename to itself": ("f", lambda: os.rename("f", "f"), ["f", "."]),
    "opendir": ("d", lambda: os.listdir("d"), ["d", "."]),
    "chmod to its mode": ("f", lambda: os.chmod("f", 0o600), ["f", "."]),
    "chmod": ("f", lambda: os.chmod("f", 0o640), ["f", "."]),
    "chmod of a folder": ("d", lambda: os.chmod("d", 0o750), ["d", "."]),
    "chmod by a link": ("fl", lambda: os.chmod("l", 0o640), ["f", "l", "."]),
    "chown to us": ("f", lambda: os.chown("f", os.geteuid(), os.getegid()), ["f", "."]),
    "utimensat": ("f", lambda: os.utime("f", ns=(5, 5)), ["f", "."]),
    "utimensat of a folder": ("d", lambda: os.utime("d", ns=(5, 5)), ["d", "."]),
    "utimensat by a link": ("fl", lambda: os.utime("l", ns=(5, 5)), ["f", "l", "."]),
    "utimensat of a link": ("fl", lambda: os.utime("l", ns=(5, 5), follow_symlinks=False), ["f", "l", "."]),
    "stat": ("f", lambda: os.stat("f"), ["f", "."]),
    "write by a link": ("fl", lambda: put("l", b"by the link"), ["f", "l", "."]),
}

MAKERS = {"f": lambda: put("f"), "g": lambda: put("g", b"other"), "d": lambda: os.mkdir("d"), "e": lambda: os.mkdir("e"), "l": lambda: os.symlink("f", "l")}


def effect(name):
    """What a call changed, for each name that was looked at."""
    needed, call, looked = EFFECTS[name]
    for letter in needed or "":
        MAKERS[letter]()
    for thing in [*(needed or ""), "."]:
        # A year ago, so that whatever sets a time is seen.
        os.utime(thing, ns=(10**18, 10**18), follow_symlinks=False)
    wait_for_tick()
    before = {thing: facts(thing) for thing in looked}
    call()
    return "; ".join(f"{thing}: {changes(before[thing], facts(thing))}" for thing in looked)


# The mode that a file or folder has after it was made with a mode under a umask, and after chmod.
MODES = [0o000, 0o200, 0o400, 0o600, 0o644, 0o666, 0o700, 0o755, 0o777]


def modes():
    """Named functions, each giving a mode."""
    for mode in MODES:
        for mask in [0o022, 0o077, 0o000]:
            yield f"open CREAT {mode:o}, umask {mask:o}", made(lambda mode=mode: os.close(os.open("n", os.O_WRONLY | os.O_CREAT, mode)), mask)
            yield f"mkdir {mode:o}, umask {mask:o}", made(lambda mode=mode: os.mkdir("n", mode), mask)
        yield f"chmod {mode:o} of a file", made(lambda mode=mode: (put("n"), os.chmod("n", mode)), 0o077)
        yield f"chmod {mode:o} of a folder", made(lambda mode=mode: (os.mkdir("n"), os.chmod("n", mode)), 0o077)


def made(act, mask):
    def call():
        before = os.umask(mask)
        try:
            act()
        finally:
            os.umask(before)
        mode = mode_of("n")
        # Who is not root could not remove it.
        os.chmod("n", 0o700)
        return f"{mode:o}"
    return call
