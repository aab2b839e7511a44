"""A table of what POSIX and Linux say that system calls do, run on tmpfs and in the mount.

    assertions.py MOUNTED-FOLDER TMPFS-FOLDER SEMANTICS [ROUNDS] [--regenerate]

On tmpfs all must come out as assertions.txt says. In the mount, what comes out otherwise must be one of the differences of
assertions/differences.py, each of which gives its reason, a sentence of docs/semantics.md. ROUNDS run all of it, each after
the first in another order; 0 runs every tenth assertion. --regenerate writes assertions.txt from
tmpfs: look at what git then says has changed.
"""

import itertools
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "assertions"))
import calls_of_one
import calls_of_two
import differences
from calls import name_of
from effects import EFFECTS, effect, modes
from situations import SITUATIONS

TABLE = os.path.join(HERE, "assertions.txt")


def assertions():
    """Pairs of a name and a function that gives a word; each runs in an empty folder."""
    for name, call in calls_of_one.CALLS.items():
        for situation, make in SITUATIONS.items():
            yield f"{name} | {situation}", lambda call=call, make=make: tell(call, make("a"))
    for (name, call), old, new in itertools.product(
            calls_of_two.CALLS.items(), calls_of_two.SITUATIONS, [*calls_of_two.SITUATIONS, "itself", "in itself"]):
        yield f"{name} | {old} | {new}", lambda call=call, old=old, new=new: of_two(call, old, new)
    for name in EFFECTS:
        yield f"effect: {name}", lambda name=name: effect(name)
    for name, call in modes():
        yield f"mode: {name}", call


def tell(call, *paths):
    call(*paths)
    return "ok"


def of_two(call, old, new):
    first = SITUATIONS[old]("a")
    second = first if new == "itself" else first.rstrip("/") + "/b" if new == "in itself" else SITUATIONS[new]("b")
    return tell(call, first, second)


def run(top, given):
    """What each assertion gives below a folder."""
    results = {}
    for number, (name, function) in enumerate(given):
        folder = os.path.join(top, f"{number % 50}", "case")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        os.chdir(folder)
        try:
            results[name] = function()
        except OSError as error:
            results[name] = name_of(error)
    os.chdir("/")
    return results


def complaints(table, found, elsewhere, semantics, is_all):
    used = set()
    for name, result in found.items():
        if elsewhere[name] != table.get(name):
            yield f"{name}: {elsewhere[name]} on tmpfs, {table.get(name)} in the table"
        number = differences.find(name, table.get(name), result)
        if number is not None:
            used.add(number)
        elif result != table.get(name):
            yield f"{name}: {result} in the mount, {table.get(name)} on any disk, and no reason"
    if is_all:
        for name in table.keys() - found.keys():
            yield f"{name}: in the table only"
    for number, (pattern, outcome, reason) in enumerate(differences.DIFFERENCES):
        if is_all and number not in used:
            yield f"{pattern}, {outcome}: the mount does not differ there"
        if reason not in semantics:
            yield f"{pattern}, {outcome}: its reason is not in docs/semantics.md: {reason}"


def main():
    words = [word for word in sys.argv[1:] if word != "--regenerate"]
    mount, tmpfs, document = words[:3]
    rounds = int(words[3]) if len(words) > 3 else 1
    given = list(assertions())
    if not rounds:
        given = given[::10]
    with open(document, encoding="utf-8") as file:
        semantics = " ".join(file.read().split())
    wrong = []
    for number in range(rounds or 1):
        if number:
            random.shuffle(given)
        elsewhere, found = run(tmpfs, given), run(mount, given)
        if "--regenerate" in sys.argv:
            with open(TABLE, "w", encoding="utf-8") as file:
                file.writelines(f"{name} | {result}\n" for name, result in elsewhere.items())
        with open(TABLE, encoding="utf-8") as file:
            table = dict(line.rstrip("\n").rsplit(" | ", 1) for line in file)
        wrong += complaints(table, found, elsewhere, semantics, rounds > 0)
        differing = sum(found[name] != table.get(name) for name in found)
        print(f"{len(given)} assertions, {differing} of them with a difference that has a reason or is told here", flush=True)
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
