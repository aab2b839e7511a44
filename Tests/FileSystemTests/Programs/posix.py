"""What programs rely on, one check a sentence of docs/semantics.md.

    posix.py DIRECTORY          prints a line for each check: the sentence, a tab, what came out

The same checks run in the mount and on ordinary file systems. A check of `same` must come out alike; one of `own` is
where passdir is not an ordinary disk: it says itself what must come out, and is not run elsewhere.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import stat
import subprocess
import sys
import tempfile
import time

from calls import (
    FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, RENAME_EXCHANGE, RENAME_NOREPLACE, fallocate, libc, renameat2,
    result_of,
)

CHECKS = []


def same(sentence):
    def add(function):
        CHECKS.append((sentence, function, None))
        return function
    return add


def own(sentence, expected):
    def add(function):
        CHECKS.append((sentence, function, expected))
        return function
    return add


def put(name, data=b""):
    with open(name, "wb") as file:
        file.write(data)


def get(name):
    with open(name, "rb") as file:
        return file.read()


@contextlib.contextmanager
def opened(name, flags, mode=0o600):
    descriptor = os.open(name, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def in_child(function):
    """What a function gives in another process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, repr(result_of(function)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


# Opening


@same("A write through a descriptor with `O_APPEND` goes to the end, also when another descriptor has made the file longer.")
def append():
    put("f", b"one ")
    with opened("f", os.O_WRONLY | os.O_APPEND) as one, opened("f", os.O_WRONLY | os.O_APPEND) as other:
        for descriptor, data in [(one, b"two "), (other, b"three "), (one, b"four")]:
            os.write(descriptor, data)
    return get("f")


@same("`O_TRUNC` empties a file when it is opened.")
def truncate_at_open():
    put("f", b"before")
    with opened("f", os.O_RDWR | os.O_TRUNC) as file:
        size = os.fstat(file).st_size
        os.write(file, b"x")
    return size, get("f")


@same("`O_CREAT` with `O_EXCL` refuses a name that is there: EEXIST.")
def exclusive():
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    os.close(os.open("f", flags, 0o600))
    os.mkdir("d")
    os.symlink("nowhere", "l")
    return [result_of(os.open, name, flags, 0o600) for name in "fdl"]


@same("`O_RDWR` reads back what was written, before anything is closed.")
def read_write():
    with opened("f", os.O_RDWR | os.O_CREAT) as file:
        os.write(file, b"hello")
        return os.pread(file, 10, 0), os.fstat(file).st_size


@same("Another process reads what was written before it is closed.")
def other_process():
    with opened("f", os.O_RDWR | os.O_CREAT) as file:
        os.write(file, b"not closed yet")
        return in_child(lambda: get("f")), in_child(lambda: os.stat("f").st_size)


@same("`O_DIRECTORY` refuses a file: ENOTDIR.")
def open_directory():
    put("f")
    os.mkdir("d")
    os.close(os.open("d", os.O_RDONLY | os.O_DIRECTORY))
    return result_of(os.open, "f", os.O_RDONLY | os.O_DIRECTORY)


@same("A directory cannot be opened for writing, nor read as a file: EISDIR.")
def directory_as_file():
    os.mkdir("d")
    with opened("d", os.O_RDONLY) as directory:
        return result_of(os.open, "d", os.O_WRONLY), result_of(os.open, "d", os.O_RDWR), result_of(os.read, directory, 1)


@same("`O_NOFOLLOW` refuses a symbolic link: ELOOP.")
def no_follow():
    put("f", b"x")
    os.symlink("f", "l")
    return result_of(os.open, "l", os.O_RDONLY | os.O_NOFOLLOW), get("l")


@same("A name that is not there is ENOENT, a way through a file ENOTDIR.")
def missing():
    put("f")
    return [
        result_of(os.open, "no", os.O_RDONLY), result_of(os.open, "no/f", os.O_WRONLY | os.O_CREAT, 0o600),
        result_of(os.open, "f/g", os.O_RDONLY), result_of(os.stat, "f/g"), result_of(os.open, "f/", os.O_RDONLY),
        result_of(os.unlink, "no"), result_of(os.rename, "no", "other"), result_of(os.mkdir, "no/d"),
        result_of(os.rmdir, "no"), result_of(os.readlink, "no"), result_of(os.truncate, "no", 1),
    ]


@same("A descriptor that was not opened for it neither reads nor writes: EBADF.")
def wrong_mode():
    put("f", b"x")
    with opened("f", os.O_RDONLY) as reader, opened("f", os.O_WRONLY) as writer:
        return [
            result_of(os.write, reader, b"y"), result_of(os.read, writer, 1), result_of(os.ftruncate, reader, 0),
            result_of(fallocate, reader, 0, 0, 10)]


@same("An `O_PATH` descriptor tells its file's size and is no way to its content.")
def path_descriptor():
    put("f", b"abc")
    with opened("f", os.O_PATH) as file:
        return os.fstat(file).st_size, result_of(os.read, file, 1)


@same("`O_CREAT` of a file that is there opens it as it is.")
def create_existing():
    put("f", b"there")
    with opened("f", os.O_RDWR | os.O_CREAT) as file:
        return os.read(file, 10)


@own("`O_TMPFILE` is EOPNOTSUPP: a secret without a name cannot be kept, and programs take a named file instead.", "EOPNOTSUPP")
def tmpfile():
    result = result_of(os.open, ".", os.O_RDWR | os.O_TMPFILE, 0o600)
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"x")
    return result


# Content


@same("truncate and ftruncate make a file shorter, and longer with zero bytes.")
def truncate():
    put("f", b"abcdef")
    os.truncate("f", 3)
    first = get("f")
    os.truncate("f", 6)
    second = get("f")
    with opened("f", os.O_RDWR) as file:
        os.ftruncate(file, 2)
        third = os.fstat(file).st_size
        os.ftruncate(file, 5)
    return first, second, third, get("f")


@same("truncate refuses what is negative or a directory: EINVAL, EISDIR.")
def truncate_errors():
    put("f", b"abc")
    os.mkdir("d")
    return result_of(os.truncate, "f", -1), result_of(os.truncate, "d", 0), get("f")


@same("A write behind the end leaves zero bytes in the gap.")
def sparse():
    with opened("f", os.O_RDWR | os.O_CREAT) as file:
        os.pwrite(file, b"end", 100_000)
        os.pwrite(file, b"start", 0)
    data = get("f")
    return len(data), data.count(0), data[:6], data[-4:]


@same("Many descriptors and processes read and write one file, each at its own place.")
def many_handles():
    put("f", bytes(8000))
    files = [os.open("f", os.O_RDWR) for _ in range(8)]
    for index, file in enumerate(files):
        os.pwrite(file, bytes([65 + index]) * 1000, index * 1000)
    in_child(lambda: os.pwrite(files[0], b"child", 100))
    seen = [os.pread(file, 1, 7000) for file in files]
    for file in files:
        os.close(file)
    return seen, get("f") == b"".join(bytes([65 + i]) * 1000 for i in range(8)).replace(b"A" * 105, b"A" * 100 + b"child", 1)


@same("A copy of a descriptor, made by dup or fork, shares its offset.")
def shared_offset():
    put("f", b"abcdef")
    with opened("f", os.O_RDONLY) as file:
        copy = os.dup(file)
        first = os.read(file, 2), os.read(copy, 2)
        os.close(copy)
        return first, in_child(lambda: os.read(file, 1)), os.read(file, 2)


@same("Closing one descriptor leaves the others of the file working.")
def close_one():
    with opened("f", os.O_RDWR | os.O_CREAT) as one:
        with opened("f", os.O_RDWR) as other:
            os.write(other, b"other")
        os.pwrite(one, b"O", 0)
        return os.pread(one, 10, 0)


@same("A file is empty where nothing was written, and an empty write changes nothing.")
def empty():
    put("f")
    with opened("f", os.O_RDWR) as file:
        os.pwrite(file, b"", 50)
    return get("f"), os.stat("f").st_size, result_of(os.open, "f", os.O_RDONLY) != "ENOENT"


@same("Any bytes can be in a file.")
def any_bytes():
    data = bytes(range(256)) * 300 + b"\n\r\n\0"
    put("f", data)
    return get("f") == data


@same("fallocate makes a file longer, zeroes a range, or changes nothing that can be seen.")
def allocate():
    put("f", b"abcdef")
    with opened("f", os.O_RDWR) as file:
        fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 100)
        kept = os.fstat(file).st_size
        fallocate(file, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 1, 2)
        os.posix_fallocate(file, 0, 10)
    return kept, get("f")


@same("lseek finds data everywhere up to the end, where the one hole is; behind it is ENXIO.")
def data_and_holes():
    put("f", b"x" * 10_000)
    with opened("f", os.O_RDONLY) as file:
        return [
            result_of(os.lseek, file, 5, os.SEEK_DATA), result_of(os.lseek, file, 5, os.SEEK_HOLE),
            result_of(os.lseek, file, 10_000, os.SEEK_DATA), result_of(os.lseek, file, 20_000, os.SEEK_HOLE),
            result_of(os.lseek, file, -1, os.SEEK_SET), os.lseek(file, 0, os.SEEK_END)]


@same("copy_file_range and sendfile copy.")
def copy_range():
    put("f", b"0123456789" * 1000)
    put("g", b"head")
    with opened("f", os.O_RDONLY) as source, opened("g", os.O_RDWR) as target:
        copied = os.copy_file_range(source, target, 5000, 10, 4)
        os.lseek(target, 0, os.SEEK_END)
        sent = os.sendfile(target, source, 0, 100)
    return copied, sent, get("g") == b"head" + (b"0123456789" * 1000)[10:5010] + b"0123456789" * 10


@same("mmap reads a file, and a shared mapping writes it.")
def map():
    put("f", b"abcdef" * 2000)
    with opened("f", os.O_RDWR) as file:
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as mapped:
            read = mapped[:6]
        with mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
            mapped[:3] = b"xxx"
        with mmap.mmap(file, 0) as mapped:
            mapped[3:6] = b"DEF"
            mapped.flush()
            seen = os.pread(file, 6, 0)
            mapped[6:9] = b"ABC"
    return read, seen, get("f")[:12]


@same("A mapping outlives the descriptor it was made of, and what is written through it then is saved.")
def map_after_close():
    put("f", b"a" * 5000)
    file = os.open("f", os.O_RDWR)
    mapped = mmap.mmap(file, 0)
    os.close(file)
    mapped[4000:4003] = b"end"
    mapped.flush()
    mapped.close()
    return get("f")[3999:4004]


@same("A write is seen through a mapping that is there already.")
def map_and_write():
    put("f", b"a" * 5000)
    with opened("f", os.O_RDWR) as file, mmap.mmap(file, 0, prot=mmap.PROT_READ) as mapped:
        before = mapped[:1]
        os.pwrite(file, b"new", 0)
        return before, mapped[:3]


# Names


@same("rename replaces a file, and is nothing where both names are one.")
def rename():
    put("f", b"f")
    put("g", b"g")
    os.rename("f", "g")
    os.rename("g", "g")
    return get("g"), sorted(os.listdir("."))


@same("rename with RENAME_NOREPLACE refuses a name that is there: EEXIST.")
def no_replace():
    put("f", b"f")
    put("g", b"g")
    result = result_of(renameat2, "f", "g", RENAME_NOREPLACE)
    renameat2("f", "h", RENAME_NOREPLACE)
    return result, get("g"), get("h")


@same("rename with RENAME_EXCHANGE swaps two secrets, or two directories.")
def exchange():
    put("f", b"f")
    put("g", b"g")
    os.mkdir("d")
    os.mkdir("e")
    put("d/x", b"x")
    renameat2("f", "g", RENAME_EXCHANGE)
    renameat2("d", "e", RENAME_EXCHANGE)
    return get("f"), get("g"), os.listdir("d"), os.listdir("e"), result_of(renameat2, "f", "no", RENAME_EXCHANGE)


@own("RENAME_EXCHANGE of a secret and a directory is EINVAL.", "EINVAL")
def exchange_kinds():
    put("f", b"f")
    os.mkdir("d")
    return result_of(renameat2, "f", "d", RENAME_EXCHANGE)


@same("Who has a file open that is replaced by rename goes on with what it opened.")
def rename_over_open():
    put("f", b"old")
    put("g", b"new")
    with opened("f", os.O_RDWR) as file:
        os.rename("g", "f")
        os.pwrite(file, b"O", 0)
        return os.pread(file, 10, 0), os.fstat(file).st_nlink, get("f")


@same("Who has a file open that is renamed goes on with it under its new name.")
def rename_open():
    put("f", b"old")
    with opened("f", os.O_RDWR) as file:
        os.rename("f", "g")
        os.pwrite(file, b"new", 0)
        os.fsync(file)
    return get("g"), os.listdir(".")


@same("A file that is unlinked while it is open can be read and written until it is closed, and is gone.")
def unlink_open():
    put("f", b"abc")
    with opened("f", os.O_RDWR) as file:
        os.unlink("f")
        os.pwrite(file, b"X", 0)
        os.fsync(file)
        seen = os.pread(file, 10, 0), os.fstat(file).st_nlink
        put("f", b"another")
    return seen, get("f")


@same("A directory that holds something cannot be removed: ENOTEMPTY.")
def remove_non_empty():
    os.mkdir("d")
    put("d/f")
    result = result_of(os.rmdir, "d")
    os.unlink("d/f")
    os.rmdir("d")
    return result, os.listdir(".")


@same("rename of a directory replaces an empty one only, and never goes into itself: ENOTEMPTY, EINVAL.")
def rename_directory():
    for name in ["d", "e", "empty"]:
        os.mkdir(name)
        put(name + "/f", name.encode())
    os.unlink("empty/f")
    results = [result_of(os.rename, "d", "e"), result_of(os.rename, "d", "d/sub"), result_of(os.rename, "d", "empty")]
    return results, get("empty/f"), sorted(os.listdir("."))


@same("A file does not replace a directory, nor a directory a file: EISDIR, ENOTDIR.")
def rename_kinds():
    put("f")
    os.mkdir("d")
    return result_of(os.rename, "f", "d"), result_of(os.rename, "d", "f")


@same("mkdir refuses a name that is there, unlink a directory, rmdir a file: EEXIST, EISDIR, ENOTDIR.")
def kinds():
    put("f")
    os.mkdir("d")
    return [
        result_of(os.mkdir, "f"), result_of(os.mkdir, "d"), result_of(os.unlink, "d"), result_of(os.rmdir, "f"),
        result_of(os.readlink, "f"), result_of(os.rmdir, "d/.")]


@same("Any bytes but `/` and NUL can be in a name.")
def names():
    names = [b"with space", b"-dash", b"new\nline", b"\xff\xfe not UTF-8", "Zürich".encode(), b"tab\t", b"*?[", b"\\", b"'\""]
    for name in names:
        put(name, name)
    return sorted(os.listdir(b".")) == sorted(names), all(get(name) == name for name in names)


@own("A name has up to 251 bytes, as `.gpg` is added to it on disk; a longer one is ENAMETOOLONG.", (251, b"x", "ENAMETOOLONG", "ENAMETOOLONG", 251))
def long_names():
    put("n" * 251, b"x")
    return (
        len(os.listdir(".")[0]), get("n" * 251), result_of(put, "n" * 252), result_of(os.rename, "n" * 251, "m" * 252),
        os.statvfs(".").f_namemax)


@same("Paths can be deep.")
def deep():
    path = ""
    for level in range(25):
        path = os.path.join(path, f"a directory rather deep, number {level}")
        os.mkdir(path)
    put(path + "/f", b"deep")
    return get(path + "/f"), len(path), result_of(os.stat, "x" * 5000)


# Directories


class Entry(ctypes.Structure):
    _fields_ = [
        ("d_ino", ctypes.c_uint64), ("d_off", ctypes.c_int64), ("d_reclen", ctypes.c_ushort),
        ("d_type", ctypes.c_ubyte), ("d_name", ctypes.c_char * 256)]


libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.readdir.argtypes = libc.closedir.argtypes = libc.telldir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


def read_names(directory, count=None):
    names = []
    while count is None or len(names) < count:
        entry = libc.readdir(directory)
        if not entry:
            break
        names.append(entry.contents.d_name)
    return names


@same("While entries come and go, a program that reads a directory sees those that stay exactly once.")
def directory_changes():
    for number in range(40):
        put(f"stays{number}")
        put(f"goes{number}")
    directory = libc.opendir(b".")
    seen = read_names(directory, 30)
    for number in range(40):
        os.unlink(f"goes{number}")
        put(f"comes{number}")
    seen += read_names(directory)
    libc.closedir(directory)
    stays = [name for name in seen if name.startswith(b"stays")]
    return len(stays), len(set(stays))


@same("telldir and seekdir go back to a place, rewinddir to a new look.")
def directory_seek():
    for number in range(60):
        put(f"f{number}")
    directory = libc.opendir(b".")
    read_names(directory, 20)
    place = libc.telldir(directory)
    rest = read_names(directory)
    libc.seekdir(directory, place)
    again = read_names(directory)
    put("new")
    libc.rewinddir(directory)
    names = read_names(directory)
    libc.closedir(directory)
    return again == rest, b"new" in names, len(names), len(set(names))


@same("A listing has `.` and `..`, and tells of each entry its kind and the inode number that stat tells.")
def listing():
    put("f")
    os.mkdir("d")
    os.symlink("f", "l")
    directory = libc.opendir(b".")
    entries = {}
    while True:
        entry = libc.readdir(directory)
        if not entry:
            break
        entries[entry.contents.d_name] = (entry.contents.d_ino, entry.contents.d_type)
    libc.closedir(directory)
    return [
        (name, entries[name][0] == os.lstat(name).st_ino, entries[name][1]) for name in sorted(entries) if name != b".."
    ], b".." in entries


@same("Inode numbers are one a file, and stay through saves and renames.")
def inodes():
    for name in "abc":
        put(name, name.encode())
    numbers = [os.stat(name).st_ino for name in "abc"]
    put("a", b"saved again")
    os.rename("b", "x")
    os.mkdir("d")
    os.rename("c", "d/c")
    after = [os.stat(name).st_ino for name in ["a", "x", "d/c"]]
    return numbers == after, len(set(numbers + [os.stat("d").st_ino, os.stat(".").st_ino])), len({os.stat(name).st_dev for name in ["a", "x", "d"]})


@same("A directory has two links, and one more for each directory in it; a file has one.")
def links():
    os.mkdir("d")
    put("d/f")
    before = os.stat("d").st_nlink
    os.mkdir("d/one")
    os.mkdir("d/two")
    return before, os.stat("d").st_nlink, os.stat("d/f").st_nlink


# Times, owners, locks


@same("mtime and ctime change with a save, and not with a look.")
def times():
    put("f", b"one")
    os.utime("f", (1, 1))
    first = os.stat("f")
    get("f")
    looked = os.stat("f")
    # A new file has its times from a clock that ticks every few milliseconds: CLOCK_REALTIME_COARSE.
    while time.clock_gettime_ns(5) <= first.st_ctime_ns:
        pass
    put("f", b"two")
    saved = os.stat("f")
    return (
        looked.st_mtime_ns == first.st_mtime_ns, looked.st_ctime_ns == first.st_ctime_ns,
        saved.st_mtime_ns > first.st_mtime_ns, saved.st_ctime_ns > first.st_ctime_ns, time.time() - saved.st_mtime < 60)


@same("Times that are set are kept, to the nanosecond, also when they are set before the file is closed.")
def set_times():
    put("f", b"one")
    os.utime("f", ns=(1_000_000_001, 2_000_000_002))
    first = os.stat("f").st_mtime_ns, os.stat("f").st_atime_ns
    with opened("g", os.O_WRONLY | os.O_CREAT) as file:
        os.write(file, b"content")
        os.utime(file, ns=(3_000_000_003, 4_000_000_004))
    second = os.stat("g").st_mtime_ns, os.stat("g").st_atime_ns, get("g")
    os.mkdir("d")
    os.utime("d", ns=(5, 6))
    # As touch(1) does it: through another descriptor, the first one being closed.
    with opened("h", os.O_WRONLY | os.O_CREAT) as file:
        os.close(os.dup(file))
        os.utime(file, ns=(7_000_000_007, 8_000_000_008))
    third = os.stat("h").st_mtime_ns, os.stat("h").st_atime_ns
    return first, second, third, os.stat("d").st_mtime_ns


@same("Writing to a file and truncating it leave its access time.")
def kept_access_times():
    put("f", b"one")
    os.utime("f", ns=(1_000_000_001, 2_000_000_002))
    put("f", b"two")
    put_times = os.stat("f").st_atime_ns
    with opened("f", os.O_WRONLY | os.O_APPEND) as file:
        os.write(file, b"three")
    appended = os.stat("f").st_atime_ns
    os.truncate("f", 2)
    return put_times, appended, os.stat("f").st_atime_ns


@same("A symbolic link keeps the times that it was given when what it names is made, as `rsync -a` and `tar x` do it.")
def link_times():
    os.symlink("f", "l")
    os.utime("l", ns=(1_000_000_001, 2_000_000_002), follow_symlinks=False)
    put("f", b"one")
    first = os.lstat("l").st_mtime_ns, os.lstat("l").st_atime_ns
    # One time alone, after looks.
    os.lstat("l")
    subprocess.run(["touch", "-h", "-m", "-d", "@5", "l"], check=True)
    second = os.lstat("l").st_mtime_ns, os.lstat("l").st_atime_ns
    return first, second, get("l")


@same("A directory keeps its mtime when what a link in it leads to is made elsewhere.")
def link_folder_times():
    os.mkdir("d")
    os.mkdir("e")
    os.symlink("../e/f", "d/l")
    os.utime("d", (1, 1))
    put("e/f", b"one")
    return os.stat("d").st_mtime, get("d/l")


@same("A directory's mtime changes when something in it comes or goes.")
def directory_times():
    os.mkdir("d")
    os.utime("d", (1, 1))
    put("d/f", b"x")
    came = os.stat("d").st_mtime
    os.utime("d", (1, 1))
    os.unlink("d/f")
    return came > 1, os.stat("d").st_mtime > 1


@same("flock and fcntl locks hold between processes.")
def locks():
    put("f", b"x" * 100)

    def flock():
        with opened("f", os.O_RDWR) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def record(start):
        with opened("f", os.O_RDWR) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, start)

    with opened("f", os.O_RDWR) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held = in_child(flock)
        fcntl.flock(file, fcntl.LOCK_UN)
        free = in_child(flock)
        fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
        return held, free, in_child(lambda: record(5)), in_child(lambda: record(50))


@own("Files have the mode 0600 and directories 0700; chmod succeeds and changes nothing, but for setuid, setgid and sticky: EPERM.", (0o100600, 0o40700, "EPERM"))
def modes():
    put("f")
    os.mkdir("d", 0o755)
    os.chmod("f", 0o644)
    os.chmod("d", 0o755)
    return os.stat("f").st_mode, os.stat("d").st_mode, result_of(os.chmod, "f", 0o4755)


@own("chown to the owner succeeds and changes nothing; to anybody else it is EPERM.", (None, "EPERM", "EPERM"))
def owners():
    put("f")
    me, group = os.geteuid(), os.getegid()
    # The kernel refuses it before we are asked, unless it is root's.
    return os.chown("f", me, group), result_of(os.chown, "f", me + 1, -1), result_of(os.chown, "f", -1, group + 1)


@own("A hard link is EPERM: one secret, one name.", "EPERM")
def hard_link():
    put("f")
    return result_of(os.link, "f", "g")


@own("Pipes, sockets and devices cannot be made: EPERM.", ["EPERM", "EPERM"])
def special():
    return [result_of(os.mkfifo, "p"), result_of(os.mknod, "s", stat.S_IFSOCK | 0o600)]


@same("mknod makes a file as creat does.")
def make_node():
    os.mknod("f", stat.S_IFREG | 0o600)
    put("f", b"x")
    return get("f"), result_of(os.mknod, "f", stat.S_IFREG | 0o600)


@same("A relative symbolic link is followed, and tells its target.")
def symbolic_link():
    os.mkdir("d")
    put("f", b"content")
    os.symlink("../f", "d/l")
    os.symlink("nowhere", "dangling")
    return get("d/l"), os.readlink("d/l"), os.lstat("d/l").st_size, result_of(get, "dangling"), os.readlink("dangling")


@own("A symbolic link that would lead out of its store cannot be made: EPERM.", ["EPERM", "EPERM"])
def leading_out():
    return [result_of(os.symlink, "/etc/passwd", "l"), result_of(os.symlink, "../" * 20 + "etc/passwd", "l")]


@own("Extended attributes of others cannot be set: EOPNOTSUPP, as on a file system that has none.", ["EOPNOTSUPP", "ENODATA", "EOPNOTSUPP"])
def attributes():
    put("f")
    return [
        result_of(os.setxattr, "f", "user.other", b"x"), result_of(os.getxattr, "f", "user.other"),
        result_of(os.setxattr, "f", "user.passdir.store", b"x")]


@same("fsync and fdatasync succeed, of a file and of a directory.")
def synchronize():
    put("f", b"x")
    with opened("f", os.O_RDWR) as file, opened(".", os.O_RDONLY) as directory:
        os.pwrite(file, b"y", 0)
        return os.fsync(file), os.fdatasync(file), os.fsync(directory)


@same("A file of a megabyte and one byte is read and written as any other.")
def large():
    data = os.urandom(4096) * 257 + b"!"
    put("f", data)
    return get("f") == data, os.stat("f").st_size == len(data)


def main():
    top = sys.argv[1]
    is_own = len(sys.argv) > 2
    for number, (sentence, function, expected) in enumerate(CHECKS):
        if expected is not None and not is_own:
            continue
        folder = os.path.join(top, f"check{number}")
        os.mkdir(folder)
        os.chdir(folder)
        try:
            result = function()
        except OSError as error:
            result = f"{error} in {function.__name__}"
        if expected is not None:
            result = "as told" if result == expected else f"{result!r} instead of {expected!r}"
        print(sentence, repr(result), sep="\t", flush=True)
        os.chdir(top)


main()
