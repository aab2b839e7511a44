"""Programs that read rendered and linked files of a mount, as scripts/real-programs runs them."""

import base64
import http.server
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

PASSWORD = "p'w \"one\" two#3"
# Readers of .env files take no two kinds of quotes in one value for the same.
WORD = "p'w one two#3"
TOKEN = "token-5e1c"
SECRETS = {
    "db": f"{PASSWORD}\nuser: ann\nword: {WORD}\n",
    "api": f"{TOKEN}\n",
    "aws": "wJalrXUtnFEMI/K7MDENG\nid: AKIAIOSFODNN7\n",
}
# What each program reads: the name of the template, the template, and the kind of file where no name tells it.
TEMPLATES = {
    ".env": ("DB_PASSWORD=passdir://work/db#word\nDB_USER=\"passdir://work/db#user\"\n", None),
    "npmrc": ("//127.0.0.1:{http}/:_authToken=passdir://work/api#first\nregistry=http://127.0.0.1:{http}/\n", "ini"),
    "credentials": (
        "[default]\naws_access_key_id = passdir://work/aws#id\naws_secret_access_key = passdir://work/aws#first\n", "ini"
    ),
    "netrc": ("machine 127.0.0.1 login passdir://work/db#user password passdir://work/api#first\n", None),
    "pgpass": ("127.0.0.1:{postgres}:*:passdir://{{work/db#user}}:passdir://work/api#first\n", None),
    "kubeconfig.yaml": (
        """apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{http}"}}}}]
users:
- name: u
  user: {{username: passdir://work/db#user, password: passdir://work/api#first}}
""",
        None,
    ),
}


def run(*words, **options):
    options.setdefault("timeout", 60)
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


def need(done):
    if done.returncode != 0:
        raise RuntimeError(f"{done.args}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def missing(program):
    return None if shutil.which(program) else f"{program} is not installed"


class Registry(http.server.BaseHTTPRequestHandler):
    """Answers those who say who they are, as registries and clusters do."""

    def do_GET(self):
        basic = "Basic " + base64.b64encode(f"ann:{TOKEN}".encode()).decode()
        is_known = self.headers.get("Authorization") in (f"Bearer {TOKEN}", basic)
        body = b'{"username": "ann"}' if is_known else b"{}"
        self.send_response(200 if is_known else 401)
        if not is_known:
            self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def message(kind, body):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def postgres(listener, heard):
    """As much of a PostgreSQL server as it takes to be told a password."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as stream:
            while (size := int.from_bytes(stream.read(4), "big")) == 8:
                # TLS or GSSAPI: no.
                stream.read(4)
                connection.sendall(b"N")
            stream.read(max(0, size - 4))
            connection.sendall(message(b"R", (3).to_bytes(4, "big")))
            if stream.read(1) == b"p":
                heard.append(stream.read(int.from_bytes(stream.read(4), "big") - 4).rstrip(b"\0").decode())
            connection.sendall(message(b"E", b"SFATAL\0C28000\0Mthat will do\0\0"))


class Mount:
    """A home with a store that is mounted, and templates."""

    def __init__(self, binary, home):
        self.binary, self.home = binary, home
        self.rendered = home / "mnt/.passdir/rendered"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.heard = []
        threading.Thread(target=postgres, args=(self.listener, self.heard), daemon=True).start()
        self.http, self.postgres = self.server.server_port, self.listener.getsockname()[1]

    def passdir(self, *words):
        return need(run(self.binary, *words))

    def make(self):
        for name in ("gnupg", "run", "ssh"):
            (self.home / name).mkdir(mode=0o700)
        need(run("git", "config", "--global", "user.name", "Ann"))
        need(run("git", "config", "--global", "user.email", "ann@example.org"))
        need(run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                 "ann <ann@example.org>", "future-default", "default", "never"))
        need(run("pass", "init", "ann@example.org"))
        for name, text in SECRETS.items():
            need(run("pass", "insert", "--multiline", name, input=text))
        if not missing("ssh-keygen"):
            need(run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.home / "ssh/key"))
            need(run("pass", "insert", "--multiline", "ssh/key", input=(self.home / "ssh/key").read_text()))
            (self.home / "ssh/key").unlink()
        self.passdir("store", "add", "work", "--path", os.environ["PASSWORD_STORE_DIR"])
        for name, (text, kind) in TEMPLATES.items():
            template = self.home / (name.lstrip(".") + ".tpl" if name != ".env" else ".env.tpl")
            template.write_text(text.format(http=self.http, postgres=self.postgres))
            self.passdir("template", "add", name, template, *(["--for", kind] if kind else []))
        self.passdir("mount", self.home / "mnt")

    def link(self, name, path):
        """Places a link, and gives its path."""
        place = self.home / path
        place.parent.mkdir(mode=0o700, exist_ok=True)
        self.passdir("link", name, place)
        return place

    def end(self):
        run(self.binary, "unmount", "--discard-unsaved")
        run("gpgconf", "--kill", "all")
        self.server.shutdown()
        self.listener.close()


def dotenv(mount):
    python = next((p for p in ("/usr/bin/python3", sys.executable) if not run(p, "-c", "import dotenv").returncode), None)
    if not python:
        return "python3-dotenv is not installed"
    script = "import dotenv, sys; print(*dotenv.dotenv_values(sys.argv[1]).values(), sep='\\n')"
    values = need(run(python, "-c", script, mount.link(".env", "project/.env"))).splitlines()
    assert values == [WORD, "ann"], values


def compose(mount):
    words = ["docker-compose"]
    if missing("docker-compose"):
        words = ["docker", "compose"]
        if missing("docker") or run(*words, "version").returncode:
            return "docker-compose is not installed"
    project = mount.home / "compose"
    project.mkdir()
    mount.passdir("link", ".env", project / ".env")
    (project / "docker-compose.yml").write_text(
        'version: "3"\nservices:\n  a:\n    image: x\n    env_file: .env\n    command: ["${DB_USER}"]\n')
    shown = need(run(*words, "config", cwd=project))
    assert "ann" in shown and "one" in shown, shown


def npm(mount):
    if reason := missing("npm"):
        return reason
    mount.link("npmrc", ".npmrc")
    assert need(run("npm", "whoami", "--loglevel", "error")).strip() == "ann"


def aws(mount):
    if reason := missing("aws"):
        return reason
    mount.link("credentials", ".aws/credentials")
    assert need(run("aws", "configure", "get", "aws_access_key_id")).strip() == "AKIAIOSFODNN7"
    assert need(run("aws", "configure", "get", "aws_secret_access_key")).strip() == "wJalrXUtnFEMI/K7MDENG"


def curl(mount):
    if reason := missing("curl"):
        return reason
    url = f"http://127.0.0.1:{mount.http}/"
    for words in (["--netrc-file", mount.rendered / "netrc"], ["--netrc-file", mount.link("netrc", ".netrc")], ["--netrc"]):
        assert need(run("curl", "-sSf", *words, url)) == '{"username": "ann"}'


def psql(mount):
    if reason := missing("psql"):
        return reason
    # libpq looks into the home that the user database has.
    environment = os.environ | {"PGPASSFILE": str(mount.link("pgpass", ".pgpass"))}
    words = ["-w", "-h", "127.0.0.1", "-p", mount.postgres, "-U", "ann", "-c", "select 1", "x"]
    done = run("psql", *words, env=environment)
    assert mount.heard == [TOKEN] and "that will do" in done.stderr, done.stderr


def kubectl(mount):
    if reason := missing("kubectl"):
        return reason
    file = mount.link("kubeconfig.yaml", ".kube/config")
    # To a server without TLS it tells no password.
    for words in ([], ["--kubeconfig", file]):
        shown = need(run("kubectl", *words, "config", "view", "--raw", "-o", "jsonpath={.users[0].user.password}"))
        assert shown == TOKEN, shown
    assert need(run("kubectl", "config", "current-context")).strip() == "c"


def ssh(mount):
    if reason := missing("ssh"):
        return reason
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not sshd:
        return "sshd is not installed"
    key = mount.link("work/ssh/key", ".ssh/id_ed25519")
    folder = mount.home / "ssh"
    need(run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/key.pub\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nPasswordAuthentication no\n")
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "config"], stderr=subprocess.PIPE, text=True)
    try:
        # It says so when it listens.
        for line in server.stderr:
            if "listening" in line:
                break
        threading.Thread(target=server.stderr.read, daemon=True).start()
        options = ["-F", "none", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
                   "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/hosts", "-i", key]
        user = pwd.getpwuid(os.geteuid()).pw_name
        assert need(run("ssh", *options, "-p", port, f"{user}@127.0.0.1", "echo there")) == "there\n"
    finally:
        server.terminate()
        server.wait()


PROGRAMS = {
    "python-dotenv": dotenv, "docker compose config": compose, "npm": npm, "aws-cli": aws, "curl --netrc-file": curl,
    "psql": psql, "kubectl": kubectl, "ssh": ssh,
}


def main():
    home = pathlib.Path(tempfile.mkdtemp(prefix="pd-", dir="/tmp"))
    for name in list(os.environ):
        if name.startswith(("GIT_", "PASSWORD_STORE_", "GPG_", "XDG_", "PG", "AWS_", "KUBE", "npm_", "NPM_")):
            del os.environ[name]
    os.environ.update(HOME=str(home), GNUPGHOME=f"{home}/gnupg", XDG_RUNTIME_DIR=f"{home}/run", LANG="C.UTF-8",
                      PASSWORD_STORE_DIR=f"{home}/work", GIT_CONFIG_NOSYSTEM="1")
    mount, has_failed = Mount(sys.argv[1], home), False
    try:
        mount.make()
        for name, program in PROGRAMS.items():
            try:
                outcome = program(mount) or "ok"
            except (AssertionError, RuntimeError, subprocess.TimeoutExpired) as error:
                has_failed, outcome = True, f"FAILED: {error}"
            print(f"{name:24}{outcome}", flush=True)
    finally:
        mount.end()
        # Root's mount point is immutable while nothing is mounted.
        run("chattr", "-f", "-i", home / "mnt")
        run("chmod", "-R", "u+w", home)
        shutil.rmtree(home)
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
