#!/usr/bin/env python3
"""Measures what rules of who may read cost an open, in the daemon's processor time: the same process opens, reads and closes a kept secret, and one that is
decrypted, without rules and under a rule that allows it, in turns. Usage: scripts/bench access [ROUNDS]; beside it runs no
other passdir of yours. PASSDIR_BINARY names the program, else it is the debug build."""
import json, os, pathlib, shutil, statistics, subprocess, sys, tempfile

top = pathlib.Path(__file__).resolve().parent.parent
passdir = os.environ.get("PASSDIR_BINARY") or str(top / ".build/debug/passdir")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
home = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
env = {"PATH": os.environ["PATH"], "HOME": str(home), "GNUPGHOME": str(home / "g"), "XDG_RUNTIME_DIR": str(home / "r"),
       "XDG_CONFIG_HOME": str(home / "c"), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}


def run(*words, **more):
    return subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)


def daemon():
    """Seconds of processor time that the daemon has taken: unlike the time of a clock, it is the same under load."""
    status = subprocess.run([passdir, "status", "--json"], env=env, check=True, capture_output=True).stdout
    pid = json.loads(status)["mount"]["pid"]
    fields = pathlib.Path(f"/proc/{pid}/schedstat").parent.glob("task/*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in fields) / 1e9


def opens(path, count):
    start = daemon()
    for _ in range(count):
        file = os.open(path, os.O_RDONLY)
        os.read(file, 100)
        os.close(file)
    return (daemon() - start) / count * 1e6


def measure(path, count):
    """Medians without and with rules, in microseconds; in pairs, so that both meet the same load."""
    times = {"without": [], "with": []}
    program = os.path.realpath("/proc/self/exe")
    for _ in range(rounds):
        for name in times:
            if name == "with":
                run(passdir, "access", "set", "work", "--deny-under", "claude,codex,cursor")
                run(passdir, "access", "set", "work", "--allow", program)
                run(passdir, "access", "set", "work", "--ask")
            else:
                subprocess.run([passdir, "access", "unset", "work"], env=env, capture_output=True)
            opens(path, 20)
            times[name].append(opens(path, count))
    return {name: statistics.median(found) for name, found in times.items()}


try:
    for name in "g", "r", "mnt":
        (home / name).mkdir(mode=0o700)
    run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "a@example.org", "default", "default", "never")
    store = home / "store"
    store.mkdir()
    (store / ".gpg-id").write_text("a@example.org\n")
    run("gpg", "--batch", "--trust-model", "always", "-r", "a@example.org", "-o", str(store / "key.gpg"), "-e", input=b"text\n")
    run(passdir, "store", "add", "work", "--path", str(store))
    for what, cache, count in ("kept", "60s", 300), ("decrypted", "0s", 20):
        run("git", "config", "-f", str(home / "c/passdir/config"), "cache.time", cache)
        run(passdir, "mount", str(home / "mnt"))
        found = measure(str(home / "mnt/work/key"), count)
        run(passdir, "unmount")
        more = (found["with"] / found["without"] - 1) * 100
        print(f"{what:10} {found['without']:8.1f} us without rules, {found['with']:8.1f} us with: {more:+.1f} %")
finally:
    subprocess.run([passdir, "unmount"], env=env, capture_output=True)
    subprocess.run(["gpgconf", "--kill", "all"], env=env)
    # The mount point of a daemon that was root's cannot be written to.
    subprocess.run(["chattr", "-i", str(home / "mnt")], capture_output=True)
    shutil.rmtree(home, ignore_errors=True)
