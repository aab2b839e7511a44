"""The fixture zoo: what programs make of secrets of every kind, in one table.

    zoo.py make STORE [--some]
    zoo.py look STORE MOUNTED-STORE SCRATCH-FOLDER TABLE SEMANTICS [--some | --regenerate]

`look` prints how the outcome differs from the table, and fails where it does; with --regenerate it writes the table, too.
Whatever is not as on any disk needs a reason that stands in docs/semantics.md.
"""

import difflib
import os
import subprocess
import sys

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zoo")
sys.path.insert(0, PROGRAMS)
from entry import readable
from look import IDEAL, LOOKS, Looks
from make import entries

WIDTH = 20
# What becomes of a secret whose list refuses it: it came before, it is refused, or it waits in memory.
BY_ORDER = {"same", "absent", "in memory"}


def table(zoo, outcomes):
    """One line an entry; the columns are as wide whatever is in them, so that a change of one cell is one changed line."""
    lines = ["".join(f"{look:<{WIDTH}}" for look in LOOKS) + "what"]
    for entry, cells in zip(zoo, outcomes):
        name = readable(entry.disk)
        name = name if len(name) < 60 else f"{name[:24]}...{name[-24:]}"
        lines.append("".join(f"{cells[look]:<{WIDTH}}" for look in LOOKS) + f"{entry.what} | {name}")
    return lines


def complaints(zoo, outcomes, semantics):
    """What is not as on any disk, and has no reason; and reasons that nothing needs, or that nobody has written down."""
    for entry, cells in zip(zoo, outcomes):
        odd = {look: cells[look] for look in LOOKS if cells[look] not in IDEAL[look]}
        name = f"{entry.what} ({readable(entry.disk)[:60]})"
        if odd and not entry.why:
            yield f"{name}: no reason for " + ", ".join(f"{look}: {cell}" for look, cell in odd.items())
        if entry.why and not odd:
            yield f"{name}: is as on any disk, and has a reason"
        if entry.why and entry.why not in semantics:
            yield f"{name}: its reason is not in docs/semantics.md: {entry.why}"


def subject(line):
    """What a line of the table is about."""
    return line[WIDTH * len(LOOKS):]


def look(store, mount, scratch, place, document, *options):
    zoo = list(entries(store, "--some" not in options))
    outcomes = Looks(zoo, *map(os.fsencode, [mount, store, scratch])).all()
    for entry, cells in zip(zoo, outcomes):
        if entry.is_by_order:
            cells.update((look, "by order") for look in cells if look.endswith(" in") and cells[look] in BY_ORDER)
    lines = table(zoo, outcomes)
    with open(document, encoding="utf-8") as file:
        semantics = " ".join(file.read().split())
    before = []
    if os.path.exists(place):
        with open(place, encoding="utf-8") as file:
            before = file.read().splitlines()
    if "--some" in options:
        subjects = {subject(line) for line in lines}
        before = [line for line in before if subject(line) in subjects]
    difference = list(difflib.unified_diff(before, lines, "the table", "now", lineterm="", n=0))
    regenerate = "--regenerate" in options
    if regenerate:
        with open(place, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    wrong = list(complaints(zoo, outcomes, semantics))
    print("\n".join(difference + wrong))
    print(f"{len(zoo)} entries, {len(difference)} lines of difference, {len(wrong)} complaints")
    return 1 if wrong or (difference and not regenerate) else 0


if sys.argv[1] == "make":
    sys.exit(subprocess.run([sys.executable, "-B", os.path.join(PROGRAMS, "make.py"), *sys.argv[2:]]).returncode)
sys.exit(look(*sys.argv[2:]))
