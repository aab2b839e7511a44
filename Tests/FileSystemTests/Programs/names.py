"""No operation makes a name vanish, or changes what a name shows, that it was not given.

    names.py FOLDER-IN-THE-MOUNT THE-SAME-FOLDER-ON-DISK [all]

Each operation meets each shape of names that end with .gpg: secrets, folders and links, made through the mount or lying
on the disk. It may fail, as long as it then changes nothing.
"""

import os
import shutil
import sys

from calls import RENAME_EXCHANGE, name_of, renameat2

TOP, DISK = sys.argv[1:3]


def write(name, text=None):
    with open(name, "w") as file:
        file.write(text or name)


def on_disk(name):
    """A ciphertext that pass or a pull has put there."""
    shutil.copy(os.path.join(DISK, "cipher.gpg"), os.path.join(DISK, os.path.basename(os.getcwd()), name))


SHAPES = {
    "x.gpg": lambda: write("x.gpg"),
    "x and x.gpg": lambda: (write("x"), write("x.gpg")),
    "x.gpg and x": lambda: (write("x.gpg"), write("x")),
    "x.gpg and x.gpg.gpg": lambda: (write("x.gpg"), write("x.gpg.gpg")),
    "x.gpg.gpg": lambda: write("x.gpg.gpg"),
    "all three": lambda: (write("x"), write("x.gpg"), write("x.gpg.gpg")),
    "folder x": lambda: (os.mkdir("x"), write("x/in")),
    "folder x and x.gpg": lambda: (os.mkdir("x"), write("x.gpg")),
    "x.gpg and folder x": lambda: (write("x.gpg"), os.mkdir("x")),
    "folder x.gpg": lambda: os.mkdir("x.gpg"),
    "folder x.gpg and x.gpg.gpg": lambda: (os.mkdir("x.gpg"), write("x.gpg.gpg")),
    "link x.gpg": lambda: os.symlink("s", "x.gpg"),
    "link x.gpg to nowhere": lambda: os.symlink("nowhere", "x.gpg"),
    "link x": lambda: os.symlink("s", "x"),
    "link x and x.gpg": lambda: (os.symlink("nowhere", "x"), write("x.gpg")),
    "disk: folder x and x.gpg": lambda: (os.mkdir("x"), on_disk("x.gpg")),
    "disk: x.gpg and x.gpg.gpg": lambda: (on_disk("x.gpg"), on_disk("x.gpg.gpg")),
    "disk: folder x, x.gpg and x.gpg.gpg": lambda: (os.mkdir("x"), on_disk("x.gpg"), on_disk("x.gpg.gpg")),
    "nothing": lambda: None,
}


def create(name):
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


OPERATIONS = {
    "create {}": create,
    "write {}": lambda name: write(name, "new"),
    "mkdir {}": os.mkdir,
    "ln -s s {}": lambda name: os.symlink("s", name),
    "ln -s nowhere {}": lambda name: os.symlink("nowhere", name),
    "mv s {}": lambda name: os.rename("s", name),
    "mv folder {}": lambda name: os.rename("folder", name),
    "mv link {}": lambda name: os.rename("link", name),
    "mv away {}": lambda name: os.rename("away", name),
    "exchange s {}": lambda name: renameat2("s", name, RENAME_EXCHANGE),
    "exchange folder {}": lambda name: renameat2("folder", name, RENAME_EXCHANGE),
    "mv {} y": lambda name: os.rename(name, "y"),
    "mv {} y.gpg": lambda name: os.rename(name, "y.gpg"),
}

# What the suite has time for; scripts/soak names runs all.
FEW = ["mkdir {}", "mv s {}", "mv away {}", "mv {} y"]
FEW_SHAPES = ["x.gpg", "x and x.gpg", "folder x and x.gpg", "link x and x.gpg", "disk: folder x and x.gpg",
              "disk: folder x, x.gpg and x.gpg.gpg"]

NAMED = {"mv s {}": "s", "mv folder {}": "folder", "mv link {}": "link", "mv away {}": "away",
         "exchange s {}": "s", "exchange folder {}": "folder", "mv {} y": "y", "mv {} y.gpg": "y.gpg"}


def look(name):
    if os.path.islink(name):
        return "link to " + os.readlink(name)
    if os.path.isdir(name):
        return "folder " + " ".join(sorted(os.listdir(name)))
    with open(name) as file:
        return "file " + file.read()


def everything():
    return {name: look(name) for name in os.listdir(".")}


def begin(prepare):
    """A folder in which a shape meets operations; a new one when one of them has changed it."""
    os.chdir(TOP)
    if os.path.exists("case"):
        shutil.rmtree("case")
    os.mkdir("case")
    os.chdir("case")
    write("s")
    os.mkdir("folder")
    os.symlink("s", "link")
    os.symlink("nowhere", "away")
    prepare()


def meet(case, shape, operation, call, name):
    """Whether the folder is as before, and what was wrong."""
    before = everything()
    try:
        call(name)
        failure = None
    except OSError as error:
        failure = name_of(error)
    after = everything()
    problems = []
    if failure:
        if before != after:
            problems.append(f"failed with {failure} and left {after} of {before}")
    else:
        given = {name, NAMED.get(operation, name)}
        for other, what in before.items():
            if other in given or after.get(other) == what:
                continue
            problems.append(f"{other} was {what}, is {after.get(other)}")
        target = NAMED[operation] if operation.startswith("mv {}") else name
        if target not in after:
            problems.append(f"{target} is not there: {after}")
        extra = set(after) - set(before) - given
        if extra:
            problems.append(f"nobody made {extra}")
    # What is listed is what can be looked up, and the other way round.
    for other in set(before) | set(after) | {name}:
        if os.path.lexists(other) != (other in after):
            problems.append(f"{other} is {'' if other in after else 'not '}listed, but a look at it says otherwise")
    return before == after, [f"{case}: {problem}" for problem in problems]


def main():
    write(os.path.join(TOP, "cipher"), "on disk")
    problems, count = [], 0
    is_long = len(sys.argv) > 3
    names = ["x", "x.gpg", "x.gpg.gpg"] if is_long else ["x", "x.gpg"]
    for shape in SHAPES if is_long else FEW_SHAPES:
        prepare, is_new = SHAPES[shape], False
        for operation in OPERATIONS if is_long else FEW:
            call = OPERATIONS[operation]
            for name in names:
                if not is_new:
                    try:
                        begin(prepare)
                    except OSError as error:
                        raise SystemExit("\n".join(problems + [f"before {shape}: {operation}: {error}"]))
                is_new, found = meet(f"{shape}: {operation.format(name)}", shape, operation, call, name)
                problems += found
                for problem in found:
                    print(problem, file=sys.stderr, flush=True)
                count += 1
    os.chdir(TOP)
    print(f"{count} cases")
    if problems:
        raise SystemExit("\n".join(problems))


main()
