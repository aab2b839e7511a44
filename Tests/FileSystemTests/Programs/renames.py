"""Renames secrets in the middle of the save that their last close has begun.

    renames.py DIRECTORY COUNT

An empty file is saved after its close has returned, so the rename that follows meets that save at any of its steps.
Afterwards the old name must be gone and the new one must be there, now and when both have settled.
"""

import os
import random
import sys
import time

os.chdir(sys.argv[1])
chance = random.Random(1)


def make(name):
    os.close(os.open(name, os.O_CREAT | os.O_RDWR, 0o600))


def expect(step, present, absent):
    names = os.listdir()
    assert present in names and absent not in names, f"round {step}: {present} and not {absent}, but {names}"
    assert not os.path.exists(absent), f"round {step}: {absent} is there again"


for step in range(int(sys.argv[2])):
    if step % 2:
        # An editor's way: the old version waits under a backup's name while the new one is made.
        with open("f", "wb") as file:
            file.write(b"old\n")
        os.rename("f", "f~")
    make("f")
    end = time.perf_counter() + chance.uniform(0, 0.03)
    while time.perf_counter() < end:
        pass
    os.rename("f", "g")
    expect(step, "g", "f")
    descriptor = os.open("g", os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)
    expect(step, "g", "f")
    assert os.path.getsize("g") == 0, f"round {step}: g has {os.path.getsize('g')} bytes"
    os.unlink("g")
    assert "g" not in os.listdir() and "f" not in os.listdir(), f"round {step}: {os.listdir()}"
