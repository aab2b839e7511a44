"""Random file operations on a directory, each compared with a plain model in memory.

    model.py DIRECTORY SEED COUNT TRANSCRIPT [CRASH-COMMAND EVERY]

The sequence depends on the seed alone. TRANSCRIPT gets one line an operation, so that two runs (in the mount and on
tmpfs) can be compared. With CRASH-COMMAND, every EVERY operations the command ends the file system as a crash does
and brings it back; then each file must have what was acknowledged by close or fsync, or something later. Without it,
the same point of the sequence only closes everything, and both go on from what was acknowledged.
"""

import mmap
import os
import random
import subprocess
import sys
import zlib

from calls import (
    FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, RENAME_EXCHANGE, RENAME_NOREPLACE, fallocate, name_of, renameat2,
)

FILE_NAMES = ["a", "b", "c", "d", "note", "a~", "b~", ".a.swp", "#c#", "sedXy12Zz", ".d.Ab3xYz"]
SCRATCH_NAMES = {"a~", "b~", ".a.swp", "#c#"}
FOLDER_NAMES = ["x", "y", "z"]
LARGEST = 40_000


class Failed(Exception):
    """A call of the model that fails as the real one must: the name of its errno."""


class Inode:
    """A file: its bytes, what was acknowledged last, and everything that it held since."""

    def __init__(self):
        self.bytes = bytearray()
        # None: that it exists was never acknowledged.
        self.durable = None
        self.since = [b""]
        self.links = 1
        self.edited = False

    def changed(self):
        self.edited = True
        self.since.append(bytes(self.bytes))
        del self.since[:-400]

    def forget(self):
        self.durable = None
        self.since = [b""]
        self.edited = True

    def acknowledged(self):
        self.durable = bytes(self.bytes)
        self.since = [self.durable]
        self.edited = False


class Handle:
    def __init__(self, descriptor, inode, flags):
        self.descriptor = descriptor
        self.inode = inode
        self.reads = flags & os.O_ACCMODE in (os.O_RDONLY, os.O_RDWR)
        self.writes = flags & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)
        self.appends = bool(flags & os.O_APPEND)
        self.offset = 0


class Run:
    def __init__(self, top, seed, transcript):
        self.top = top
        self.random = random.Random(seed)
        self.transcript = transcript
        # The folder that is None is the top.
        self.folders = {None: {}}
        self.handles = []
        # What lay under a name before something that was never acknowledged took its place: a crash may bring it back.
        self.ghosts = {}
        self.number = 0

    # The model's side.

    def path(self, place):
        folder, name = place
        return os.path.join(self.top, folder, name) if folder else os.path.join(self.top, name)

    def any_place(self):
        folders = [folder for folder in self.folders if folder]
        folder = self.random.choice([None] * 3 + folders) if folders else None
        return (folder, self.random.choice(FILE_NAMES))

    def inode(self, place):
        inode = self.folders[place[0]].get(place[1])
        if inode is None:
            raise Failed("ENOENT")
        return inode

    def drop(self, place):
        inode = self.folders[place[0]].pop(place[1])
        inode.links = 0

    # An operation: the real call and the model's must agree.

    def compare(self, what, real, model):
        try:
            expected = model()
        except Failed as failure:
            expected = str(failure)
        try:
            got = real()
        except OSError as error:
            got = name_of(error)
        line = f"{self.number} {what}: {describe(got)}"
        self.transcript.write(line + "\n")
        if got != expected:
            self.transcript.flush()
            raise SystemExit(f"operation {line}, but the model says {describe(expected)}")
        return got

    def open(self):
        place = self.any_place()
        flags = self.random.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR])
        writes = flags != os.O_RDONLY
        if self.random.random() < 0.6:
            flags |= os.O_CREAT
            if self.random.random() < 0.2:
                flags |= os.O_EXCL
        if writes and self.random.random() < 0.3:
            flags |= os.O_TRUNC
        if writes and self.random.random() < 0.25:
            flags |= os.O_APPEND
        opened = []

        def model():
            folder = self.folders[place[0]]
            inode = folder.get(place[1])
            if inode is None:
                if not flags & os.O_CREAT:
                    raise Failed("ENOENT")
                inode = folder[place[1]] = Inode()
                inode.edited = True
            elif flags & os.O_CREAT and flags & os.O_EXCL:
                raise Failed("EEXIST")
            elif flags & os.O_TRUNC:
                inode.bytes.clear()
                inode.changed()
            opened.append(inode)
            return "opened"

        def real():
            opened.append(os.open(self.path(place), flags, 0o600))
            return "opened"

        if self.compare(f"open {self.path_name(place)} {flags:o}", real, model) == "opened":
            self.handles.append(Handle(opened[1], opened[0], flags))

    def path_name(self, place):
        return "/".join(part for part in place if part)

    def any_handle(self):
        return self.random.choice(self.handles) if self.handles else None

    def close(self, handle=None):
        handle = handle or self.any_handle()
        if not handle:
            return
        self.handles.remove(handle)
        inode = handle.inode

        def model():
            # A file that was truncated and not written to since is saved by its last close, after that returned.
            if handle.writes and inode.links and (inode.bytes or not inode.edited):
                inode.acknowledged()
            return None

        self.compare("close", lambda: os.close(handle.descriptor), model)

    def read(self):
        handle = self.any_handle()
        if not handle:
            return
        count = self.random.choice([1, 10, 500, 5000, 70_000])
        if self.random.random() < 0.5:
            offset = self.random.randrange(0, LARGEST)

            def model():
                if not handle.reads:
                    raise Failed("EBADF")
                return bytes(handle.inode.bytes[offset:offset + count])

            self.compare(f"pread {offset} {count}", lambda: os.pread(handle.descriptor, count, offset), model)
        else:
            def model():
                if not handle.reads:
                    raise Failed("EBADF")
                data = bytes(handle.inode.bytes[handle.offset:handle.offset + count])
                handle.offset += len(data)
                return data

            self.compare(f"read {count}", lambda: os.read(handle.descriptor, count), model)

    def write(self):
        handle = self.any_handle()
        if not handle:
            return
        data = self.some_bytes()
        inode = handle.inode

        def put(offset):
            if not handle.writes:
                raise Failed("EBADF")
            if handle.appends:
                offset = len(inode.bytes)
            if offset > len(inode.bytes) and data:
                inode.bytes.extend(bytes(offset - len(inode.bytes)))
            inode.bytes[offset:offset + len(data)] = data
            inode.changed()
            return offset + len(data)

        if self.random.random() < 0.4:
            offset = self.random.randrange(0, LARGEST // 2)

            def model():
                put(offset)
                return len(data)

            self.compare(
                f"pwrite {offset} {len(data)}", lambda: os.pwrite(handle.descriptor, data, offset), model)
        else:
            def model():
                if handle.writes and handle.offset + len(data) > LARGEST * 4:
                    handle.offset = 0
                    os.lseek(handle.descriptor, 0, os.SEEK_SET)
                handle.offset = put(handle.offset)
                return len(data)

            self.compare(f"write {len(data)}", lambda: os.write(handle.descriptor, data), model)

    def some_bytes(self):
        length = self.random.choice([1, 3, 100, 1000, 4096, 9000])
        if length <= 16:
            return self.random.randbytes(length)
        return self.random.randbytes(16) * (length // 16 + 1)

    def seek(self):
        handle = self.any_handle()
        if not handle:
            return
        if self.random.random() < 0.3:
            def model():
                handle.offset = len(handle.inode.bytes)
                return handle.offset

            self.compare("seek end", lambda: os.lseek(handle.descriptor, 0, os.SEEK_END), model)
        else:
            offset = self.random.randrange(0, LARGEST)

            def model():
                handle.offset = offset
                return offset

            self.compare(f"seek {offset}", lambda: os.lseek(handle.descriptor, offset, os.SEEK_SET), model)

    def resize(self, inode, size):
        if size <= len(inode.bytes):
            del inode.bytes[size:]
        else:
            inode.bytes.extend(bytes(size - len(inode.bytes)))
        inode.changed()

    def truncate(self):
        size = self.random.choice([0, 0, 1, 100, 4096, 20_000])
        if self.random.random() < 0.5:
            handle = self.any_handle()
            if not handle:
                return

            def model():
                if not handle.writes:
                    raise Failed("EINVAL")
                self.resize(handle.inode, size)

            self.compare(f"ftruncate {size}", lambda: os.ftruncate(handle.descriptor, size), model)
        else:
            place = self.any_place()

            def model():
                inode = self.inode(place)
                self.resize(inode, size)
                inode.acknowledged()

            self.compare(
                f"truncate {self.path_name(place)} {size}", lambda: os.truncate(self.path(place), size), model)

    def allocate(self):
        handle = self.any_handle()
        if not handle:
            return
        offset, length = self.random.randrange(0, 10_000), self.random.randrange(1, 10_000)
        mode = self.random.choice([
            0, 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE])
        inode = handle.inode

        def model():
            if not handle.writes:
                raise Failed("EBADF")
            if mode == 0 and offset + length > len(inode.bytes):
                self.resize(inode, offset + length)
            elif mode & FALLOC_FL_PUNCH_HOLE:
                end = min(offset + length, len(inode.bytes))
                if offset < end:
                    inode.bytes[offset:end] = bytes(end - offset)
                    inode.changed()

        self.compare(
            f"fallocate {mode} {offset} {length}",
            lambda: fallocate(handle.descriptor, mode, offset, length), model)

    def copy_range(self):
        source, target = self.any_handle(), self.any_handle()
        if not source or source.inode is target.inode:
            return
        count = self.random.randrange(1, 9000)
        start, at = self.random.randrange(0, 9000), self.random.randrange(0, 9000)

        def model():
            if not source.reads or not target.writes or target.appends:
                raise Failed("EBADF")
            data = bytes(source.inode.bytes[start:start + count])
            if data:
                if at > len(target.inode.bytes):
                    target.inode.bytes.extend(bytes(at - len(target.inode.bytes)))
                target.inode.bytes[at:at + len(data)] = data
                target.inode.changed()
            return len(data)

        def real():
            return os.copy_file_range(source.descriptor, target.descriptor, count, start, at)

        self.compare(f"copy_file_range {count} {start} {at}", real, model)

    def map(self):
        handle = self.any_handle()
        if not handle or not handle.reads or not handle.inode.bytes:
            return
        inode = handle.inode
        length = len(inode.bytes)
        if handle.writes and self.random.random() < 0.6:
            data = self.some_bytes()[:length]
            at = self.random.randrange(0, length - len(data) + 1)

            def real():
                with mmap.mmap(handle.descriptor, length) as mapped:
                    mapped[at:at + len(data)] = data
                    mapped.flush()

            def model():
                inode.bytes[at:at + len(data)] = data
                inode.changed()
                if inode.links:
                    inode.acknowledged()

            self.compare(f"map and write {at} {len(data)}", real, model)
        else:
            def real():
                with mmap.mmap(handle.descriptor, length, prot=mmap.PROT_READ) as mapped:
                    return mapped[:]

            self.compare("map and read", real, lambda: bytes(inode.bytes))

    def fsync(self):
        handle = self.any_handle()
        if not handle:
            return
        call = self.random.choice([os.fsync, os.fdatasync])

        def model():
            if handle.inode.links:
                handle.inode.acknowledged()

        self.compare("fsync", lambda: call(handle.descriptor), model)

    def fstat(self):
        handle = self.any_handle()
        if not handle:
            return

        def real():
            facts = os.fstat(handle.descriptor)
            return (facts.st_size, facts.st_nlink)

        self.compare("fstat", real, lambda: (len(handle.inode.bytes), handle.inode.links))

    def stat(self):
        place = self.any_place()
        self.compare(
            f"stat {self.path_name(place)}", lambda: os.stat(self.path(place)).st_size,
            lambda: len(self.inode(place).bytes))

    def rename(self):
        old, new = self.any_place(), self.any_place()
        flags = self.random.choice([0, 0, 0, RENAME_NOREPLACE])

        def model():
            inode = self.inode(old)
            if flags and new[1] in self.folders[new[0]]:
                raise Failed("EEXIST")
            if old == new:
                return
            if old[1] in SCRATCH_NAMES and new[1] not in SCRATCH_NAMES:
                # Closing a scratch file promises nothing; this rename does, but for one that was just emptied.
                inode.acknowledged() if inode.bytes else inode.forget()
            if new[1] in SCRATCH_NAMES:
                self.ghosts[old] = [inode.durable, *inode.since]
            if new[1] in self.folders[new[0]]:
                replaced = self.folders[new[0]][new[1]]
                if inode.durable is None:
                    self.ghosts[new] = [replaced.durable, *replaced.since]
                self.drop(new)
            self.folders[new[0]][new[1]] = inode
            del self.folders[old[0]][old[1]]

        self.compare(
            f"rename {self.path_name(old)} {self.path_name(new)} {flags}",
            lambda: renameat2(self.path(old), self.path(new), flags), model)

    def exchange(self):
        old, new = self.any_place(), self.any_place()
        if old[1] in SCRATCH_NAMES or new[1] in SCRATCH_NAMES:
            return

        def model():
            one, other = self.inode(old), self.inode(new)
            self.folders[old[0]][old[1]], self.folders[new[0]][new[1]] = other, one

        self.compare(
            f"exchange {self.path_name(old)} {self.path_name(new)}",
            lambda: renameat2(self.path(old), self.path(new), RENAME_EXCHANGE), model)

    def unlink(self):
        place = self.any_place()

        def model():
            self.inode(place)
            self.drop(place)

        self.compare(f"unlink {self.path_name(place)}", lambda: os.unlink(self.path(place)), model)

    def make_folder(self):
        name = self.random.choice(FOLDER_NAMES)

        def model():
            if name in self.folders:
                raise Failed("EEXIST")
            self.folders[name] = {}

        self.compare(f"mkdir {name}", lambda: os.mkdir(os.path.join(self.top, name)), model)

    def remove_folder(self):
        name = self.random.choice(FOLDER_NAMES)

        def model():
            if name not in self.folders:
                raise Failed("ENOENT")
            if self.folders[name]:
                raise Failed("ENOTEMPTY")
            del self.folders[name]

        self.compare(f"rmdir {name}", lambda: os.rmdir(os.path.join(self.top, name)), model)

    def rename_folder(self):
        old, new = self.random.choice(FOLDER_NAMES), self.random.choice(FOLDER_NAMES)

        def model():
            if old not in self.folders:
                raise Failed("ENOENT")
            if old == new:
                return
            if self.folders.get(new):
                raise Failed("ENOTEMPTY")
            self.folders[new] = self.folders.pop(old)

        self.compare(
            f"rename folder {old} {new}",
            lambda: os.rename(os.path.join(self.top, old), os.path.join(self.top, new)), model)

    def list(self):
        folder = self.random.choice(list(self.folders))
        names = sorted(self.folders[folder]) + ([] if folder else [name for name in self.folders if name])
        self.compare(
            f"list {folder or '.'}", lambda: sorted(os.listdir(os.path.join(self.top, folder or ""))),
            lambda: sorted(names))

    def content(self):
        place = self.any_place()

        def real():
            with open(self.path(place), "rb") as file:
                return file.read()

        self.compare(f"read {self.path_name(place)}", real, lambda: bytes(self.inode(place).bytes))

    def check_everything(self):
        for folder, files in self.folders.items():
            for name, inode in files.items():
                with open(self.path((folder, name)), "rb") as file:
                    if file.read() != inode.bytes:
                        raise SystemExit(f"{self.number}: {self.path_name((folder, name))} has other bytes")

    # A crash.

    def crash(self, command):
        for handle in self.handles:
            if not command:
                os.close(handle.descriptor)
        if command:
            subprocess.run(command, check=True, shell=True, stdin=subprocess.DEVNULL)
            for handle in self.handles:
                try:
                    os.close(handle.descriptor)
                except OSError:
                    pass
            self.check_after_crash()
        self.handles = []
        self.go_on_from_acknowledged()

    def check_after_crash(self):
        for folder, files in self.folders.items():
            found = set(os.listdir(os.path.join(self.top, folder or ""))) - set(FOLDER_NAMES)
            for name in found - set(files):
                # What an editor had renamed to a backup's name a moment ago may be back: a crash loses nothing.
                if name in SCRATCH_NAMES:
                    raise SystemExit(f"{self.number}: {name} has outlived a crash")
            for name, inode in files.items():
                if name in SCRATCH_NAMES:
                    if name in found:
                        raise SystemExit(f"{self.number}: the scratch file {name} has outlived a crash")
                    continue
                self.check_file_after_crash((folder, name), inode, name in found)

    def check_file_after_crash(self, place, inode, is_there):
        where = f"{self.number}: {self.path_name(place)}"
        if not is_there:
            if inode.durable is not None:
                raise SystemExit(f"{where} is lost, {len(inode.durable)} bytes were acknowledged")
            return
        with open(self.path(place), "rb") as file:
            content = file.read()
        if inode.durable is None and content in self.ghosts.get(place, []):
            return
        if content != inode.durable and content not in inode.since:
            raise SystemExit(
                f"{where} has {len(content)} bytes that it never had since {inode.durable and len(inode.durable)}"
                " bytes were acknowledged")

    def go_on_from_acknowledged(self):
        """Makes the directory what was acknowledged, wherever the crash has left more."""
        for folder, files in self.folders.items():
            for name in list(files):
                durable = files[name].durable
                if name in SCRATCH_NAMES or durable is None:
                    del files[name]
                    continue
                inode = files[name] = Inode()
                inode.bytes = bytearray(durable)
                inode.acknowledged()
            for name in os.listdir(os.path.join(self.top, folder or "")):
                if name not in files and name not in FOLDER_NAMES:
                    os.unlink(self.path((folder, name)))
            for name, inode in files.items():
                with open(self.path((folder, name)), "wb") as file:
                    file.write(inode.bytes)
                    file.flush()
                    os.fsync(file.fileno())

        self.ghosts = {}

    def step(self):
        self.number += 1
        operations = [
            (self.open, 14), (self.close, 10), (self.read, 14), (self.write, 16), (self.seek, 5),
            (self.truncate, 6), (self.allocate, 3), (self.copy_range, 2), (self.map, 5), (self.fsync, 2),
            (self.fstat, 4), (self.stat, 4), (self.rename, 6), (self.exchange, 1), (self.unlink, 2),
            (self.make_folder, 1), (self.remove_folder, 1), (self.rename_folder, 1), (self.list, 3), (self.content, 4),
        ]
        functions, weights = zip(*operations)
        operation = self.random.choices(functions, weights)[0]
        if operation == self.open and len(self.handles) >= 12:
            operation = self.close
        operation()


def describe(value):
    if isinstance(value, bytes):
        return f"{len(value)} bytes {hash_of(value)}"
    return repr(value)


def hash_of(data):
    return f"{zlib.crc32(data):08x}"


def main():
    top, seed, count, transcript = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    command, every = (sys.argv[5], int(sys.argv[6])) if len(sys.argv) > 6 else ("", 0)
    with open(transcript, "w") as lines:
        run = Run(top, seed, lines)
        for number in range(1, count + 1):
            run.step()
            if every and number % every == 0:
                run.crash(command)
            if number % 10_000 == 0:
                print(f"{number} operations", flush=True)
        for handle in list(run.handles):
            run.close(handle)
        run.check_everything()
    print(f"{count} operations, {sum(len(files) for files in run.folders.values())} files left")


main()
