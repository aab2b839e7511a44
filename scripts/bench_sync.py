"""The measurements of scripts/bench-sync: what saves and commits cost, beside pass."""

import os
import subprocess
import sys
import threading
import time

from soak_sync import World, wait_for


def pushed(world, machine, count):
    tip = world.run("git", "rev-parse", "main", cwd=world.remote).stdout.strip()
    if tip != world.run("git", "rev-parse", "HEAD", cwd=machine.path).stdout.strip():
        return False
    listing = world.run("git", "ls-tree", "--name-only", "main", cwd=world.remote).stdout.decode().split()
    return sum(name.startswith("bench") for name in listing) == count


def saves(binary, count):
    """1,000 saves through the mount to pushed commits, commit.delay as it is, beside 1,000 `pass insert` and a push."""
    world = World(binary, 2)
    try:
        one, two = world.machines
        config = one.env["XDG_CONFIG_HOME"] + "/passdir/config"
        text = open(config).read().replace("\tdelay = 0ms\n", "")
        open(config, "w").write(text)
        for writers in [1, 4]:
            one.start()
            began = time.time()

            def write(start):
                for number in range(start, count, writers):
                    assert one.save(f"bench{writers}-{number}", f"secret {number}\n")

            threads = [threading.Thread(target=write, args=[start]) for start in range(writers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            saved = time.time() - began
            done = count if writers == 1 else 2 * count
            wait_for("all is pushed", 300, lambda: pushed(world, one, done))
            commits = world.run("git", "rev-list", "--count", "HEAD", cwd=one.path).stdout.decode().strip()
            print(f"mount, {writers} writers: {count} saves in {saved:.2f} s, pushed after {time.time() - began:.2f} s "
                  f"({commits} commits in all)", flush=True)
            one.stop()
        began = time.time()
        for number in range(count):
            world.run("pass", "insert", "-m", f"pass{number}", env=two.env, input=f"secret {number}\n".encode())
        inserted = time.time() - began
        world.run("git", "pull", "-q", "--no-edit", cwd=two.path)
        world.run("git", "push", "-q", cwd=two.path)
        print(f"pass: {count} inserts in {inserted:.2f} s, pushed after {time.time() - began:.2f} s")
    finally:
        world.end()


def fill(world, machine, sample, total):
    for number in range(total):
        folder = f"{machine.path}/d{number // 100}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/s{number}.gpg", "wb") as file:
            file.write(sample)
    world.run("git", "add", "-A", cwd=machine.path, timeout=600)
    world.run("git", "commit", "-q", "-m", "Fill", cwd=machine.path, timeout=600)
    world.run("git", "gc", "-q", cwd=machine.path, timeout=600)
    machine.start()


def committed(machine, content):
    """Milliseconds from the end of a save to the moment in which the branch has its commit."""
    ref = machine.path + "/.git/refs/heads/main"

    def tip():
        return open(ref).read() if os.path.exists(ref) else ""

    old = tip()
    assert machine.save("d0/s1", content)
    began = time.perf_counter()
    while tip() == old:
        time.sleep(0.0002)
    return (time.perf_counter() - began) * 1000


def written_plainly(index):
    """Milliseconds that a new file with the index's bytes takes until it is on the disk."""
    data = open(index, "rb").read()
    copy = index + ".bench"
    began = time.perf_counter()
    file = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(file, data)
    os.fsync(file)
    took = (time.perf_counter() - began) * 1000
    os.close(file)
    os.unlink(copy)
    return took


def commits(binary, large, rounds=60):
    """The time from a save to its commit, with commit.delay = 0, in a store of 100 secrets and in one of many.

    In turn: what the disk is at, such as freeing what was removed a minute ago, slows both down alike."""
    world = World(binary, 2)
    try:
        sizes = [100, large]
        world.run("pass", "insert", "-m", "sample", env=world.machines[0].env, input=b"secret\n")
        sample = open(world.machines[0].path + "/sample.gpg", "rb").read()
        for machine, total in zip(world.machines, sizes):
            world.run("git", "remote", "remove", "origin", cwd=machine.path)
            fill(world, machine, sample, total)
        # What the start looks for in the store is found.
        time.sleep(5)
        times = [[], []]
        plain = []
        for number in range(rounds):
            for machine, found in zip(world.machines, times):
                found.append(committed(machine, f"secret {number}\n"))
                time.sleep(0.05)
            plain.append(written_plainly(world.machines[1].path + "/.git/index"))
            time.sleep(0.05)
        medians = []
        for total, found in zip(sizes, times):
            found.sort()
            medians.append(found[len(found) // 2])
            print(f"{total} secrets: median {medians[-1]:.1f} ms, fastest {found[0]:.1f}, slowest {found[-1]:.1f}")
        print(f"factor {medians[1] / medians[0]:.2f}")
        # git's index is one file that is written whole, so that its size counts as much as the disk's speed.
        size = os.path.getsize(world.machines[1].path + "/.git/index") / 1e6
        once = sorted(plain)[len(plain) // 2]
        print(f"an index of {size:.1f} MB, written and synchronized by itself: median {once:.1f} ms; "
              f"factor without it {(medians[1] - once) / medians[0]:.2f}")
    finally:
        world.end()


if __name__ == "__main__":
    binary, what = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    count = int(sys.argv[3]) if len(sys.argv) > 3 else None
    if what == "saves":
        saves(binary, count or 1000)
    elif what == "commits":
        commits(binary, count or 100000)
    else:
        sys.exit("Usage: scripts/bench-sync saves|commits [COUNT]")
