"""Locks a store while programs read and write it, and looks for what should be forgotten.

Usage: lock.py MOUNT SOCKET DAEMON ROUNDS < MARK

In the store `work`, below MOUNT, the secrets `read0` to `read3` hold what standard input says. The daemon looks into the
environment of programs for a terminal and a display: $TOKEN must not stay with it. Twenty readers, each with a thread, read them
as they come; five writers save theirs. In each round the store is unlocked, locked over the control socket as soon as the
marker is in the daemon's memory, and the daemon stopped at the reply: then neither its memory nor the kernel's pages may hold the
marker. At the end what the writers were told is saved must be there. Only root can look into the daemon.

Prints the times of the locks in milliseconds, sorted.
"""

import ctypes
import errno
import json
import mmap
import os
import re
import signal
import socket
import sys
import threading
import time

mount, control, daemon, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
folder = mount + "/work"
marker = sys.stdin.buffer.read()
token = os.environ["TOKEN"].encode()
libc = ctypes.CDLL(None, use_errno=True)
is_over = threading.Event()
problems = []
reads = 0


def call(method, **parameters):
    """Calls a method of the daemon; one that fails is a problem."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(control)
        connection.sendall(json.dumps({"method": "org.passdir.Control." + method, "parameters": parameters}).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            piece = connection.recv(65536)
            if not piece:
                break
            reply += piece
    if "error" in json.loads(reply[:-1]):
        problems.append(f"{method}: {reply!r}")


def occurrences(marker):
    """Where the daemon's memory has a text, also where no core dump would look: the mappings, with what lies around."""
    found = []
    with open(f"/proc/{daemon}/maps") as maps, open(f"/proc/{daemon}/mem", "rb", 0) as memory:
        for line in maps:
            start, end, access = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if not access.startswith("rw"):
                continue
            place, end, tail = int(start, 16), int(end, 16), b""
            begin = place
            while place < end:
                try:
                    memory.seek(place)
                    piece = memory.read(min(end - place, 1 << 24))
                except OSError:
                    # Not there any more, while the daemon runs.
                    break
                if not piece:
                    break
                text = tail + piece
                found += [
                    f"{line.strip()} at {place - len(tail) + match.start() - begin:#x}: "
                    f"{text[max(0, match.start() - 24):match.end() + 24]!r}"
                    for match in re.finditer(re.escape(marker), text)
                ]
                tail = piece[1 - len(marker):]
                place += len(piece)
    return found


def refused(path):
    """Reads a file; whether that was refused."""
    global reads
    try:
        with open(path, "rb", 0) as file:
            if marker not in file.read():
                problems.append(f"{path} was read without its text")
            reads += 1
            # Open for longer than the read, as a program that works with it.
            is_over.wait(0.002)
            file.seek(0)
            file.read()
    except PermissionError:
        return True
    return False


def read_on(number):
    while not is_over.is_set():
        if refused(f"{folder}/read{number % 4}"):
            is_over.wait(0.005)


def write_on(number):
    """Saves in several writes; each close must succeed."""
    count = 0
    while not is_over.is_set():
        count += 1
        try:
            with open(f"{folder}/written{number}", "wb", 0) as file:
                file.write(b"text ")
                is_over.wait(0.002)
                file.write(b"%d of %d" % (count, number))
        except OSError as error:
            problems.append(f"a save failed: {error}")
            return
        saved[number] = b"text %d of %d" % (count, number)


def resident(pages):
    """How many pages of a mapping the kernel has."""
    count = (len(pages) + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    found = (ctypes.c_ubyte * count)()
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(pages)), found):
        problems.append(f"mincore: {os.strerror(ctypes.get_errno())}")
    return sum(state & 1 for state in found)


saved = {}
threads = [threading.Thread(target=read_on, args=[number]) for number in range(20)]
threads += [threading.Thread(target=write_on, args=[number]) for number in range(5)]
for thread in threads:
    thread.start()
times = []
for number in range(rounds):
    call("Unlock", stores=["work"])
    before = reads
    held = os.open(f"{folder}/read0", os.O_RDONLY)
    # A private mapping that may be written, as ctypes takes no other; it is never written.
    pages = mmap.mmap(held, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    pages[0]
    unsaved = os.open(f"{folder}/unsaved", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(unsaved, b"not saved in round %d" % number)
    deadline = time.monotonic() + 30
    while reads < before + 20 or not resident(pages) or not occurrences(marker):
        if time.monotonic() > deadline:
            problems.append("nothing is there to be forgotten")
            break
        time.sleep(0.01)
    start = time.monotonic()
    call("Lock", stores=["work"])
    times.append((time.monotonic() - start) * 1000)
    os.kill(daemon, signal.SIGSTOP)
    left, kept = occurrences(marker), resident(pages)
    os.kill(daemon, signal.SIGCONT)
    if left:
        problems.append(f"round {number}: in the daemon's memory after {times[-1]:.0f} ms: " + "; ".join(left))
    if kept:
        problems.append(f"round {number}: {kept} pages in the kernel")
    try:
        os.pread(held, 16, 0)
        problems.append(f"round {number}: an old descriptor reads on")
    except OSError as error:
        if error.errno != errno.EACCES:
            problems.append(f"an old descriptor: {error}")
    try:
        os.close(unsaved)
    except OSError as error:
        problems.append(f"what was unsaved is lost: {error}")
    pages.close()
    os.close(held)
    if problems:
        break
is_over.set()
for thread in threads:
    thread.join()
call("Unlock", stores=["work"])
saved["unsaved"] = b"not saved in round %d" % (len(times) - 1)
for name, text in saved.items():
    with open(f"{folder}/{name if name == 'unsaved' else f'written{name}'}", "rb") as file:
        found = file.read()
    if found != text:
        problems.append(f"{name}: saved {text!r}, found {found!r}")
if left := occurrences(token):
    problems.append("of a reader's environment: " + "; ".join(left))
for problem in problems:
    print(problem, file=sys.stderr)
print(*(f"{duration:.1f}" for duration in sorted(times)))
sys.exit(1 if problems else 0)
