"""System calls that are given one path."""

import ctypes
import os
import stat

from calls import fallocate, libc


def opening(flags):
    def call(path):
        os.close(os.open(path, flags, 0o600))
    return call


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def fallocating(path):
    file = os.open(path, os.O_WRONLY)
    try:
        fallocate(file, 0, 0, 100)
    finally:
        os.close(file)


def changing_folder(path):
    here = os.open(".", os.O_PATH)
    try:
        os.chdir(path)
        os.fchdir(here)
    finally:
        os.close(here)


def removing(path):
    checked(libc.remove(os.fsencode(path)))


CALLS = {
    "open RDONLY": opening(os.O_RDONLY),
    "open WRONLY": opening(os.O_WRONLY),
    "open RDWR": opening(os.O_RDWR),
    "open TRUNC": opening(os.O_WRONLY | os.O_TRUNC),
    "open APPEND": opening(os.O_WRONLY | os.O_APPEND),
    "open CREAT": opening(os.O_WRONLY | os.O_CREAT),
    "open CREAT EXCL": opening(os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "open CREAT TRUNC": opening(os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    "open CREAT RDONLY": opening(os.O_RDONLY | os.O_CREAT),
    "open DIRECTORY": opening(os.O_RDONLY | os.O_DIRECTORY),
    "open NOFOLLOW": opening(os.O_RDONLY | os.O_NOFOLLOW),
    "open NOFOLLOW CREAT": opening(os.O_WRONLY | os.O_NOFOLLOW | os.O_CREAT),
    "open PATH": opening(os.O_PATH),
    "open PATH NOFOLLOW": opening(os.O_PATH | os.O_NOFOLLOW),
    "open TMPFILE": opening(os.O_RDWR | os.O_TMPFILE),
    "stat": os.stat,
    "lstat": os.lstat,
    "access F_OK": lambda path: checked(libc.access(os.fsencode(path), os.F_OK)),
    "access R_OK": lambda path: checked(libc.access(os.fsencode(path), os.R_OK)),
    "access W_OK": lambda path: checked(libc.access(os.fsencode(path), os.W_OK)),
    "readlink": os.readlink,
    "opendir": os.listdir,
    "chdir": changing_folder,
    "mkdir": os.mkdir,
    "rmdir": os.rmdir,
    "unlink": os.unlink,
    "remove": removing,
    "symlink to it": lambda path: os.symlink(path, "made"),
    "symlink": lambda path: os.symlink("target", path),
    "link from it": lambda path: os.link(path, "made", follow_symlinks=False),
    "mknod file": lambda path: os.mknod(path, stat.S_IFREG | 0o600),
    "mknod socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "mkfifo": os.mkfifo,
    "truncate 0": lambda path: os.truncate(path, 0),
    "truncate 3": lambda path: os.truncate(path, 3),
    "truncate 100": lambda path: os.truncate(path, 100),
    "truncate -1": lambda path: os.truncate(path, -1),
    "fallocate": fallocating,
    "chmod 700": lambda path: os.chmod(path, 0o700),
    "chmod 744": lambda path: os.chmod(path, 0o744),
    "chmod 4755": lambda path: os.chmod(path, 0o4755),
    "chown us": lambda path: os.chown(path, os.geteuid(), os.getegid()),
    "chown -1": lambda path: os.chown(path, -1, -1),
    "lchown us": lambda path: os.lchown(path, os.geteuid(), os.getegid()),
    "utimensat": lambda path: os.utime(path, ns=(1, 2)),
    "utimensat NOFOLLOW": lambda path: os.utime(path, ns=(1, 2), follow_symlinks=False),
    "utimensat now": os.utime,
    "statvfs": os.statvfs,
}
