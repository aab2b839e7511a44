"""Random sequences of file operations in a mount and on tmpfs: scripts/soak-sync sequences.

After each sequence the mount must show what tmpfs shows, and what was committed must hold the same: HEAD, the remote,
and, at the end, a fresh clone of it.
"""

import ctypes
import errno
import os
import random
import shutil
import tempfile
import time

LIBC = ctypes.CDLL("libc.so.6", use_errno=True)
EXCHANGE = 2
DELAY = 0.1
FILES = ["a", "b", "c", "d", "a.gpg", "b.gpg", "a.gpg.gpg", "note.txt"]
SCRATCH = ["a~", "b~", ".a.swp", "#c#"]
FOLDERS = ["x", "y", "z"]


def exchange(one, other):
    if LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def write(path, text, flags):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


class Sequence:
    """One sequence, in a folder of its own in the mount and on tmpfs."""

    def __init__(self, machine, tmpfs, number, count, chance):
        self.machine, self.number, self.chance = machine, number, chance
        self.tops = [f"{machine.mount_point}/s/q{number}", f"{tmpfs}/q{number}"]
        self.count = count
        self.done = []
        for top in self.tops:
            os.mkdir(top)

    def fail(self, problem):
        raise AssertionError(f"sequence {self.number}: {problem}; the last operations were\n  "
                             + "\n  ".join(self.done[-25:]))

    def kind(self, place):
        path = f"{self.tops[1]}/{place}"
        if os.path.islink(path):
            return "link"
        return "folder" if os.path.isdir(path) else "file" if os.path.exists(path) else None

    def both(self, what, call):
        """The same call in both, which must end the same way."""
        results = []
        for top in self.tops:
            try:
                call(lambda place: f"{top}/{place}")
                results.append("done")
            except OSError as error:
                results.append(errno.errorcode[error.errno])
        self.done.append(f"{what}: {results[1]}")
        # A file system may say either.
        if set(results) != {"ENOTEMPTY", "EEXIST"} and results[0] != results[1]:
            lies = sorted(os.path.relpath(os.path.join(folder, name), self.machine.path)
                          for folder, _, names in os.walk(f"{self.machine.path}/q{self.number}") for name in names)
            self.fail(f"{what} is {results[0]} in the mount, {results[1]} on tmpfs; on disk are {lies}")

    def place(self, names):
        """A name at the top or in a folder that is there."""
        folders = [folder for folder in self.folders() if self.chance.random() < 0.5]
        folder = self.chance.choice(folders) + "/" if folders else ""
        return folder + self.chance.choice(names)

    def folders(self):
        found = []
        for folder, names, _ in os.walk(self.tops[1]):
            found += [os.path.relpath(os.path.join(folder, name), self.tops[1]) for name in names
                      if not os.path.islink(os.path.join(folder, name))]
        return sorted(folder for folder in found if folder.count("/") < 3)

    def operation(self):
        chance, roll = self.chance, self.chance.random()
        text = f"{self.number} {len(self.done)}\n" * chance.choice([1, 1, 3])
        if roll < 0.30:
            place, flags = self.place(FILES), chance.choice([os.O_TRUNC, os.O_TRUNC, os.O_APPEND, os.O_EXCL])
            self.both(f"write {place} {flags}", lambda at: write(at(place), text, flags))
        elif roll < 0.36:
            # As editors save: beside it, then over it.
            place = self.place(FILES)
            scratch = os.path.join(os.path.dirname(place), chance.choice(SCRATCH))
            self.both(f"write {scratch}", lambda at: write(at(scratch), text, os.O_TRUNC))
            if self.kind(place) != "link":
                self.both(f"mv {scratch} {place}", lambda at: os.rename(at(scratch), at(place)))
        elif roll < 0.46:
            place = self.place(FILES + SCRATCH)
            self.both(f"rm {place}", lambda at: os.unlink(at(place)))
        elif roll < 0.64:
            one, other = self.place(FILES), self.place(FILES)
            # A link that leads to no secret is made anew under such a name by mv(1): EXDEV.
            if self.kind(one) != "link" or not other.endswith(".gpg"):
                self.both(f"mv {one} {other}", lambda at: os.rename(at(one), at(other)))
        elif roll < 0.72:
            place = self.place(FOLDERS)
            self.both(f"mkdir {place}", lambda at: os.mkdir(at(place)))
        elif roll < 0.80:
            one, other = self.place(FOLDERS), self.place(FOLDERS)
            self.both(f"mv {one} {other}", lambda at: os.rename(at(one), at(other)))
        elif roll < 0.84:
            place = self.place(FOLDERS)
            self.both(f"rmdir {place}", lambda at: os.rmdir(at(place)))
        elif roll < 0.86:
            place = self.place(FOLDERS)
            if self.kind(place) == "folder":
                self.both(f"rm -r {place}", lambda at: shutil.rmtree(at(place)))
        elif roll < 0.91:
            place, target = self.place(FILES), chance.choice(FILES + FOLDERS + ["nowhere"])
            self.both(f"ln -s {target} {place}", lambda at: os.symlink(target, at(place)))
        else:
            names = chance.choice([FILES, FOLDERS])
            one, other = self.place(names), self.place(names)
            # The mount swaps two secrets or two folders, and nothing else.
            if self.kind(one) == self.kind(other) and self.kind(one) in ("file", "folder"):
                self.both(f"exchange {one} {other}", lambda at: exchange(at(one), at(other)))

    def kill(self):
        self.done.append("kill -9")
        self.machine.kill()
        self.machine.start()
        for folder, _, names in os.walk(self.tops[1]):
            for name in names:
                if name in SCRATCH:
                    os.unlink(os.path.join(folder, name))

    def run(self):
        for _ in range(self.count):
            self.operation()
            roll = self.chance.random()
            if roll < 0.03:
                time.sleep(self.chance.random() * 2.5 * DELAY)
            elif roll < 0.035:
                self.kill()
        shown, wanted = (self.picture(top) for top in self.tops)
        if shown != wanted:
            self.fail(f"the mount shows {difference(shown, wanted)}")
        return {f"q{self.number}/{place}": what for place, what in wanted.items()
                if what[0] != "folder" and os.path.basename(place) not in SCRATCH}

    @staticmethod
    def picture(top):
        found = {}
        for folder, folders, names in os.walk(top):
            for name in folders + names:
                path = os.path.join(folder, name)
                place = os.path.relpath(path, top)
                if os.path.islink(path):
                    found[place] = ("link", os.readlink(path))
                elif os.path.isdir(path):
                    found[place] = ("folder", "")
                else:
                    with open(path) as file:
                        found[place] = ("file", file.read())
        return found


def difference(found, wanted):
    places = [place for place in set(found) | set(wanted) if found.get(place) != wanted.get(place)]
    return "; ".join(f"{place}: {found.get(place)} instead of {wanted.get(place)}" for place in sorted(places)[:8])


def committed(world, repository, revision, folder):
    """What a commit holds below a folder, by the names that the mount has for it."""
    listing = world.run("git", "ls-tree", "-r", "-z", revision, "--", folder, cwd=repository).stdout.decode()
    found, secrets = {}, []
    scratch = tempfile.mkdtemp(dir=world.folder)
    for line in filter(None, listing.split("\0")):
        mode, _, rest = line.split(" ", 2)
        blob, place = rest.split("\t", 1)
        if not place.startswith("q"):
            continue
        content = world.run("git", "cat-file", "blob", blob, cwd=repository).stdout
        shown = place[:-4] if place.endswith(".gpg") else place
        if mode == "120000":
            target = content.decode()
            found[shown] = ("link", target[:-4] if shown != place and target.endswith(".gpg") else target)
        else:
            with open(f"{scratch}/{len(secrets)}.gpg", "wb") as file:
                file.write(content)
            secrets.append(shown)
    for start in range(0, len(secrets), 200):
        files = [f"{scratch}/{number}.gpg" for number in range(start, min(start + 200, len(secrets)))]
        world.run("gpg", "--batch", "--quiet", "--multifile", "--decrypt", *files)
    for number, shown in enumerate(secrets):
        with open(f"{scratch}/{number}") as file:
            found[shown] = ("file", file.read())
    shutil.rmtree(scratch)
    return found


def sequences(world, count, length, seed):
    """`count` sequences of `length` operations each."""
    began, machine = time.time(), world.machines[0]
    tmpfs = tempfile.mkdtemp(prefix="pd-", dir="/dev/shm")
    with open(machine.env["XDG_CONFIG_HOME"] + "/passdir/config", "a") as file:
        file.write(f"[commit]\n\tdelay = {int(DELAY * 1000)}ms\n[mount]\n\tgrace = 200ms\n[sync]\n\tinterval = 0s\n")
    try:
        machine.start()
        wanted = {}
        for number in range(int(os.environ.get("FIRST", "0")), count):
            chance = random.Random(f"{seed}/{number}")
            sequence = Sequence(machine, tmpfs, number, length, chance)
            here = sequence.run()
            machine.sync()
            found = committed(world, machine.path, "HEAD", f"q{number}/")
            if found != here:
                sequence.fail(f"HEAD holds {difference(found, here)}")
            wanted.update(here)
            tips = [world.run("git", "rev-parse", name, cwd=folder).stdout
                    for name, folder in [("HEAD", machine.path), ("main", world.remote)]]
            if tips[0] != tips[1]:
                sequence.fail("the remote is not at HEAD")
            dirt = world.run("git", "status", "--porcelain", "-uall", cwd=machine.path).stdout.decode()
            if dirt:
                sequence.fail(f"git status shows {dirt}")
        clone = world.folder + "/clone"
        world.run("git", "clone", "-q", world.remote, clone)
        for repository in [machine.path, clone]:
            found = committed(world, repository, "HEAD", ".")
            assert found == wanted, f"{repository} holds {difference(found, wanted)}"
            world.run("git", "fsck", "--strict", cwd=repository)
        print(f"sequences: {count} of {length} operations each, seed {seed}, in {time.time() - began:.0f} s: mount, "
              f"tmpfs, HEAD and a fresh clone agree on {len(wanted)} files and links")
    except BaseException:
        print(f"seed {seed}")
        raise
    finally:
        shutil.rmtree(tmpfs, ignore_errors=True)
