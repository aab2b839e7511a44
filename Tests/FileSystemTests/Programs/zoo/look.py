"""What programs make of each entry of the zoo, as words of the table."""

import os
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from calls import name_of
from entry import write
from messages import home

LOOKS = ["ls", "stat", "cat", "cp", "rsync", "tar", "cp in", "rsync in", "tar in", "save"]
# An ordinary file, link and folder of any disk.
IDEAL = {
    "ls": {"file", "link"}, "stat": {"exact", "lower, exact", "higher, exact"}, "cat": {"same", "-"}, "save": {"saved", "-"},
    **{look: {"same"} for look in LOOKS[3:6]}, **{look: {"same", "-"} for look in LOOKS[6:9]},
}


def read(path):
    """The bytes of a file by its path."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        data = b""
        while chunk := os.read(file, 1 << 20):
            data += chunk
        return data
    finally:
        os.close(file)


def save(path, data):
    """Saves as a shell's `>` does, and tells which call fails."""
    call = "open"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o600)
        call = "write"
        try:
            os.write(file, data)
            call = "close"
        finally:
            os.close(file)
        return None
    except OSError as error:
        return f"{name_of(error)} {call}"


def kind(path, listed):
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return name_of(error)
    name = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe"}.get(
        stat.S_IFMT(mode), "other")
    if os.path.basename(path) not in listed:
        return f"{name}, not listed"
    return name if name != "file" or mode & 0o777 == 0o600 else f"file {mode & 0o777:o}"


def size(path, entry):
    """How the size that stat tells compares with what is read."""
    try:
        found = os.lstat(path).st_size
    except OSError:
        return "-"
    wanted = entry.target if entry.target is not None else entry.content
    if wanted is None:
        return "-"
    return "exact" if found == len(wanted) else "lower" if found < len(wanted) else "higher"


def content(path, entry):
    try:
        data = read(path)
    except OSError as error:
        return name_of(error)
    return "same" if data == entry.content else "other bytes"


def compare(path, entry, times, unit=1):
    """A copy of an entry; its time is kept to so many nanoseconds."""
    try:
        found = os.lstat(path)
        if entry.target is not None:
            told = os.readlink(path)
            return "same" if told == entry.target else "other target"
        if not stat.S_ISREG(found.st_mode):
            return "no file"
        if entry.content is not None and read(path) != entry.content:
            return "other bytes"
    except OSError as error:
        return "absent" if isinstance(error, FileNotFoundError) else name_of(error)
    return "same" if found.st_mtime_ns // unit == times.st_mtime_ns // unit else "other time"


def decrypted(ciphertexts, folder):
    """What gpg decrypts, by one process: a dictionary of the same keys."""
    os.makedirs(folder)
    numbered = {}
    for number, (key, data) in enumerate(ciphertexts.items()):
        numbered[key] = os.path.join(folder, str(number))
        write(numbered[key] + ".gpg", data)
    given = "".join(path + ".gpg\n" for path in numbered.values()).encode()
    subprocess.run(["gpg", "--batch", "--quiet", "--yes", "--multifile", "--decrypt"], input=given, capture_output=True)
    return {key: read(path) if os.path.exists(path) else None for key, path in numbered.items()}


def shell(script, *arguments):
    """A script of bash, which may fail for some of the files: those are seen by themselves."""
    subprocess.run(["bash", "-c", script, "zoo", *arguments], capture_output=True)


# tar's usual format has whole seconds.
UNITS = {"cp": 1, "rsync": 1, "tar": 10**9}
COPIES = {
    "cp": "mkdir \"$2\"; cp -a -- \"$1/.\" \"$2\"",
    "rsync": "mkdir \"$2\"; rsync -a -- \"$1/\" \"$2\"",
    "tar": "mkdir \"$2\"; tar -C \"$1\" -c . | tar -C \"$2\" -x",
}


def backing(store, folder, entry):
    """Where what was copied into a folder of the mount lies on disk: as a secret, or for a list as it is."""
    path = os.path.join(store, folder, entry.shown)
    for found in [path + b".gpg", path]:
        if os.path.lexists(found):
            return found
    return None


class Looks:
    """All outcomes, by entry and look."""

    def __init__(self, entries, mount, store, scratch):
        self.entries, self.mount, self.store, self.scratch = entries, mount, store, scratch
        self.cells = [{} for _ in entries]
        os.makedirs(scratch, exist_ok=True)

    def place(self, entry):
        return os.path.join(self.mount, entry.shown)

    def look(self):
        listed = {}
        for entry, cells in zip(self.entries, self.cells):
            path = self.place(entry)
            folder = os.path.dirname(path)
            if folder not in listed:
                try:
                    listed[folder] = set(os.listdir(folder))
                except OSError:
                    listed[folder] = set()
            cells["ls"] = kind(path, listed[folder])
            cells["stat"] = size(path, entry)

    def read(self):
        for entry, cells in zip(self.entries, self.cells):
            path = self.place(entry)
            cells["cat"] = content(path, entry)
            if entry.target is not None and entry.content is None:
                cells["cat"] = "-" if cells["cat"] in ["ENOENT", "ELOOP", "EISDIR"] else cells["cat"]
            after = size(path, entry)
            if after != cells["stat"]:
                cells["stat"] += ", " + after

    def copy_out(self):
        for look, script in COPIES.items():
            folder = os.path.join(self.scratch, os.fsencode(look))
            shell(script, self.mount, folder)
            for entry, cells in zip(self.entries, self.cells):
                try:
                    times = os.lstat(self.place(entry))
                except OSError:
                    cells[look] = "-"
                    continue
                cells[look] = compare(os.path.join(folder, entry.shown), entry, times, UNITS[look])

    def make_wanted(self):
        """The tree on an ordinary disk that holds what the zoo holds, as far as it can be read."""
        top = os.path.join(self.scratch, b"wanted")
        for entry in self.entries:
            path = os.path.join(top, entry.shown)
            if entry.content is None and entry.target is None:
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if entry.target is not None:
                os.symlink(entry.target, path)
                continue
            write(path, entry.content)
            modified = os.lstat(os.path.join(self.store, entry.disk)).st_mtime_ns
            os.utime(path, ns=(modified, modified))
        return top

    def copy_in(self):
        wanted = self.make_wanted()
        ciphertexts = {}
        for look, script in COPIES.items():
            folder = b"in-" + os.fsencode(look)
            shell(script, wanted, os.path.join(self.mount, folder))
            for number, (entry, cells) in enumerate(zip(self.entries, self.cells)):
                cells[look + " in"] = self.outcome_in(entry, wanted, folder, UNITS[look])
                if cells[look + " in"] == "same" and entry.target is None and not is_list(entry):
                    found = backing(self.store, folder, entry)
                    if found is None or not found.endswith(b".gpg"):
                        cells[look + " in"] = "as it is" if found else "in memory"
                        continue
                    ciphertexts[look, number] = read(found)
        plain = decrypted(ciphertexts, os.path.join(home("check-in")))
        for (look, number), data in plain.items():
            if data != self.entries[number].content:
                self.cells[number][look + " in"] = "not for gpg"

    def outcome_in(self, entry, wanted, folder, unit):
        source = os.path.join(wanted, entry.shown)
        if not os.path.lexists(source):
            return "-"
        path = os.path.join(self.mount, folder, entry.shown)
        outcome = compare(path, entry, os.lstat(source), unit)
        if outcome == "absent":
            return self.probe(entry, folder)
        if outcome == "same" and entry.target is not None and entry.content is not None:
            # A link leads to its secret in the mount and, for pass, on disk.
            if content(path, entry) != "same":
                return "leads astray"
            found = backing(self.store, folder, entry)
            if not os.path.exists(found):
                return "dangling on disk"
        return outcome

    def probe(self, entry, folder):
        """Why it could not be made."""
        path = os.path.join(self.mount, b"probe-" + folder, entry.shown)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if entry.target is not None:
                os.symlink(entry.target, path)
                return "absent"
        except OSError as error:
            return name_of(error)
        return save(path, entry.content) or "absent"

    def save(self):
        ciphertexts = {}
        # A list of recipients comes last: what it says counts for the secrets beside it.
        for number, entry in sorted(enumerate(self.entries), key=lambda item: is_list(item[1])):
            path, cells = self.place(entry), self.cells[number]
            data = entry.content + b"# saved\n" if is_list(entry) else b"saved %d\n" % number
            cells["save"] = "-"
            if not stat.S_ISREG(mode_of(path)):
                continue
            cells["save"] = save(path, data) or "saved"
            if cells["save"] != "saved":
                continue
            try:
                if read(path) != data:
                    cells["save"] = "other bytes"
                if not is_list(entry):
                    ciphertexts[number] = read(self.ciphertext(entry))
            except OSError as error:
                cells["save"] = name_of(error)
        for number, data in decrypted(ciphertexts, home("check-save")).items():
            if data != b"saved %d\n" % number:
                self.cells[number]["save"] = "not for gpg"

    def ciphertext(self, entry):
        """Where a secret lies on disk, or the one that a link of the mount leads to."""
        if entry.target is None:
            return os.path.join(self.store, entry.disk)
        led = os.path.relpath(os.path.realpath(self.place(entry)), os.path.realpath(self.mount))
        return os.path.join(self.store, led) + b".gpg"

    def all(self):
        for step in [self.look, self.read, self.copy_out, self.copy_in, self.save]:
            begin = time.monotonic()
            step()
            print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        return self.cells


def mode_of(path):
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def is_list(entry):
    return os.path.basename(entry.disk) == b".gpg-id"
