"""Makes the zoo in a store, with the programs that people use.

    make.py STORE [--some]      the store is there already, and so is the key of a@example.org
"""

import os
import sys

import messages
import places
from messages import KEYS, PASSWORD, gpg, home, run


def make_keys():
    """The keys that the secrets are for; what is foreign has no secret part here."""
    keyless = ["--passphrase", "", "--quick-gen-key"]
    for name in KEYS:
        gpg(*keyless, f"{name} <{name}@example.org>", name, "default", "never")
        listing = gpg("--with-colons", "--list-keys", f"={name} <{name}@example.org>").decode().splitlines()
        fingerprint = next(line.split(":")[9] for line in listing if line.startswith("fpr:"))
        # DSA cannot encrypt.
        subkey = "elg1024" if name == "dsa2048" else name
        gpg("--passphrase", "", "--quick-add-key", fingerprint, subkey, "encr", "never")
    for name, user in {"foreign": "foreign <foreign@example.org>", "sq": "sq <sq@example.org>"}.items():
        run(["sq", "key", "generate", "-u", user, "--export", home(name + ".key"), "--rev-cert", home(name + ".rev")])
        run(["sq", "key", "extract-cert", "-o", home(name + ".cert"), home(name + ".key")])
    gpg("--import", home("foreign.cert"))
    gpg("--import", home("sq.key"))
    os.unlink(home("foreign.key"))
    messages.write(home("a.cert"), gpg("--export", "--armor", "a@example.org"))


def use_pinentry():
    """The agent gets the password of symmetric messages from a program, as from a person."""
    with open(home("pinentry"), "w", encoding="ascii") as file:
        file.write(
            "#!/bin/sh\necho OK\nwhile read -r word rest; do\ncase $word in\n"
            f"GETPIN) echo 'D {PASSWORD}'; echo OK ;;\nBYE) echo OK; exit ;;\n*) echo OK ;;\nesac\ndone\n")
    os.chmod(home("pinentry"), 0o700)
    with open(os.path.join(os.environ["GNUPGHOME"], "gpg-agent.conf"), "a", encoding="ascii") as file:
        file.write(f"pinentry-program {home('pinentry')}\n")
    run(["gpgconf", "--kill", "gpg-agent"])


def entries(store, has_all=True):
    """The zoo: all of it, or of each kind that is many of one sort only some."""
    step = 1 if has_all else 5
    for kind in [messages.sound, messages.unsound, places.names]:
        yield from list(kind())[::step]
    yield from places.folders()
    yield from places.links(os.fsencode(os.path.abspath(store)))


def main():
    store = sys.argv[1]
    make_keys()
    for entry in entries(store, "--some" not in sys.argv):
        path = os.path.join(os.fsencode(store), entry.disk)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            entry.make(path)
        except OSError as error:
            raise SystemExit(f"{entry.what}: {error}")
    use_pinentry()
    os.makedirs(os.path.join(store, "s/hollow"))


if __name__ == "__main__":
    main()
