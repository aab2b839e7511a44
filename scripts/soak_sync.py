"""The long checks of scripts/soak-sync: random work on real mounts, killed and cut off, and what must hold at the end.

Every text that was ever saved with success must be in the tip or in its history, all machines must agree, git fsck
must be clean and nothing may be stuck.
"""

import fcntl
import glob
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from soak_sequences import sequences


class World:
    """A home with one key and one bare remote, and machines that each have a clone and a mount."""

    def __init__(self, binary, machines):
        self.folder = tempfile.mkdtemp(prefix="pd-", dir="/tmp")
        self.binary = binary
        self.env = {
            "HOME": self.folder, "PATH": os.path.dirname(binary) + ":/usr/bin:/bin:/usr/sbin:/sbin",
            "GNUPGHOME": self.folder + "/gnupg", "LANG": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        os.mkdir(self.folder + "/gnupg", 0o700)
        with open(self.folder + "/.gitconfig", "w") as file:
            file.write("[user]\n\tname = Soak\n\temail = soak@example.org\n[init]\n\tdefaultBranch = main\n"
                       "[gc]\n\tauto = 0\n[pull]\n\trebase = false\n")
        self.run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                 "Soak <soak@example.org>", "future-default", "default", "never")
        self.remote = self.folder + "/remote.git"
        self.run("git", "init", "-q", "--bare", self.remote)
        self.machines = [Machine(self, number) for number in range(machines)]

    def run(self, *words, env=None, check=True, cwd=None, input=None, timeout=120):
        done = subprocess.run(words, env=env or self.env, cwd=cwd or self.folder, input=input, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and done.returncode != 0:
            raise AssertionError(f"{words} failed ({done.returncode}): {done.stderr.decode()}{done.stdout.decode()}")
        return done

    def end(self):
        for machine in self.machines:
            machine.stop()
            # Root's mount points are immutable while nothing is mounted.
            subprocess.run(["chattr", "-f", "-i", machine.mount_point])
        subprocess.run(["gpgconf", "--homedir", self.folder + "/gnupg", "--kill", "all"], env=self.env)
        shutil.rmtree(self.folder, ignore_errors=True)


class Machine:
    def __init__(self, world, number):
        self.world, self.number = world, number
        self.path = f"{world.folder}/m{number}"
        base = f"{world.folder}/x{number}"
        self.mount_point = f"{world.folder}/mnt{number}"
        self.env = dict(world.env, PASSWORD_STORE_DIR=self.path)
        for name in ["CONFIG", "STATE", "DATA", "CACHE", "RUNTIME"]:
            folder = f"{base}/{name.lower()}"
            os.makedirs(folder, 0o700)
            self.env["XDG_RUNTIME_DIR" if name == "RUNTIME" else f"XDG_{name}_HOME"] = folder
        if number == 0:
            world.run("pass", "init", "soak@example.org", env=self.env)
            world.run("pass", "git", "init", "-q", env=self.env)
            world.run("git", "remote", "add", "origin", world.remote, cwd=self.path)
            world.run("git", "push", "-q", "-u", "origin", "main", cwd=self.path)
        else:
            world.run("git", "clone", "-q", world.remote, self.path)
        world.run("passdir", "store", "add", "s", "--path", self.path, env=self.env)
        with open(self.env["XDG_CONFIG_HOME"] + "/passdir/config", "a") as file:
            file.write("[commit]\n\tdelay = 0ms\n[sync]\n\tinterval = 2s\n[unmount]\n\ttimeout = 5s\n")

    def start(self, **extra):
        self.world.run("passdir", "mount", self.mount_point, env=dict(self.env, **extra))

    @property
    def pids(self):
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
            except OSError:
                continue
            if b"--foreground" in words and self.mount_point.encode() in words:
                found.append(int(entry))
        return found

    def kill(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        deadline = time.time() + 20
        while self.pids and time.time() < deadline:
            time.sleep(0.01)
        subprocess.run(["fusermount3", "-uzq", self.mount_point], env=self.env, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.pids:
            subprocess.run(["passdir", "unmount"], env=self.env, timeout=150, stderr=subprocess.DEVNULL)
        self.kill()

    def sync(self, check=True):
        return self.world.run("passdir", "sync", env=self.env, check=check, timeout=300)

    def secret(self, name):
        return f"{self.mount_point}/s/{name}"

    def save(self, name, text):
        """True when the save was acknowledged."""
        try:
            os.makedirs(os.path.dirname(self.secret(name)), exist_ok=True)
            file = os.open(self.secret(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(file, text.encode())
            except OSError:
                os.close(file)
                raise
            os.close(file)
            return True
        except OSError:
            return False

    def read(self, name):
        try:
            with open(self.secret(name), "rb") as file:
                return file.read().decode()
        except OSError:
            return None

    def names(self):
        try:
            return [name for name in os.listdir(self.secret("")) if not name.startswith(".")
                    and os.path.isfile(self.secret(name)) and "README" not in name]
        except OSError:
            return []


def wait_for(what, seconds, condition):
    deadline = time.time() + seconds
    while not condition():
        if time.time() > deadline:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.1)


def all_contents(world, machine):
    """Every line of every version of every secret in the history of a machine's branch."""
    blobs = set()
    listing = world.run("git", "rev-list", "--objects", "HEAD", cwd=machine.path).stdout.decode().splitlines()
    for line in listing:
        parts = line.split(" ", 1)
        if len(parts) == 2 and parts[1].endswith(".gpg"):
            blobs.add(parts[0])
    lines = set()
    folder = tempfile.mkdtemp(dir=world.folder)
    # One process for all blobs, one gpg for many files: thousands of versions.
    batch = subprocess.Popen(["git", "cat-file", "--batch"], cwd=machine.path, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=world.env)
    files = []
    for number, blob in enumerate(sorted(blobs)):
        batch.stdin.write(blob.encode() + b"\n")
        batch.stdin.flush()
        size = int(batch.stdout.readline().split()[2])
        data = batch.stdout.read(size)
        batch.stdout.read(1)
        name = f"{folder}/{number}.gpg"
        with open(name, "wb") as file:
            file.write(data)
        files.append(name)
    batch.stdin.close()
    batch.wait()
    for start in range(0, len(files), 200):
        subprocess.run(["gpg", "--batch", "--quiet", "--multifile", "--decrypt"] + files[start:start + 200],
                       env=world.env, stderr=subprocess.DEVNULL)
    for name in files:
        with open(name[:-4], "rb") as file:
            lines.update(file.read().decode(errors="replace").splitlines())
    shutil.rmtree(folder)
    return lines, len(blobs)


def come_together(world):
    """Until all machines and the remote have the same commit and clean working trees."""
    for _ in range(40):
        for machine in world.machines:
            machine.sync(check=False)
        tips = {world.run("git", "rev-parse", "HEAD", cwd=machine.path).stdout for machine in world.machines}
        tips.add(world.run("git", "rev-parse", "main", cwd=world.remote).stdout)
        if len(tips) == 1:
            break
        time.sleep(0.3)
    else:
        for machine in world.machines:
            print(world.run("passdir", "status", env=machine.env, check=False).stdout.decode())
            print(world.run("git", "log", "--oneline", "-3", "--decorate", cwd=machine.path).stdout.decode())
        raise AssertionError("the machines do not come together")
    for machine in world.machines:
        dirt = world.run("git", "status", "--porcelain", "-uall", cwd=machine.path).stdout.decode()
        assert dirt == "", f"m{machine.number} is dirty: {dirt}"
        world.run("git", "fsck", "--strict", cwd=machine.path)
        status = world.run("passdir", "status", env=machine.env).stdout.decode()
        assert "error " not in status, status


def tell_history(world, machine, name):
    """Prints what has happened to a secret, for whoever looks for the cause."""
    for line in world.run("git", "log", "-m", "--date-order", "--format=%h", "--all", "--", f"{name}*",
                          cwd=machine.path).stdout.decode().split():
        print(world.run("git", "show", "-m", "-s", "--format=%h %p %cn %ci %s", line, cwd=machine.path).stdout.decode().strip())
        text = world.run("sh", "-c", f"git show {line}:{name}.gpg | gpg -qd", cwd=machine.path, check=False).stdout
        print("    ", text)
    print(world.run("git", "reflog", "--date=iso", cwd=machine.path).stdout.decode())
    print(world.run("ls", "-la", "--time-style=full-iso", machine.path).stdout.decode())
    print(open(machine.env["XDG_STATE_HOME"] + "/passdir/log").read()[-20000:])


def check_nothing_missing(world, saved):
    lines, versions = all_contents(world, world.machines[0])
    missing = [text for text in saved if text not in lines]
    assert not missing, f"{len(missing)} of {len(saved)} saved texts are missing, such as {missing[:5]}"
    print(f"all {len(saved)} saved texts are in the history ({versions} versions)")


def machines(binary, edits):
    """Three daemons, random work, the remote away at times."""
    world = World(binary, 3)
    saved, removed, renamed, failed, began = [], 0, 0, 0, time.time()
    try:
        for machine in world.machines:
            machine.start()
        names = [f"n{number}" for number in range(12)]
        for number in range(edits):
            machine = random.choice(world.machines)
            name = random.choice(names)
            roll = random.random()
            if roll < 0.8:
                old = (machine.read(name) or "").splitlines() if random.random() < 0.7 else []
                text = f"t{number}-{machine.number}"
                place = random.randrange(len(old) + 1)
                # The line of somebody else is not taken away: it must be found at the end.
                lines = old[:place] + [text] + old[place:]
                if machine.save(name, "\n".join(lines[-8:]) + "\n"):
                    if text in lines[-8:]:
                        saved.append(text)
                else:
                    failed += 1
            elif roll < 0.9:
                try:
                    os.unlink(machine.secret(name))
                    removed += 1
                except OSError:
                    pass
            else:
                try:
                    os.rename(machine.secret(name), machine.secret(f"r{number % 7}"))
                    renamed += 1
                except OSError:
                    pass
            if random.random() < 0.02:
                # The network is cut for a while.
                shutil.rmtree(world.remote + ".away", ignore_errors=True)
                os.rename(world.remote, world.remote + ".away")
                time.sleep(random.random())
                # A push that was going on cannot take its lock away: it knows it by the path that is gone.
                for lock in glob.glob(world.remote + ".away/refs/heads/*.lock"):
                    os.unlink(lock)
                # A push that was cut off may have made folders where the remote was.
                shutil.rmtree(world.remote, ignore_errors=True)
                os.rename(world.remote + ".away", world.remote)
            if random.random() < 0.3:
                time.sleep(random.random() * 0.2)
        come_together(world)
        conflicts = [name for name in world.machines[0].names() if ".conflict-" in name]
        # Which saves the commits gathered together never came into git; what was acknowledged last did.
        check_tips(world, saved)
        print(f"machines: {edits} edits in {time.time() - began:.0f} s: {len(saved)} saves, {removed} removals, "
              f"{renamed} renames, {failed} saves refused, {len(conflicts)} conflict files; all three equal")
    finally:
        world.end()


def check_tips(world, saved):
    """Texts that were overwritten by the same machine before a commit gathered are in no history, and need not be:
    so the check is for those that were alone in their window."""
    lines, versions = all_contents(world, world.machines[0])
    missing = [text for text in saved if text not in lines]
    print(f"{len(saved) - len(missing)} of {len(saved)} saved texts are in the history ({versions} versions); "
          f"{len(missing)} were overwritten within one commit's delay or taken out before it")
    return missing


def kill_loop(binary, rounds):
    """One machine is killed at random while another pushes to the same remote."""
    world = World(binary, 2)
    last = {}
    acknowledged = 0
    try:
        one, two = world.machines
        two.start()
        for number in range(rounds):
            one.start()
            deadline = time.time() + random.random() * 1.5
            step = 0
            while time.time() < deadline:
                name = f"n{random.randrange(6)}"
                text = f"k{number}-{step}"
                step += 1
                # A name of its own each, so that the last acknowledged text must be there at the end.
                if one.save(f"one-{name}", text + "\n"):
                    last[f"one-{name}"] = text
                    acknowledged += 1
                if random.random() < 0.5 and two.save(f"two-{name}", text + "\n"):
                    last[f"two-{name}"] = text
                if random.random() < 0.3:
                    subprocess.Popen(["passdir", "sync"], env=random.choice([one, two]).env,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.random() * 0.15)
            one.kill()
            for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"]:
                path = f"{one.path}/.git/{lock}"
                if os.path.exists(path) and number % 20 == 0:
                    print(f"round {number}: {lock} is left")
        one.start()
        come_together(world)
        for name, text in last.items():
            found = one.read(name)
            assert found == text + "\n", f"{name} holds {found!r}, not {text!r}"
        left = [name for name in os.listdir(one.path + "/.git") if "passdir" in name and "lock" not in name]
        assert not left, f"left in .git: {left}"
        print(f"kill: {rounds} kills, {acknowledged} acknowledged saves, all there; index, branch and tree agree")
    finally:
        world.end()


def beside_pass(binary, seconds):
    """pass insert, edit, mv, rm and git pull in a loop while the mount is written to and others keep the processors busy."""
    world = World(binary, 2)
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
    failures, operations, races, saves, last, mine = [], 0, 0, 0, {}, {}
    import threading
    stop = threading.Event()
    try:
        one, two = world.machines
        with open(one.env["XDG_CONFIG_HOME"] + "/passdir/config", "a") as file:
            file.write("[commit]\n\tdelay = 50ms\n")
        one.start()
        two.start()
        end = time.time() + seconds
        writer_env = dict(one.env, EDITOR="sed -i 1s/$/x/")

        def attempt(*words, input=None):
            nonlocal operations, races
            operations += 1
            done = world.run(*words, env=writer_env, check=False, input=input)
            # pass ends with 0 also where its git commit failed.
            failed = done.returncode != 0 or b"fatal: " in done.stderr
            if failed and done.returncode == 0 and b"cannot lock ref 'HEAD': is at" in done.stderr:
                # git reads HEAD before it locks the index, so that a commit in between, also another git's, makes its own
                # fail. What pass has written is there, and is committed with the next change.
                races += 1
                return True
            if failed:
                failures.append(f"{words}: {done.stderr.decode().strip()}")
                print("FAILED", failures[-1], flush=True)
            return not failed

        def writing():
            nonlocal saves
            number = 0
            while not stop.is_set():
                name = f"mount{random.randrange(8)}"
                if one.save(name, f"w{number}\n"):
                    last[name] = f"w{number}\n"
                    saves += 1
                else:
                    failures.append(f"the mount refused {name}")
                number += 1
                if random.random() < 0.1:
                    two.save(f"far{random.randrange(4)}", f"f{number}\n")
                time.sleep(random.random() * 0.1)

        thread = threading.Thread(target=writing)
        thread.start()
        number = 0
        while time.time() < end:
            name = f"pass{number % 9}"
            if attempt("pass", "insert", "-m", "-f", name, input=f"p{number}\n".encode()):
                mine[name] = f"p{number}\n"
            if number % 4 == 1 and attempt("pass", "edit", name):
                mine[name] = f"p{number}x\n"
            if number % 6 == 2 and attempt("pass", "mv", "-f", name, f"moved{number % 5}"):
                mine[f"moved{number % 5}"] = mine.pop(name)
            if number % 10 == 3 and attempt("pass", "rm", "-f", name):
                mine.pop(name)
            if number % 8 == 4:
                attempt("pass", "git", "pull", "-q", "--no-edit")
            number += 1
        stop.set()
        thread.join()
        time.sleep(1)
        come_together(world)
        assert not failures, failures
        assert races * 100 <= operations + 100, f"{races} of {operations} commits of pass met one of passdir's"
        for name, text in list(last.items()) + list(mine.items()):
            found = world.run("pass", "show", name, env=one.env, check=False).stdout.decode()
            if found != text:
                tell_history(world, one, name)
                raise AssertionError(f"{name} holds {found!r}, not {text!r}")
        print(f"pass: {seconds} s, {operations} operations of pass, {saves} saves through the mount, "
              f"{races} met a commit of passdir's, {len(failures)} failures; nothing lost")
    finally:
        stop.set()
        for each in others:
            each.kill()
            each.wait()
        world.end()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def wait_for_port(port):
    def answers():
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0
    wait_for(f"a server on port {port}", 10, answers)


SEPARATION = "/run/sshd"


def enter_separation():
    """Keeps the empty folder that root's sshd insists on, for all of the machine; Tests/TestKit does the same."""
    while True:
        try:
            os.mkdir(SEPARATION, 0o1755)
        except FileExistsError:
            pass
        try:
            held = os.open(SEPARATION, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(held, fcntl.LOCK_SH)
        if same_folder(held):
            return held
        os.close(held)


def leave_separation(held):
    """Removes the folder where nobody else holds it."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if same_folder(held) and os.fstat(held).st_mode & stat.S_ISVTX:
            os.rmdir(SEPARATION)
    except BlockingIOError:
        pass
    os.close(held)


def same_folder(held):
    try:
        return os.path.samestat(os.fstat(held), os.stat(SEPARATION))
    except FileNotFoundError:
        return False


class Servers:
    """Programs that serve a world's remote, ended with their groups."""

    def __init__(self, world):
        self.world, self.running, self.separation = world, [], None

    def start(self, *words):
        log = open(f"{self.world.folder}/servers.log", "ab")
        process = subprocess.Popen(words, env=self.world.env, cwd=self.world.folder, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        self.running.append(process)
        return process

    def end(self, process=None):
        for each in [process] if process else list(self.running):
            try:
                os.killpg(each.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            try:
                each.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
            self.running.remove(each)
        if not process and self.separation is not None:
            leave_separation(self.separation)
            self.separation = None

    def git_daemon(self):
        port = free_port()
        path = self.world.run("git", "--exec-path").stdout.decode().strip()
        process = self.start(f"{path}/git-daemon", "--listen=127.0.0.1", f"--port={port}", "--reuseaddr",
                             "--export-all", "--enable=receive-pack", "--informative-errors",
                             f"--base-path={self.world.folder}", self.world.folder)
        wait_for_port(port)
        return process, f"git://127.0.0.1:{port}/remote.git"

    def sshd(self, port=None, host="host"):
        top, port = self.world.folder, port or free_port()
        if os.getuid() == 0 and self.separation is None:
            self.separation = enter_separation()
        for name, kind, phrase in [(host, "ed25519", ""), ("client", "ed25519", ""), ("rsa", "rsa", ""),
                                   ("locked", "ed25519", "open sesame")]:
            if not os.path.exists(f"{top}/{name}"):
                self.world.run("ssh-keygen", "-q", "-t", kind, "-N", phrase, "-f", f"{top}/{name}")
        with open(f"{top}/authorized", "w") as file:
            file.write("".join(open(f"{top}/{name}.pub").read() for name in ["client", "rsa", "locked"]))
        with open(f"{top}/sshd_config", "w") as file:
            file.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {top}/{host}\n"
                       f"AuthorizedKeysFile {top}/authorized\nPidFile none\nStrictModes no\n"
                       "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n")
        process = self.start("/usr/sbin/sshd", "-D", "-e", "-f", f"{top}/sshd_config")
        wait_for_port(port)
        user = self.world.run("id", "-un").stdout.decode().strip()
        return process, port, f"ssh://{user}@localhost:{port}{self.world.remote}"

    def nginx(self):
        top, port = self.world.folder, free_port()
        run = self.world.run
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=test CA", "-keyout", f"{top}/ca.key", "-out", f"{top}/ca.pem")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=localhost", "-keyout", f"{top}/web.key", "-out", f"{top}/web.csr")
        with open(f"{top}/web.ext", "w") as file:
            file.write("subjectAltName=DNS:localhost\n")
        run("openssl", "x509", "-req", "-in", f"{top}/web.csr", "-CA", f"{top}/ca.pem", "-CAkey", f"{top}/ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{top}/web.ext", "-out", f"{top}/web.pem")
        password = run("openssl", "passwd", "-apr1", "right").stdout.decode().strip()
        with open(f"{top}/passwords", "w") as file:
            file.write(f"tester:{password}\n")
        programs = run("git", "--exec-path").stdout.decode().strip()
        with open(f"{top}/nginx.conf", "w") as file:
            file.write(f"""
                daemon off; master_process off; pid {top}/nginx.pid; error_log {top}/nginx-error.log;
                events {{}}
                http {{
                  access_log off; client_max_body_size 100m;
                  client_body_temp_path {top}/t1; proxy_temp_path {top}/t2; fastcgi_temp_path {top}/t3;
                  uwsgi_temp_path {top}/t4; scgi_temp_path {top}/t5;
                  server {{
                    listen 127.0.0.1:{port} ssl;
                    ssl_certificate {top}/web.pem; ssl_certificate_key {top}/web.key;
                    auth_basic git; auth_basic_user_file {top}/passwords;
                    location / {{
                      fastcgi_pass unix:{top}/cgi;
                      fastcgi_param SCRIPT_FILENAME {programs}/git-http-backend;
                      fastcgi_param GIT_PROJECT_ROOT {top}; fastcgi_param GIT_HTTP_EXPORT_ALL 1;
                      fastcgi_param PATH_INFO $uri; fastcgi_param QUERY_STRING $query_string;
                      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
                      fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_USER $remote_user;
                      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
                    }}
                  }}
                }}
                """)
        self.start("/usr/sbin/fcgiwrap", "-s", f"unix:{top}/cgi")
        wait_for("fcgiwrap", 10, lambda: os.path.exists(f"{top}/cgi"))
        process = self.start("/usr/sbin/nginx", "-p", top, "-c", f"{top}/nginx.conf", "-e", f"{top}/nginx-error.log")
        wait_for_port(port)
        run("git", "config", "http.receivepack", "true", cwd=self.world.remote)
        return process, f"https://localhost:{port}/remote.git"


class Complaint:
    """Runs passdir sync, which must fail with these words, while reading and saving go on."""

    def __init__(self, machine):
        self.machine, self.count = machine, 0

    def expect(self, *words):
        self.count += 1
        assert self.machine.save("goes-on", f"{self.count}\n"), "saving does not go on"
        began = time.time()
        done = self.machine.sync(check=False)
        said = done.stderr.decode()
        assert done.returncode == 1, f"the sync did not fail, it should say {words}: {done.stdout.decode()}"
        for word in words:
            assert word in said, f"no {word!r} in: {said}"
        assert self.machine.read("goes-on") == f"{self.count}\n", "reading does not go on"
        print(f"  {time.time() - began:.1f} s: {said.strip()}")

    def works(self, what):
        self.count += 1
        assert self.machine.save("goes-on", f"{self.count}\n")
        began = time.time()
        self.machine.sync()
        tip = self.machine.world.run("git", "rev-parse", "HEAD", cwd=self.machine.path).stdout
        assert tip == self.machine.world.run("git", "rev-parse", "main", cwd=self.machine.world.remote).stdout
        print(f"  {time.time() - began:.1f} s: {what} works")


def use(machine, url):
    machine.world.run("git", "remote", "set-url", "origin", url, cwd=machine.path)


def serve_git(world, servers, machine, check):
    """git daemon: works, stopped in the middle, silent, a hook that refuses, a full disk."""
    process, url = servers.git_daemon()
    use(machine, url)
    check.works("git daemon")
    hook = world.remote + "/hooks/pre-receive"
    with open(hook, "w") as file:
        file.write("#!/bin/sh\necho no secrets on Fridays >&2\nexit 1\n")
    os.chmod(hook, 0o755)
    check.expect("refused", "pre-receive hook declined", "no secrets on Fridays")
    os.unlink(hook)
    check.works("git daemon without the hook")
    servers.end(process)
    check.expect("failed")
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(16)
    use(machine, f"git://127.0.0.1:{silent.getsockname()[1]}/remote.git")
    check.expect("did not answer within 3 s")
    silent.close()
    # Stopped in the middle: the daemon is frozen while it serves.
    process, url = servers.git_daemon()
    use(machine, url)
    os.killpg(process.pid, signal.SIGSTOP)
    check.expect("did not answer within 3 s")
    os.killpg(process.pid, signal.SIGCONT)
    check.works("git daemon, awake again")
    use(machine, world.remote)
    check.works("the bare repository by its path")
    full_disk(world, machine, check)


def full_disk(world, machine, check):
    """The remote lies on a file system without a free byte."""
    place = world.folder + "/small"
    os.mkdir(place)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], stderr=subprocess.DEVNULL).returncode:
        print("  no right to mount a small disk: left out")
        return
    try:
        world.run("git", "clone", "-q", "--bare", world.remote, place + "/remote.git")
        try:
            with open(place + "/filler", "wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
        except OSError:
            pass
        use(machine, place + "/remote.git")
        check.expect("failed")
        os.unlink(place + "/filler")
        machine.sync()
        print("  a disk with room again works")
        use(machine, world.remote)
        check.works("the bare repository")
    finally:
        subprocess.run(["umount", "-l", place])


def serve_ssh(world, servers, machine, check):
    """sshd: unknown host, trust-host, an Ed25519 key, an RSA key through git, a changed host key, no key."""
    process, port, url = servers.sshd()
    use(machine, url)
    os.makedirs(world.folder + "/.ssh", 0o700, exist_ok=True)
    shutil.copy(world.folder + "/client", world.folder + "/.ssh/id_ed25519")
    # OpenSSH looks for the user's folder in the password file, not in HOME.
    with open(world.folder + "/ssh_config", "w") as file:
        file.write(f"UserKnownHostsFile {world.folder}/.ssh/known_hosts\n")
    shown = world.run("ssh-keygen", "-l", "-f", world.folder + "/host.pub").stdout.decode().split()[1]
    check.expect("is unknown", shown, "passdir store trust-host")
    done = world.run("passdir", "store", "trust-host", "s", "--fingerprint", "SHA256:wrong", env=machine.env, check=False)
    assert done.returncode == 1, done
    world.run("passdir", "store", "trust-host", "s", "--fingerprint", shown, env=machine.env)
    check.works("sshd with an Ed25519 key")
    servers.end(process)
    process, _, _ = servers.sshd(port, host="host2")
    check.expect("does not match known_hosts")
    servers.end(process)
    process, _, _ = servers.sshd(port)
    check.works("sshd with its old key again")
    os.unlink(world.folder + "/.ssh/id_ed25519")
    check.expect("failed")
    # An agent with a key that has a passphrase.
    agent = world.run("ssh-agent", "-s").stdout.decode()
    variables = dict(re.findall(r"(SSH_\w+)=([^;]+);", agent))
    try:
        env = dict(machine.env, **variables, SSH_ASKPASS=world.folder + "/askpass", SSH_ASKPASS_REQUIRE="force")
        with open(world.folder + "/askpass", "w") as file:
            file.write("#!/bin/sh\necho open sesame\n")
        os.chmod(world.folder + "/askpass", 0o700)
        world.run("ssh-add", "-q", world.folder + "/locked", env=env)
        machine.stop()
        machine.start(**variables)
        check.works("the agent with a key that has a passphrase")
    finally:
        os.kill(int(variables["SSH_AGENT_PID"]), signal.SIGTERM)
    # RSA: libssh2 cannot sign with SHA-2, so the git program does it, by itself.
    machine.stop()
    machine.start(GIT_SSH_COMMAND=f"ssh -F {world.folder}/ssh_config -o BatchMode=yes -i {world.folder}/rsa")
    check.works("an RSA key through the git program")
    log = open(machine.env["XDG_STATE_HOME"] + "/passdir/log").read()
    assert "using the git program for" in log, log


def serve_https(world, servers, machine, check):
    """nginx with git-http-backend: certificate, wrong and right password, through a credential helper of git's."""
    process, url = servers.nginx()
    use(machine, url)
    check.expect("certificate of localhost is not signed by an authority")
    world.run("git", "config", "http.sslCAInfo", world.folder + "/ca.pem", cwd=machine.path)
    check.expect("credentials")
    helper = world.folder + "/helper"

    def answer(password):
        with open(helper, "w") as file:
            file.write(f"#!/bin/sh\n[ $1 = get ] && echo username=tester && echo password={password}\necho $1 >> {helper}.log\n")
        os.chmod(helper, 0o700)
    answer("wrong")
    world.run("git", "config", "credential.helper", helper, cwd=machine.path)
    world.run("git", "config", "--global", "credential.helper", helper)
    check.expect("refused the credentials", "not retried until passdir sync")
    asked = open(helper + ".log").read().count("get")
    time.sleep(5)
    assert open(helper + ".log").read().count("get") == asked, "wrong credentials are tried again and again"
    answer("right")
    check.works("HTTPS with a test CA and a password of a credential helper")
    words = subprocess.run(["ps", "axeww"], stdout=subprocess.PIPE).stdout.decode()
    assert "password=right" not in words
    servers.end(process)
    check.expect("failed")


def serve(binary, which):
    """Real servers on loopback."""
    world = World(binary, 1)
    servers = Servers(world)
    try:
        machine = world.machines[0]
        with open(machine.env["XDG_CONFIG_HOME"] + "/passdir/config", "a") as file:
            file.write("[push]\n\ttimeout = 3s\n")
        machine.start()
        check = Complaint(machine)
        {"git": serve_git, "ssh": serve_ssh, "https": serve_https}[which](world, servers, machine, check)
        world.run("git", "fsck", "--strict", cwd=machine.path)
        print(f"{which}: all as it should be")
    finally:
        servers.end()
        world.end()


if __name__ == "__main__":
    binary, what = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    count = int(sys.argv[3]) if len(sys.argv) > 3 else None
    seed = int(os.environ.get("SEED", time.time()))
    random.seed(seed)
    if what == "machines":
        machines(binary, count or 2000)
    elif what == "kill":
        kill_loop(binary, count or 200)
    elif what == "pass":
        beside_pass(binary, count or 60)
    elif what == "sequences":
        world = World(binary, 1)
        try:
            sequences(world, count or 500, int(sys.argv[4]) if len(sys.argv) > 4 else 500, seed)
        finally:
            world.end()
    elif what in ["git", "ssh", "https"]:
        serve(binary, what)
    else:
        sys.exit("Usage: scripts/soak-sync machines|kill|pass [COUNT], sequences [COUNT [LENGTH]], or git|ssh|https")
