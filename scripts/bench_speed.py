#!/usr/bin/env python3
"""Measures looking, reading and saving through the mount, side by side with gpg, pass, gocryptfs and libfuse's passthrough_ll.

Usage: scripts/bench speed [--count N] [--folders N] [--rounds N] [--key cv25519|rsa4096] [--json FILE]
       scripts/bench speed --plot FILE.svg [--largest N]

The second form draws cold reads and 'ls -lR' over 10 to N secrets (100000).
It uses $PASSDIR_BINARY, else the release build. Rivals that are not installed are left out, and that is said. Every number
is a median, in milliseconds; read them as ratios, for all are taken in one run on one machine. Everything lies in a folder
of its own under /tmp.
"""

import argparse
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEYS = {"cv25519": "future-default", "rsa4096": "rsa4096"}
# Beyond so many, secrets are copies: to encrypt a hundred thousand takes longer than all that is measured.
DISTINCT = 1000
EXAMPLE = pathlib.Path("/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c")


def run(*command, **options):
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.PIPE)
    done = subprocess.run([str(word) for word in command], **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed: {(done.stderr or b'').decode(errors='replace')}")
    return done.stdout


def milliseconds(body):
    start = time.perf_counter()
    body()
    return (time.perf_counter() - start) * 1000


def median(rounds, body):
    return statistics.median(milliseconds(body) for _ in range(rounds))


class Trees:
    """The same secrets as each rival shows them."""

    def __init__(self, home, options):
        self.home, self.options, self.mounted, self.notes, self.processes = home, options, [], [], []
        self.names = [f"folder{n % options.folders}/secret{n}" for n in range(options.count)]
        binary = os.environ.get("PASSDIR_BINARY")
        if not binary:
            run("swift", "build", "--configuration", "release", "--product", "passdir", cwd=ROOT)
            binary = ROOT / ".build/release/passdir"
        self.passdir = str(binary)

    def make(self):
        home = self.home
        for name in ["gnupg", "run"]:
            (home / name).mkdir(mode=0o700)
        for name, value in [("user.name", "Bench"), ("user.email", "bench@example.org"), ("init.defaultBranch", "main")]:
            run("git", "config", "--global", name, value)
        run("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
            "ann <ann@example.org>", KEYS[self.options.key], "default", "never")
        if self.options.key == "rsa4096":
            listing = run("gpg", "--list-keys", "--with-colons", stdout=subprocess.PIPE).decode()
            key = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr"))
            run("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", key,
                "rsa4096", "encr", "never")
        run("pass", "init", "ann@example.org")
        run("pass", "git", "init")
        self.store = pathlib.Path(os.environ["PASSWORD_STORE_DIR"])
        (home / "plain").mkdir()
        made = []
        for number, name in enumerate(self.names):
            text = f"a secret, number {number % DISTINCT:5}\n".encode()
            plain, secret = home / "plain" / name, self.store / (name + ".gpg")
            for path in (plain, secret):
                path.parent.mkdir(parents=True, exist_ok=True)
            plain.write_bytes(text)
            if number >= DISTINCT:
                shutil.copyfile(made[number % DISTINCT], secret)
                continue
            made.append(secret)
            run("gpg", "--batch", "--quiet", "--trust-model", "always", "--compress-algo=none", "-e", "-r",
                "ann@example.org", "-o", secret, input=text)
        run("git", "-C", self.store, "add", "-A")
        run("git", "-C", self.store, "commit", "--quiet", "-m", "Fill.")
        os.sync()

    def mount_passdir(self):
        mount = self.home / "mount"
        mount.mkdir(exist_ok=True)
        run(self.passdir, "mount", mount)
        (store,) = os.listdir(mount)
        return mount / store

    def unmount_passdir(self):
        run(self.passdir, "unmount")

    def mount_gocryptfs(self):
        if not shutil.which("gocryptfs"):
            self.notes.append("gocryptfs is not installed")
            return None
        cipher, mount = self.home / "cipher", self.home / "gocryptfs"
        for path in (cipher, mount):
            path.mkdir()
        run("gocryptfs", "-q", "-init", "-scryptn", "10", "-extpass", "echo x", cipher)
        run("gocryptfs", "-q", "-extpass", "echo x", cipher, mount)
        self.mounted.append(mount)
        shutil.copytree(self.home / "plain", mount / "store")
        return mount / "store"

    def mount_passthrough(self):
        if not EXAMPLE.exists():
            self.notes.append(f"{EXAMPLE} is not there: libfuse's example is left out")
            return None
        program, mount = self.home / "passthrough_ll", self.home / "passthrough"
        mount.mkdir()
        flags = run("pkg-config", "--cflags", "--libs", "fuse3", stdout=subprocess.PIPE).decode().split()
        run("cc", "-O2", "-w", EXAMPLE, "-o", program, "-I", EXAMPLE.parent, *flags)
        options = f"source={self.home}/plain,cache=always,timeout=86400"
        self.processes.append(subprocess.Popen([program, "-f", "-o", options, mount], stderr=subprocess.DEVNULL))
        end = time.monotonic() + 10
        while not os.path.ismount(mount):
            if time.monotonic() > end:
                sys.exit("passthrough_ll does not mount")
            os.sched_yield()
        self.mounted.append(mount)
        return mount

    def end(self):
        subprocess.run([self.passdir, "unmount", "--discard-unsaved"], capture_output=True)
        for mount in self.mounted:
            subprocess.run(["fusermount3", "-uz", mount], capture_output=True)
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
            process.wait()
        subprocess.run(["gpgconf", "--kill", "all"], capture_output=True)


def read_all(tree, names):
    for name in names:
        with open(tree / name, "rb") as file:
            file.read()


def save(tree, name, synchronize=False):
    descriptor = os.open(tree / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, b"another text\n")
    if synchronize:
        os.fsync(descriptor)
    os.close(descriptor)


WHOLE = {
    "ls -lR": lambda tree: run("ls", "-lR", tree),
    "find -type f": lambda tree: run("find", tree, "-type", "f"),
    "grep -r": lambda tree: run("grep", "-r", "number", tree),
    "tar c": lambda tree: run("sh", "-c", 'tar c -C "$1" . | cat >/dev/null', "sh", tree),
}


def measure(trees, options):
    """Rows: what is done, then milliseconds for each who does it."""
    rows = {}
    rivals = {"gocryptfs": trees.mount_gocryptfs(), "passthrough_ll": trees.mount_passthrough()}
    rivals = {name: tree for name, tree in rivals.items() if tree}
    few = trees.names[: options.reads]

    # Cold: each round right after a mount.
    cold = {work: [] for work in WHOLE if work in ("ls -lR", "find -type f")}
    for work in cold:
        for _ in range(options.rounds):
            mount = trees.mount_passdir()
            cold[work].append(milliseconds(lambda: WHOLE[work](mount)))
            trees.unmount_passdir()
    mount = trees.mount_passdir()
    singles = [milliseconds(lambda: read_all(mount, [name])) for name in few]
    rows["open+read+close, cold"] = {
        "passdir": statistics.median(singles),
        "gpg -d": statistics.median(
            milliseconds(lambda: run("gpg", "--batch", "--quiet", "-d", trees.store / (name + ".gpg"))) for name in few),
        "pass show": statistics.median(milliseconds(lambda: run("pass", "show", name)) for name in few),
    }
    trees.unmount_passdir()
    rows["the same by four readers, cold"] = {}
    for readers in 4, 1:
        mount = trees.mount_passdir()
        # The first read of a mount learns which keys there are.
        read_all(mount, trees.names[-1:])
        with concurrent.futures.ThreadPoolExecutor(readers) as pool:
            shares = [few[number::readers] for number in range(readers)]
            name = "passdir" if readers == 4 else "one reader"
            rows["the same by four readers, cold"][name] = milliseconds(lambda: list(pool.map(lambda share: read_all(mount, share), shares)))
        trees.unmount_passdir()
    mount = trees.mount_passdir()
    rows["grep -r, cold"] = {"passdir": milliseconds(lambda: WHOLE["grep -r"](mount))}
    if options.pass_grep:
        rows["grep -r, cold"]["pass grep"] = milliseconds(lambda: run("pass", "grep", "number"))

    everybody = {"passdir": mount, **rivals, "disk": trees.home / "plain"}
    for name, tree in everybody.items():
        read_all(tree, few)
        times = [median(9, lambda: read_all(tree, [secret])) for secret in few]
        rows.setdefault("open+read+close, warm", {})[name] = statistics.median(times)
        for work, body in WHOLE.items():
            if not options.reads_all and work in ("grep -r", "tar c") and name == "passdir":
                continue
            body(tree)
            rows.setdefault(f"{work}, warm", {})[name] = median(options.rounds, lambda: body(tree))
    for work, times in cold.items():
        rows[f"{work}, right after the mount"] = {
            "passdir": statistics.median(times), **{
                name: rows[f"{work}, warm"][name] for name in rivals}}
    rows["save, until close() returned"] = {
        "passdir": statistics.median(milliseconds(lambda: save(mount, f"new{n}")) for n in range(options.reads)),
        "gpg -e": statistics.median(
            milliseconds(lambda: run("gpg", "--batch", "--quiet", "--yes", "--trust-model", "always", "-e", "-r",
                                     "ann@example.org", "-o", trees.home / "out.gpg", input=b"another text\n"))
            for _ in range(options.reads)),
        **({"gocryptfs": statistics.median(
            milliseconds(lambda: save(rivals["gocryptfs"], f"new{n}", True)) for n in range(options.reads))}
           if "gocryptfs" in rivals else {}),
    }
    trees.unmount_passdir()
    return rows


def grow(largest, options):
    """Milliseconds by number of secrets: of one cold read, and of 'ls -lR' right after the mount and again."""
    lines = {"one cold read": [], "ls -lR, right after the mount": [], "ls -lR, again": [], "ls -lR, gocryptfs": []}
    count = 10
    while count <= largest:
        with home_of_its_own() as home:
            trees = Trees(home, argparse.Namespace(**{**vars(options), "count": count, "folders": max(1, count // 50)}))
            try:
                trees.make()
                mount = trees.mount_passdir()
                lines["ls -lR, right after the mount"].append((count, milliseconds(lambda: WHOLE["ls -lR"](mount))))
                lines["ls -lR, again"].append((count, median(3, lambda: WHOLE["ls -lR"](mount))))
                few = trees.names[:: max(1, count // options.reads)]
                lines["one cold read"].append(
                    (count, statistics.median(milliseconds(lambda: read_all(mount, [name])) for name in few)))
                trees.unmount_passdir()
                rival = trees.mount_gocryptfs()
                if rival:
                    lines["ls -lR, gocryptfs"].append((count, median(3, lambda: WHOLE["ls -lR"](rival))))
            finally:
                trees.end()
        print(f"{count:7} secrets: " + ", ".join(f"{name} {line[-1][1]:.2f}" for name, line in lines.items() if line))
        count *= 10
    return {name: line for name, line in lines.items() if line}


def plot(lines):
    """An SVG of lines of (count, milliseconds), both axes logarithmic."""
    points = [point for line in lines.values() for point in line]
    (left, right), (low, high) = (
        (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))) for values in zip(*points))
    width, height, margin, colours = 640, 360, 60, ["#1b6ca8", "#c8553d", "#588157", "#7b5ea7"]

    def place(count, time):
        return (margin + (math.log10(count) - left) / (right - left or 1) * (width - 2 * margin),
                height - margin - (math.log10(time) - low) / (high - low or 1) * (height - 2 * margin))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 20 * len(lines)}" '
             'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for power in range(low, high + 1):
        y = place(10 ** left, 10 ** power)[1]
        parts.append(f'<path d="M{margin} {y:.1f}H{width - margin}" stroke="#ddd"/>'
                     f'<text x="{margin - 6}" y="{y + 4:.1f}" text-anchor="end">{10 ** power:g} ms</text>')
    for power in range(left, right + 1):
        x = place(10 ** power, 10 ** low)[0]
        parts.append(f'<text x="{x:.1f}" y="{height - margin + 18}" text-anchor="middle">{10 ** power:,}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 22}" text-anchor="middle">secrets</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour, y = colours[number % len(colours)], height + 20 * number
        corners = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in line)
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<path d="M{margin} {y}h24" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{margin + 32}" y="{y + 4}">{name}</text>')
    return "\n".join(parts) + "\n</svg>\n"


@contextlib.contextmanager
def home_of_its_own():
    """A folder under /tmp that all programs take for the home of their user; gone afterwards."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
    environment = {
        "HOME": home, "GNUPGHOME": home / "gnupg", "XDG_RUNTIME_DIR": home / "run", "XDG_STATE_HOME": home / "state",
        "XDG_DATA_HOME": home / "data", "XDG_CONFIG_HOME": home / "config", "PASSWORD_STORE_DIR": home / "store"}
    os.environ.update({name: str(value) for name, value in environment.items()})
    os.environ.pop("PASSWORD_STORE_KEY", None)
    try:
        yield home
    finally:
        # As root, an unmounted mount point cannot be changed.
        subprocess.run(["chattr", "-R", "-i", home], capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench speed", description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="secrets (1000)")
    parser.add_argument("--folders", type=int, default=20, help="folders that they lie in (20)")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured (9)")
    parser.add_argument("--reads", type=int, default=50, help="secrets that are read one by one (50)")
    parser.add_argument("--key", choices=KEYS, default="cv25519")
    parser.add_argument("--json", help="writes all numbers to a file")
    parser.add_argument("--no-pass-grep", dest="pass_grep", action="store_false", help="pass grep takes long")
    parser.add_argument("--no-reads", dest="reads_all", action="store_false", help="no grep and tar of everything, warm")
    parser.add_argument("--plot", metavar="FILE.svg", help="draws how times grow with the number of secrets")
    parser.add_argument("--largest", type=int, default=100_000, help="secrets at most, for --plot (100000)")
    options = parser.parse_args()
    if options.plot:
        pathlib.Path(options.plot).write_text(plot(grow(options.largest, options)))
        return
    with home_of_its_own() as home:
        trees = Trees(home, options)
        try:
            trees.make()
            before = os.getloadavg()[0]
            rows = measure(trees, options)
        finally:
            trees.end()
    facts = {
        "date": time.strftime("%Y-%m-%d"), "secrets": options.count, "folders": options.folders, "key": options.key,
        "kernel": platform.release(), "processors": os.cpu_count(), "load": [before, os.getloadavg()[0]], "notes": trees.notes}
    print(", ".join(f"{name} {value}" for name, value in facts.items() if value))
    for work, times in rows.items():
        own = times.get("passdir")
        cells = [f"{name} {value:.2f}" + (f" ({own / value:.2f})" if own and name != "passdir" else "")
                 for name, value in times.items()]
        print(f"{work:38} {', '.join(cells)}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({**facts, "milliseconds": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
