"""One of several programs that work at the same few names at a time.

    worker.py DIRECTORY ID COUNT

All it writes are records of 64 bytes that tell who wrote them, each by one call and at a multiple of 64: whatever
happens between the workers, a file that does not consist of whole records is torn. Only that a name is not there is
an answer that a worker may get.
"""

import os
import random
import sys

NAMES = [f"n{number}" for number in range(20)]
SIZE = 64


def record(worker, number):
    return f"{worker} {number} ".encode().ljust(SIZE - 1, b".") + b"\n"


def check(data, name):
    if len(data) % SIZE:
        raise SystemExit(f"{name} has {len(data)} bytes")
    for start in range(0, len(data), SIZE):
        piece = data[start:start + SIZE]
        if not piece.endswith(b".\n") or not piece[:1].isdigit():
            raise SystemExit(f"{name} has {piece!r} at {start}")


def save(name, data, flags):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)


def step(worker, number, chance):
    name, other = chance.choice(NAMES), chance.choice(NAMES)
    data = record(worker, number)
    kind = chance.randrange(8)
    if kind == 0:
        save(name, data * chance.randrange(1, 20), os.O_TRUNC)
    elif kind == 1:
        save(name, data, os.O_APPEND)
    elif kind == 2:
        temporary = f".{name}.{worker}x{number}"
        save(temporary, data * 3, os.O_EXCL)
        os.rename(temporary, name)
    elif kind == 3:
        os.rename(name, other)
    elif kind == 4:
        os.unlink(name)
    elif kind == 5:
        descriptor = os.open(name, os.O_RDWR)
        check(os.pread(descriptor, SIZE * 1000, 0), name)
        os.pwrite(descriptor, data, 0)
        os.fsync(descriptor)
        os.close(descriptor)
    elif kind == 6:
        os.listdir(".")
        os.stat(name)
    else:
        with open(name, "rb", buffering=0) as file:
            check(file.read(SIZE * 1000), name)


def main():
    os.chdir(sys.argv[1])
    worker, count = int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(worker)
    for number in range(count):
        try:
            step(worker, number, chance)
        except FileNotFoundError:
            pass


main()
