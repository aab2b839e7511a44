#!/usr/bin/env python3
"""Measures what rules of who may read cost an open, in real time and in the daemon's processor time: one process opens, reads and
closes a secret a hundred times in each of two mounts by turns, of which one has rules that allow it; the median of nine pairs of
mounts. A kept secret, and one that is decrypted each time; the process on one processor, with the daemons and beside them, as
where the kernel puts them makes more than rules do. Usage: scripts/bench access [ROUNDS]. PASSDIR_BINARY names the program, else
it is the debug build."""
import json, os, pathlib, shutil, statistics, subprocess, sys, tempfile, time

top = pathlib.Path(__file__).resolve().parent.parent
passdir = os.environ.get("PASSDIR_BINARY") or str(top / ".build/debug/passdir")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
pairs = 9
all_processors = os.sched_getaffinity(0)
first = {min(all_processors)}
program = os.path.realpath("/proc/self/exe")


class Mount:
    """A store of one secret, mounted."""

    def __init__(self, has_rules, cache, processors):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GNUPGHOME": str(self.home / "g"),
                    "XDG_RUNTIME_DIR": str(self.home / "r"), "XDG_CONFIG_HOME": str(self.home / "c"),
                    "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}
        for name in "g", "r", "mnt":
            (self.home / name).mkdir(mode=0o700)
        self.run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "a@example.org", "future-default", "default", "never")
        store = self.home / "store"
        store.mkdir()
        (store / ".gpg-id").write_text("a@example.org\n")
        self.run("gpg", "--batch", "--trust-model", "always", "-r", "a@example.org", "-o", str(store / "key.gpg"), "-e",
                 input=b"text\n")
        self.run(passdir, "store", "add", "work", "--path", str(store))
        self.run("git", "config", "-f", str(self.home / "c/passdir/config"), "cache.time", cache)
        if has_rules:
            self.run(passdir, "access", "set", "work", "--deny-under", "claude,codex,cursor")
            self.run(passdir, "access", "set", "work", "--allow", program)
            self.run(passdir, "access", "set", "work", "--ask")
        self.run(passdir, "mount", str(self.home / "mnt"))
        self.secret = str(self.home / "mnt/work/key")
        status = subprocess.run([passdir, "status", "--json"], env=self.env, check=True, capture_output=True).stdout
        self.tasks = pathlib.Path(f"/proc/{json.loads(status)['mount']['pid']}/task")
        for task in self.tasks.iterdir():
            os.sched_setaffinity(int(task.name), processors)

    def run(self, *words, **more):
        return subprocess.run(words, env=self.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)

    def open(self):
        """Microseconds that one open, read and close takes."""
        start = time.perf_counter_ns()
        file = os.open(self.secret, os.O_RDONLY)
        os.read(file, 100)
        os.close(file)
        return (time.perf_counter_ns() - start) / 1000

    def processor(self):
        """Seconds of processor time that the daemon has taken, with its log's thread."""
        return sum(int((task / "schedstat").read_text().split()[0]) for task in self.tasks.iterdir()) / 1e9

    def end(self):
        subprocess.run([passdir, "unmount"], env=self.env, capture_output=True)
        subprocess.run(["gpgconf", "--kill", "all"], env=self.env)
        # The mount point of a daemon that was root's cannot be written to.
        subprocess.run(["chattr", "-i", str(self.home / "mnt")], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


def pair(cache, count, processors):
    """Microseconds an open without rules and with them: in real time, the median, and of the daemon's processor."""
    mounts = []
    try:
        for has_rules in False, True:
            mounts.append(Mount(has_rules, cache, processors))
        times, taken = [[], []], [0.0, 0.0]
        for number in range(count):
            for place in (0, 1) if number % 2 else (1, 0):
                # The first ones find the processor's caches full of the other daemon's.
                for _ in range(10): mounts[place].open()
                begin = mounts[place].processor()
                times[place] += [mounts[place].open() for _ in range(100)]
                taken[place] += mounts[place].processor() - begin
        return tuple(map(statistics.median, times)), tuple(one / count * 1e4 for one in taken)
    finally:
        for mount in mounts:
            mount.end()


kinds = [("kept", "60s", first, rounds), ("decrypted", "0s", first, rounds // 5)]
if beside := all_processors - first:
    kinds += [("kept, beside", "60s", beside, rounds), ("decrypted, beside", "0s", beside, rounds // 5)]
os.sched_setaffinity(0, first)
# Where a daemon lies in memory makes some percent: no pair says much alone.
for what, cache, processors, count in kinds:
    found = [pair(cache, max(count // pairs, 4), processors) for _ in range(pairs)]
    for of, both in ("real", [one[0] for one in found]), ("processor", [one[1] for one in found]):
        free, ruled = (statistics.median(times) for times in zip(*both))
        more = sorted((ruled / free - 1) * 100 for free, ruled in both)
        print(f"{what:18} {of:10} {free:8.1f} us without rules, {ruled:8.1f} us with: {statistics.median(more):+.1f} %"
              f" ({more[0]:+.1f} ... {more[-1]:+.1f} in {pairs} pairs of mounts)", flush=True)
